// The memories that a change-set changed or made, in no order. $namespace, $id.
// Returns id, key, origin, version, changeset (that which made the memory), life, notes.
MATCH (h:ChangeSet {namespace: $namespace, id: $id})-[:CHANGED]->(m:Memory) USING INDEX SEEK h:ChangeSet(namespace, id) WHERE m.version IS NOT NULL
RETURN m.id AS id, m.key AS key, m.origin AS origin, m.version AS version, m.changeset AS changeset, m.life AS life,
       m.notes AS notes

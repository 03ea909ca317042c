// The memories that a change-set changed or made, in no order. $namespace, $id.
// Returns id, key, origin, version, changeset (that which made the memory), life, notes.
MATCH (:ChangeSet {namespace: $namespace, id: $id})-[:CHANGED]->(m:Memory) WHERE m.version IS NOT NULL
RETURN m.id AS id, m.key AS key, m.origin AS origin, m.version AS version, m.changeset AS changeset, m.life AS life,
       m.notes AS notes

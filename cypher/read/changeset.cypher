// What a change-set did, in no order. $namespace, $id.
// Returns id, key and origin of the memory, cause (`remembered`: the change-set made it) and version.
MATCH (c:ChangeSet {namespace: $namespace, id: $id})-[e:CHANGED]->(m:Memory) WHERE m.version IS NOT NULL
RETURN m.id AS id, m.key AS key, m.origin AS origin, e.cause AS cause, e.version AS version

// What is one step away from these memories, in either direction, by an explicit replacement or a restore; the steps along a
// key's line are in read/lines. $namespace, $ids. Returns id, key, past.
UNWIND $ids AS id
MATCH (m:Memory {namespace: $namespace, id: id})-[r:SUPERSEDES|RESTORES]-(n:Memory) USING INDEX SEEK m:Memory(namespace, id)
WHERE n.version IS NOT NULL AND coalesce(r.via, 'explicit') = 'explicit'
RETURN DISTINCT n.id AS id, n.key AS key, n.past IS NOT NULL AS past

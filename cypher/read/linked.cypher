// Everything that is linked to a memory by replacing and restoring, in either direction and over any number of steps, itself included.
// $namespace, $id. Returns id, key, past.
MATCH (m:Memory {namespace: $namespace, id: $id}) USING INDEX SEEK m:Memory(namespace, id)
MATCH p = (m)-[:SUPERSEDES|RESTORES*0..]-(n:Memory)
WHERE all(each IN nodes(p) WHERE each.version IS NOT NULL)
RETURN DISTINCT n.id AS id, n.key AS key, n.past IS NOT NULL AS past

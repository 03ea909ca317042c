// What is one edge away from these memories, in either direction, and active by its status. $namespace, $ids. Returns id.
UNWIND $ids AS id
MATCH (m:Memory {namespace: $namespace, id: id})-[:SUPERSEDES|RESTORES|RELATES_TO]-(n:Memory) USING INDEX SEEK m:Memory(namespace, id)
WHERE n.status = 'active'
RETURN DISTINCT n.id AS id

// What is one edge away from these memories, in either direction, and active by its status. $namespace, $ids. Returns id.
UNWIND $ids AS id
MATCH (:Memory {namespace: $namespace, id: id})-[:SUPERSEDES|RESTORES|RELATES_TO]-(n:Memory) WHERE n.status = 'active'
RETURN DISTINCT n.id AS id

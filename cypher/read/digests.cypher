// A page of what is known of the memories of a namespace, by id, without what they say: for comparing a replica.
// $namespace, $limit, $after (an id, '' to begin). Returns id, version (null for a place), life, relations ([target id, type, version]
// each) and feedback ([feedback id, version] each).
MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, id) WHERE m.namespace = $namespace AND m.id > $after
WITH m ORDER BY m.namespace, m.id LIMIT $limit
RETURN m.id AS id, m.version AS version, m.life AS life,
       COLLECT { MATCH (m)-[r:RELATES_TO|UNRELATED]->(b:Memory) RETURN [b.id, r.type, r.version] } AS relations,
       COLLECT { MATCH (f:Feedback)-[:ABOUT]->(m) RETURN [f.id, f.version] } AS feedback

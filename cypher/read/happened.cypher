// A page of what happened to the memories of a namespace and to places for ones that have not come, by id: for an export.
// $namespace, $after (an id, '' to begin), $limit. Returns id, version, life, notes, supersedes ([new id, version, reason] each),
// relations ([target id, gone, type, version, weight, note] each), feedback ([feedback id, version, signal, verified, actor] each).
MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, id) WHERE m.namespace = $namespace AND m.id > $after
WITH m ORDER BY m.namespace, m.id LIMIT $limit
RETURN m.id AS id, m.version AS version, m.life AS life, m.notes AS notes,
       COLLECT { MATCH (n:Memory)-[r:SUPERSEDES {via: 'explicit'}]->(m) RETURN [n.id, r.version, r.reason] } AS supersedes,
       COLLECT { MATCH (m)-[r:RELATES_TO|UNRELATED]->(b:Memory) RETURN [b.id, r:UNRELATED, r.type, r.version, r.weight, r.note] } AS relations,
       COLLECT { MATCH (f:Feedback)-[:ABOUT]->(m) RETURN [f.id, f.version, f.signal, f.verified, f.actor] } AS feedback

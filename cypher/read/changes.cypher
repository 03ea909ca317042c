// A page of the memories and places of a namespace that were touched after a number of its feed, in the order of these numbers: what a
// replica pulls. $namespace, $limit, $until (the last number that counts); the place to go on from: $seq, $id (-1 and '' for everything).
// Returns seq, id, memory (null for a place), version, life, notes, supersedes ([new id, version, reason] each), relations ([target id,
// gone, type, version, weight, note] each), feedback ([feedback id, version, signal, verified, actor] each).
MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, seq) WHERE m.namespace = $namespace AND m.seq >= $seq AND m.seq <= $until
WITH m ORDER BY m.namespace, m.seq, m.id
WHERE m.seq > $seq OR m.id > $id
WITH m LIMIT $limit
RETURN m.seq AS seq, m.id AS id, CASE WHEN m.version IS NULL THEN null ELSE m {.*, terms: null, scope: null} END AS memory,
       m.version AS version, m.life AS life, m.notes AS notes,
       COLLECT { MATCH (n:Memory)-[r:SUPERSEDES {via: 'explicit'}]->(m) RETURN [n.id, r.version, r.reason] } AS supersedes,
       COLLECT { MATCH (m)-[r:RELATES_TO|UNRELATED]->(b:Memory) RETURN [b.id, r:UNRELATED, r.type, r.version, r.weight, r.note] } AS relations,
       COLLECT { MATCH (f:Feedback)-[:ABOUT]->(m) RETURN [f.id, f.version, f.signal, f.verified, f.actor] } AS feedback

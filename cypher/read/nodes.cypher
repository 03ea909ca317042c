// A page of a namespace's graph, by id: what it shows of each memory, and the edges that begin there.
// $namespace, $after (an id, '' to begin), $limit.
// Returns id, key, kind, title, status, expires_at, version, edges ([label, target_id, version, type, weight, note, reason, via] each).
MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, id) WHERE m.namespace = $namespace AND m.id > $after
WITH m ORDER BY m.namespace, m.id
WHERE m.version IS NOT NULL
WITH m LIMIT $limit
RETURN m.id AS id, m.key AS key, m.kind AS kind, m.title AS title, m.status AS status, m.expires_at AS expires_at,
       m.version AS version, COLLECT {
         MATCH (m)-[r:SUPERSEDES|RESTORES|RELATES_TO]->(b:Memory) WHERE b.version IS NOT NULL
         RETURN [type(r), b.id, coalesce(r.version, m.version), r.type, r.weight, r.note,
                 CASE WHEN r:RELATES_TO THEN null WHEN r.via = 'explicit' THEN r.reason ELSE m.reason END, r.via]
       } AS edges

// The edges that begin at these memories and end at others that are there. $namespace, $ids, $labels (of the edges wanted).
// Returns label, source_id, target_id, version, type, weight, note, reason, via. The reason of a step along a key's line, and of a
// restore, is the newer memory's own.
UNWIND $ids AS id
MATCH (a:Memory {namespace: $namespace, id: id})-[r:SUPERSEDES|RESTORES|RELATES_TO]->(b:Memory) USING INDEX SEEK a:Memory(namespace, id)
WHERE a.version IS NOT NULL AND b.version IS NOT NULL AND type(r) IN $labels
RETURN type(r) AS label, a.id AS source_id, b.id AS target_id, coalesce(r.version, a.version) AS version, r.type AS type,
       r.weight AS weight, r.note AS note, r.via AS via,
       CASE WHEN r:RELATES_TO THEN null WHEN r.via = 'explicit' THEN r.reason ELSE a.reason END AS reason

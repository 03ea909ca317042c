// The relations between memories that are there, which begin or end at one of these. $namespace, $ids.
// Returns source_id, target_id, version, type, weight, note; one twice if both its ends are asked for.
UNWIND $ids AS id
MATCH (m:Memory {namespace: $namespace, id: id})-[r:RELATES_TO]-(n:Memory) USING INDEX SEEK m:Memory(namespace, id)
WHERE m.version IS NOT NULL AND n.version IS NOT NULL
RETURN startNode(r).id AS source_id, endNode(r).id AS target_id, r.version AS version, r.type AS type, r.weight AS weight,
       r.note AS note

// The restored copies of memories, and copies of those: a purge takes them along. $namespace, $ids. Returns id.
UNWIND $ids AS id
MATCH (h:Memory {namespace: $namespace, id: id})<-[:RESTORES*1..]-(m:Memory) USING INDEX SEEK h:Memory(namespace, id) WHERE m.version IS NOT NULL
RETURN DISTINCT m.id AS id

// A page of the memories of a namespace recorded before a version, oldest first.
// $namespace, $before, $limit; the place to go on from: $after, $after_id ('' and '' to begin).
// Returns memory (the node's properties without embedding, terms and scope), replaced (its key had a greater version by then) and
// slot (the greatest purged version of its key).
MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, version) WHERE m.namespace = $namespace AND m.version >= $after AND m.version < $before
WITH m ORDER BY m.namespace, m.version, m.id
WHERE m.version > $after OR m.id > $after_id
WITH m LIMIT $limit
OPTIONAL MATCH (k:MemoryKey {namespace: $namespace, key: m.key}) USING INDEX SEEK k:MemoryKey(namespace, key)
RETURN m {.*, embedding: null, terms: null, scope: null} AS memory, k.slot AS slot,
       m.past IS NULL AND EXISTS {
         MATCH (n:Memory) USING INDEX SEEK n:Memory(namespace, key, version)
         WHERE n.namespace = $namespace AND n.key = m.key AND n.version > m.version AND n.version < $before AND n.past IS NULL
       } AS replaced

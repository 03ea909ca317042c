// The active memory of a key; nothing if it has none. Expiry is for the caller to see.
// $namespace, $key. Returns memory (the node's properties without embedding, terms and scope).
MATCH (:MemoryKey {namespace: $namespace, key: $key})-[:CURRENT]->(m:Memory)
RETURN m {.*, embedding: null, terms: null, scope: null} AS memory

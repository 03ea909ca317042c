// The active memory of a key; no row if there is no such key. Expiry is for the caller to see.
// $namespace, $key. Returns memory (the node's properties without embedding, terms and scope), null without one, and head: the status of
// the newest, as a commit does not become visible all at once: a head that is not retired, and no memory, is one that is being replaced.
MATCH (k:MemoryKey {namespace: $namespace, key: $key}) USING INDEX SEEK k:MemoryKey(namespace, key)
OPTIONAL MATCH (k)-[:CURRENT]->(m:Memory)
OPTIONAL MATCH (k)-[:LATEST]->(h:Memory)
RETURN m {.*, embedding: null, terms: null, scope: null} AS memory, h.status AS head
LIMIT 1

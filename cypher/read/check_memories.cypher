// Memories and places of a namespace with all that is derived in the graph about each, for the doctor. $namespace, $ids.
// Returns memory (the properties; of content whether it is a text, and size, its characters; without tokens), labels, element (the node's id); slot of its key;
// current, latest, pasts: the names of keys that such edges come from ('' for anything else); above: how many steps of a line come down
// to it; below: the versions that its own steps lead to; replaced: whether its key has a greater version; before: the next smaller one.
UNWIND $ids AS id
MATCH (m:Memory {namespace: $namespace, id: id}) USING INDEX SEEK m:Memory(namespace, id)
OPTIONAL MATCH (k:MemoryKey {namespace: $namespace, key: m.key}) USING INDEX SEEK k:MemoryKey(namespace, key)
RETURN m {.*, content: m.content IS :: STRING NOT NULL, size: CASE WHEN m.content IS :: STRING NOT NULL THEN size(m.content) ELSE 0 END,
          terms: null, scope: null, embedding: null} AS memory,
       labels(m) AS labels, elementId(m) AS element, k.slot AS slot,
       COLLECT { MATCH (h)-[:CURRENT]->(m) RETURN CASE WHEN h:MemoryKey AND h.namespace = $namespace THEN coalesce(h.key, '') ELSE '' END } AS current,
       COLLECT { MATCH (h)-[:LATEST]->(m) RETURN CASE WHEN h:MemoryKey AND h.namespace = $namespace THEN coalesce(h.key, '') ELSE '' END } AS latest,
       COLLECT { MATCH (h)-[:PAST]->(m) RETURN CASE WHEN h:MemoryKey AND h.namespace = $namespace THEN coalesce(h.key, '') ELSE '' END } AS pasts,
       COUNT { ()-[:SUPERSEDES {via: 'key'}]->(m) } AS above,
       COLLECT { MATCH (m)-[:SUPERSEDES {via: 'key'}]->(o) RETURN o.version } AS below,
       EXISTS {
         MATCH (n:Memory) USING INDEX SEEK n:Memory(namespace, key, version)
           WHERE n.namespace = $namespace AND n.key = m.key AND n.version > m.version AND n.past IS NULL
       } AS replaced,
       head(COLLECT {
         MATCH (n:Memory) USING INDEX SEEK n:Memory(namespace, key, version)
           WHERE n.namespace = $namespace AND n.key = m.key AND n.version < m.version AND n.past IS NULL
         RETURN n.version ORDER BY n.namespace DESC, n.key DESC, n.version DESC LIMIT 1
       }) AS before

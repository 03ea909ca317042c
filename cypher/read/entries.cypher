// The memories of a namespace with these ids, whatever their status. A place is none.
// $namespace, $ids. Returns memory (the node's properties without embedding, terms and scope) and superseded_by.
// superseded_by: the next on its key's line, else what superseded it by call, of several the latest.
UNWIND $ids AS id
MATCH (m:Memory {namespace: $namespace, id: id}) USING INDEX SEEK m:Memory(namespace, id) WHERE m.version IS NOT NULL
RETURN m {.*, embedding: null, terms: null, scope: null} AS memory,
       CASE m.status WHEN 'superseded' THEN head(COLLECT {
         MATCH (n:Memory)-[r:SUPERSEDES]->(m) WHERE n.version IS NOT NULL
         RETURN n.id ORDER BY r.via DESC, r.version DESC LIMIT 1
       }) END AS superseded_by

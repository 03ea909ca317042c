// A page of everything that was remembered in a namespace, in version order, vectors included: for an export.
// $namespace, $limit; the place to go on from: $after, $after_id ('' and '' to begin). Returns memory (the node's properties).
MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, version) WHERE m.namespace = $namespace AND m.version >= $after
WITH m ORDER BY m.namespace, m.version, m.id
WHERE m.version > $after OR m.id > $after_id
WITH m LIMIT $limit
RETURN m {.*, terms: null, scope: null} AS memory

// The same by the vector index, which holds the memories of every namespace: of the $reach nearest of all, those of $spaces.
// $spaces, $vector, $model, $statuses, $limit (of all together). Returns namespace and id, nearest first.
CALL db.index.vector.queryNodes('memory_vectors', $reach, $vector) YIELD node AS m, score
WITH m, score
WHERE m.namespace IN $spaces AND m.version IS NOT NULL AND ($statuses IS NULL OR m.status IN $statuses)
  AND coalesce(m.embedding_model, '') = $model
RETURN m.namespace AS namespace, m.id AS id ORDER BY score DESC LIMIT $limit

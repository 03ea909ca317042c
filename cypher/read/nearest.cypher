// The memories of a namespace whose vectors by the same model are nearest to one, by comparing all of them.
// $namespace, $vector, $model, $limit; $statuses: of these by status, or null. Returns id. A vector of zeros,
// which the server would refuse, is near to nothing.
MATCH (m:Memory) WHERE m.namespace = $namespace AND m.version >= '' AND m.embedding IS NOT NULL
  AND coalesce(m.embedding_model, '') = $model AND size(m.embedding) = size($vector)
  AND ($statuses IS NULL OR m.status IN $statuses)
WITH m, CASE WHEN any(x IN m.embedding WHERE x <> 0.0) THEN vector.similarity.cosine(m.embedding, $vector) ELSE 0.5 END AS near
ORDER BY near DESC, m.version DESC LIMIT $limit
RETURN m.id AS id

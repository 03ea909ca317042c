// The same by the vector index, which holds the memories of every namespace: of the $reach nearest of all, those of $spaces.
// $spaces, $vector, $model, $statuses, $limit (of all together). Returns namespace, id, nearest first, and then what was written meanwhile,
// and near: whether it is one of the nearest.
WITH [space IN $spaces | space.namespace] AS paths
CALL (paths) {
  CALL db.index.vector.queryNodes('memory_vectors', $reach, $vector) YIELD node AS m, score
  WITH m, score, [space IN $spaces WHERE space.namespace = m.namespace | space.newest][0] AS newest
  WHERE m.namespace IN paths AND m.version IS NOT NULL AND ($statuses IS NULL OR m.status IN $statuses
      OR m.status = 'superseded' AND m.past IS NULL AND NOT EXISTS { MATCH (:Memory)-[r:SUPERSEDES]->(m) WHERE r.version <= newest })
    AND coalesce(m.embedding_model, '') = $model
  RETURN m, true AS near ORDER BY score DESC LIMIT $limit
  UNION ALL
  UNWIND $spaces AS space
  MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, version)
  WHERE m.namespace = space.namespace AND m.version > space.newest AND m.past IS NULL
    AND ($statuses IS NULL OR m.status IN $statuses OR m.status = 'superseded')
  RETURN m, false AS near
}
RETURN m.namespace AS namespace, m.id AS id, near

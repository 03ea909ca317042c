// The memories of namespaces whose vectors by the same model are nearest to one, by comparing all of them; of each namespace the best.
// $spaces: [{namespace, newest}], $vector, $model, $limit (of each); $statuses: of these by status, or null. Returns namespace and id.
// With them comes what was written after the version `newest`, and what nothing up to it had superseded: a key that is written while this
// reads can be seen as neither, its old memory too late and its new one too early, as a commit does not become visible all at once.
// A vector of zeros, which the server would refuse, is near to nothing.
UNWIND $spaces AS space
CALL (space) {
  MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, version)
  WHERE m.namespace = space.namespace AND m.version >= '' AND ($statuses IS NULL OR m.status IN $statuses
      OR m.status = 'superseded' AND m.past IS NULL AND NOT EXISTS { MATCH (:Memory)-[r:SUPERSEDES]->(m) WHERE r.version <= space.newest })
    AND m.embedding IS NOT NULL AND coalesce(m.embedding_model, '') = $model
  WITH m, m.embedding AS vector WHERE size(vector) = size($vector)
  WITH m, CASE WHEN any(x IN vector WHERE x <> 0.0) THEN vector.similarity.cosine(vector, $vector) ELSE 0.5 END AS near
  ORDER BY near DESC, m.version DESC LIMIT $limit
  RETURN m.id AS id
  UNION
  MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, version)
  WHERE m.namespace = space.namespace AND m.version > space.newest AND m.past IS NULL
    AND ($statuses IS NULL OR m.status IN $statuses OR m.status = 'superseded')
  RETURN m.id AS id
}
RETURN space.namespace AS namespace, id

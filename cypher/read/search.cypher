// The candidates of a search, seed and spread in one query: for each namespace what the full-text index finds, two turns before and after
// each of these where a seed spreads, and the memories that were asked for by id.
// $spaces: [{namespace, seeds, also}], seeds: [{index, query, limit, spread}], the queries made by backends/neo4j/tokens.py, also: ids;
// $also_active: whether these ids were found among active memories; $terms: the query's terms; $conditions: whether metadata is wanted;
// $vector and $model, or null; $now and the filters of read/list but for the place.
// What the index of active memories holds was active when it was asked, and so counts if a write has superseded it before it is read here:
// the index shows each write whole, so it holds either the old memory of a key or the new one.
// Returns one row a namespace: namespace, n, touched and version of its feed, as they were before the index was asked, and
// candidates, newest first.
// Of each: id, version, active (and not expired), session, actor, subject, length, flags, seconds (valid_from), feedback (its sum),
// matched (the query's terms in it, as often as they occur), scoped and allowed (by the filters that the index knows, and by the others),
// metadata (where $conditions), cosine (0 without a $vector).
UNWIND $spaces AS space
OPTIONAL MATCH (feed:Feed {namespace: space.namespace}) USING INDEX SEEK feed:Feed(namespace)
WITH space, feed.n AS n, coalesce(feed.touched, feed.n) AS touched, coalesce(feed.version, '') AS version
CALL (space, n) {
  CALL (space, n) {
    WITH space, n UNWIND space.seeds AS seed
    CALL (seed) {
      CALL db.index.fulltext.queryNodes(seed.index, seed.query, {limit: seed.limit}) YIELD node
      RETURN node AS h, seed.index = 'active_text' AS found
    }
    WITH DISTINCT space, h, found, CASE WHEN seed.spread THEN h.session END AS session
    WHERE h.namespace = space.namespace AND h.version IS NOT NULL
    CALL (h, found, session) {
      RETURN h AS m, found AS was_active
      UNION ALL
      MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, session, version)
      WHERE m.namespace = h.namespace AND m.session = session AND m.version < h.version AND m.actor IS NOT NULL
      RETURN m, false AS was_active ORDER BY m.namespace DESC, m.session DESC, m.version DESC LIMIT 2
      UNION ALL
      MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, session, version)
      WHERE m.namespace = h.namespace AND m.session = session AND m.version > h.version AND m.actor IS NOT NULL
      RETURN m, false AS was_active ORDER BY m.namespace, m.session, m.version LIMIT 2
    }
    RETURN m, was_active
    UNION
    WITH space, n UNWIND space.also AS id
    MATCH (m:Memory {namespace: space.namespace, id: id}) USING INDEX SEEK m:Memory(namespace, id) WHERE m.version IS NOT NULL
    RETURN m, $also_active AS was_active
  }
  WITH m, CASE WHEN max(was_active) AND m.status = 'superseded' THEN 'active' ELSE m.status END AS status
  ORDER BY m.version DESC, m.id DESC
  WITH m, status, CASE WHEN $vector IS NOT NULL AND coalesce(m.embedding_model, '') = $model THEN m.embedding END AS vector
  RETURN collect([
    m.id, m.version, status = 'active' AND (m.expires_at IS NULL OR m.expires_at > $now), m.session, m.actor, m.subject,
    coalesce(m.terms_length, 0), coalesce(m.terms_flags, 0), CASE WHEN m.valid_from IS :: ZONED DATETIME THEN m.valid_from.epochSeconds END, coalesce(m.feedback_sum, 0.0),
    [term IN split(coalesce(m.terms, ''), ' ') WHERE term IN $terms],
    ($kinds IS NULL OR m.kind IN $kinds)
      AND ($subject IS NULL OR coalesce(m.subject = $subject, false))
      AND ($session IS NULL OR coalesce(m.session = $session, false))
      AND all(tag IN $tags WHERE tag IN m.tags),
    m.version >= $since AND m.version < $until
      AND ($trust IS NULL OR m.trust IN $trust)
      AND ($actor IS NULL OR coalesce(m.actor = $actor, false))
      AND ($source IS NULL OR m.source = $source)
      AND ($pinned IS NULL OR m.pinned = $pinned)
      AND ($statuses IS NULL OR CASE WHEN status = 'active' AND m.expires_at <= $now THEN 'expired' ELSE status END IN $statuses),
    CASE WHEN $conditions THEN m.metadata END,
    CASE WHEN vector IS NULL OR size(vector) <> size($vector) OR all(x IN vector WHERE x = 0.0) THEN 0.0
         ELSE 2 * vector.similarity.cosine(vector, $vector) - 1 END
  ]) AS candidates
}
RETURN space.namespace AS namespace, n, touched, version, candidates

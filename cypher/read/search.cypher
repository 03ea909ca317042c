// The candidates of a search in one namespace, seed and spread in one query: what the full-text index finds, two turns before and
// after each of these, the members of the sessions that hold the best of them, and the memories of $also (ids).
// $namespace; $seeds: [{index, query, limit}], the queries made by backends/neo4j/tokens.py; $session_seeds: those of them that choose
// the sessions, $sessions of them at most, and $members of each, the newest; $terms: the query's terms; $conditions: whether metadata
// is wanted; $vector and $model, or null; $now and the filters of read/list but for the place.
// Returns one row: n and touched of the feed, as they were before the index was asked, and of the candidates, newest first: ids,
// versions, active (and not expired), sessions, actors, subjects, lengths, flags, seconds (valid_from), feedback (its sum), matched
// (the query's terms in it, as often as they occur), scoped and allowed (by the filters that the index knows, and by the others),
// metadata (where $conditions), cosine (where there is a $vector). No list is in scope while rows are sorted: the server would count
// its size for each of them.
OPTIONAL MATCH (feed:Feed {namespace: $namespace})
WITH feed.n AS n, coalesce(feed.touched, feed.n) AS touched
CALL (n) {
  CALL (n) {
    WITH n UNWIND $seeds AS seed
    CALL (seed) {
      CALL db.index.fulltext.queryNodes(seed.index, seed.query, {limit: seed.limit}) YIELD node
      RETURN node AS h
    }
    WITH DISTINCT h WHERE h.namespace = $namespace AND h.version IS NOT NULL
    CALL (h) {
      RETURN h AS m
      UNION ALL
      MATCH (m:Memory) WHERE m.namespace = $namespace AND m.session = h.session AND m.version < h.version AND m.actor IS NOT NULL
      RETURN m ORDER BY m.namespace DESC, m.session DESC, m.version DESC LIMIT 2
      UNION ALL
      MATCH (m:Memory) WHERE m.namespace = $namespace AND m.session = h.session AND m.version > h.version AND m.actor IS NOT NULL
      RETURN m ORDER BY m.namespace, m.session, m.version LIMIT 2
    }
    RETURN m
    UNION
    WITH n UNWIND $session_seeds AS seed
    CALL (seed) {
      CALL db.index.fulltext.queryNodes(seed.index, seed.query, {limit: seed.limit}) YIELD node, score
      RETURN node.session AS session, score, node.namespace AS space
    }
    WITH session, score WHERE session IS NOT NULL AND space = $namespace
    ORDER BY score DESC
    WITH session, collect(score)[..5] AS best
    WITH session, reduce(total = 0.0, score IN best | total + score) AS total ORDER BY total DESC LIMIT $sessions
    CALL (session) {
      MATCH (m:Memory) WHERE m.namespace = $namespace AND m.session = session AND m.version >= ''
      RETURN m ORDER BY m.namespace DESC, m.session DESC, m.version DESC LIMIT $members
    }
    RETURN m
    UNION
    WITH n UNWIND $also AS id
    MATCH (m:Memory {namespace: $namespace, id: id}) WHERE m.version IS NOT NULL
    RETURN m
  }
  WITH m ORDER BY m.version DESC, m.id DESC
  RETURN collect(m) AS candidates
}
RETURN n, touched,
       [m IN candidates | m.id] AS ids,
       [m IN candidates | m.version] AS versions,
       [m IN candidates | m.status = 'active' AND (m.expires_at IS NULL OR m.expires_at > $now)] AS active,
       [m IN candidates | m.session] AS sessions,
       [m IN candidates | m.actor] AS actors,
       [m IN candidates | m.subject] AS subjects,
       [m IN candidates | m.terms_length] AS lengths,
       [m IN candidates | m.terms_flags] AS flags,
       [m IN candidates | m.valid_from.epochSeconds] AS seconds,
       [m IN candidates | coalesce(m.feedback_sum, 0.0)] AS feedback,
       [m IN candidates | [term IN split(m.terms, ' ') WHERE term IN $terms]] AS matched,
       [m IN candidates |
         ($kinds IS NULL OR m.kind IN $kinds)
         AND ($subject IS NULL OR coalesce(m.subject = $subject, false))
         AND ($session IS NULL OR coalesce(m.session = $session, false))
         AND all(tag IN $tags WHERE tag IN m.tags)
       ] AS scoped,
       [m IN candidates |
         m.version >= $since AND m.version < $until
         AND ($trust IS NULL OR m.trust IN $trust)
         AND ($actor IS NULL OR coalesce(m.actor = $actor, false))
         AND ($source IS NULL OR m.source = $source)
         AND ($pinned IS NULL OR m.pinned = $pinned)
         AND ($statuses IS NULL OR CASE WHEN m.status = 'active' AND m.expires_at <= $now THEN 'expired' ELSE m.status END IN $statuses)
       ] AS allowed,
       [m IN CASE WHEN $conditions THEN candidates ELSE [] END | m.metadata] AS metadata,
       [m IN CASE WHEN $vector IS NULL THEN [] ELSE candidates END |
         CASE WHEN m.embedding IS NULL OR coalesce(m.embedding_model, '') <> $model OR size(m.embedding) <> size($vector)
                OR all(x IN m.embedding WHERE x = 0.0) THEN 0.0
              ELSE 2 * vector.similarity.cosine(m.embedding, $vector) - 1 END] AS cosine

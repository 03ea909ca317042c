// The candidates of a search in one namespace, seed and spread in one query: what the full-text index finds, two turns before and
// after each of these, the members of the sessions that hold the best of them, and the memories of $also (ids).
// $namespace; $seeds: [{index, query, limit}], the queries made by backends/neo4j/tokens.py; $terms: the query's terms;
// $sessions: how many sessions, $members: how many of each at most, the newest; $conditions: whether metadata is wanted;
// $vector and $model, or null; $now and the filters of read/list but for the place.
// Returns one row: n and touched of the feed, as they were before the index was asked; seeded: how many each of $seeds found; and of
// the candidates, newest first: ids, versions, active (and not expired), sessions, actors, subjects, lengths, flags, seconds
// (valid_from), matched (the query's terms in it, as often as they occur), allowed (by the filters), metadata, cosine.
OPTIONAL MATCH (feed:Feed {namespace: $namespace})
WITH feed.n AS n, coalesce(feed.touched, feed.n) AS touched
CALL (n) {
  WITH n UNWIND range(0, size($seeds) - 1) AS place
  CALL (place) {
    CALL db.index.fulltext.queryNodes($seeds[place].index, $seeds[place].query, {limit: $seeds[place].limit}) YIELD node, score
    RETURN node, score
  }
  RETURN collect({place: place, node: node, score: score}) AS found
}
WITH n, touched, found, [place IN range(0, size($seeds) - 1) | size([each IN found WHERE each.place = place])] AS seeded
CALL (found) {
  UNWIND found AS each
  WITH each.node AS m, max(each.score) AS score WHERE m.namespace = $namespace AND m.version IS NOT NULL
  RETURN collect({node: m, score: score}) AS hits
}
CALL (hits) {
  CALL (hits) {
    UNWIND hits AS hit
    RETURN hit.node AS m
    UNION
    UNWIND $also AS id
    MATCH (m:Memory {namespace: $namespace, id: id}) WHERE m.version IS NOT NULL
    RETURN m
    UNION
    UNWIND hits AS hit
    WITH hit.node AS h WHERE h.session IS NOT NULL AND h.actor IS NOT NULL
    CALL (h) {
      MATCH (m:Memory) WHERE m.namespace = $namespace AND m.session = h.session AND m.version < h.version AND m.actor IS NOT NULL
      RETURN m ORDER BY m.namespace DESC, m.session DESC, m.version DESC LIMIT 2
    }
    RETURN m
    UNION
    UNWIND hits AS hit
    WITH hit.node AS h WHERE h.session IS NOT NULL AND h.actor IS NOT NULL
    CALL (h) {
      MATCH (m:Memory) WHERE m.namespace = $namespace AND m.session = h.session AND m.version > h.version AND m.actor IS NOT NULL
      RETURN m ORDER BY m.namespace, m.session, m.version LIMIT 2
    }
    RETURN m
    UNION
    UNWIND hits AS hit
    WITH hit.node.session AS session, hit.score AS score WHERE session IS NOT NULL
    ORDER BY score DESC
    WITH session, collect(score)[..5] AS best
    WITH session, reduce(total = 0.0, score IN best | total + score) AS total
    ORDER BY total DESC LIMIT $sessions
    CALL (session) {
      MATCH (m:Memory) WHERE m.namespace = $namespace AND m.session = session AND m.version >= ''
      RETURN m ORDER BY m.namespace DESC, m.session DESC, m.version DESC LIMIT $members
    }
    RETURN m
  }
  WITH m ORDER BY m.version DESC, m.id DESC
  RETURN collect(m) AS candidates
}
RETURN n, touched, seeded,
       [m IN candidates | m.id] AS ids,
       [m IN candidates | m.version] AS versions,
       [m IN candidates | m.status = 'active' AND (m.expires_at IS NULL OR m.expires_at > $now)] AS active,
       [m IN candidates | m.session] AS sessions,
       [m IN candidates | m.actor] AS actors,
       [m IN candidates | m.subject] AS subjects,
       [m IN candidates | m.terms_length] AS lengths,
       [m IN candidates | m.terms_flags] AS flags,
       [m IN candidates | m.valid_from.epochSeconds] AS seconds,
       [m IN candidates | [term IN split(m.terms, ' ') WHERE term IN $terms]] AS matched,
       [m IN candidates |
         m.version >= $since AND m.version < $until
         AND ($kinds IS NULL OR m.kind IN $kinds)
         AND ($trust IS NULL OR m.trust IN $trust)
         AND ($subject IS NULL OR coalesce(m.subject = $subject, false))
         AND ($session IS NULL OR coalesce(m.session = $session, false))
         AND ($actor IS NULL OR coalesce(m.actor = $actor, false))
         AND ($source IS NULL OR m.source = $source)
         AND ($pinned IS NULL OR m.pinned = $pinned)
         AND all(tag IN $tags WHERE tag IN m.tags)
         AND ($statuses IS NULL OR CASE WHEN m.status = 'active' AND m.expires_at <= $now THEN 'expired' ELSE m.status END IN $statuses)
       ] AS allowed,
       [m IN candidates | CASE WHEN $conditions THEN m.metadata ELSE '' END] AS metadata,
       [m IN candidates |
         CASE WHEN $vector IS NULL OR m.embedding IS NULL OR coalesce(m.embedding_model, '') <> $model
                OR size(m.embedding) <> size($vector) THEN 0.0
              ELSE 2 * vector.similarity.cosine(m.embedding, $vector) - 1 END] AS cosine

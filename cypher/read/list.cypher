// A page of matching memories of these namespaces, newest version first, from a place on.
// $spaces (namespaces), $limit; the place: $version, $path, $id ('g', '', '' to begin); $since, $until: versions from and before.
// Filters, each null when it does not narrow: $kinds, $trust, $statuses (lists), $subject, $session, $actor, $source, $pinned;
// $tags: all of them, [] when it does not narrow; $now: what expires by then is expired; $text, case-folded: of contents beyond ASCII,
// which the server folds in another way, all pass.
// Returns memory (the node's properties without embedding, terms and scope) and superseded_by.
UNWIND $spaces AS space
CALL (space) {
  MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, version) WHERE m.namespace = space AND m.version >= $since AND m.version < $until
  WITH m ORDER BY m.namespace DESC, m.version DESC, m.id DESC
  WHERE (m.version < $version OR (m.version = $version AND (m.namespace < $path OR (m.namespace = $path AND m.id < $id))))
    AND ($kinds IS NULL OR m.kind IN $kinds)
    AND ($trust IS NULL OR m.trust IN $trust)
    AND ($subject IS NULL OR m.subject = $subject)
    AND ($session IS NULL OR m.session = $session)
    AND ($actor IS NULL OR m.actor = $actor)
    AND ($source IS NULL OR m.source = $source)
    AND ($pinned IS NULL OR m.pinned = $pinned)
    AND all(tag IN $tags WHERE tag IN m.tags)
    AND ($text IS NULL OR NOT coalesce(toStringOrNull(m.content) =~ '(?s)\\p{ASCII}*', false)
      OR toLower(toStringOrNull(m.content)) CONTAINS $text)
    AND ($statuses IS NULL OR CASE WHEN m.status = 'active' AND m.expires_at <= $now THEN 'expired' ELSE m.status END IN $statuses)
  RETURN m LIMIT $limit
}
WITH m ORDER BY m.version DESC, m.namespace DESC, m.id DESC LIMIT $limit
RETURN m {.*, embedding: null, terms: null, scope: null} AS memory,
       CASE m.status WHEN 'superseded' THEN head(COLLECT {
         MATCH (n:Memory)-[r:SUPERSEDES]->(m) WHERE n.version IS NOT NULL
         RETURN n.id ORDER BY r.via DESC, r.version DESC LIMIT 1
       }) END AS superseded_by

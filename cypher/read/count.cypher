// How many memories of these namespaces match. Parameters: those of read/list without place and limit. Returns found.
UNWIND $spaces AS space
MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, version)
WHERE m.namespace = space AND m.version >= $since AND m.version < $until
  AND ($kinds IS NULL OR m.kind IN $kinds)
  AND ($trust IS NULL OR m.trust IN $trust)
  AND ($subject IS NULL OR m.subject = $subject)
  AND ($session IS NULL OR m.session = $session)
  AND ($actor IS NULL OR m.actor = $actor)
  AND ($source IS NULL OR m.source = $source)
  AND ($pinned IS NULL OR m.pinned = $pinned)
  AND all(tag IN $tags WHERE tag IN m.tags)
  AND ($statuses IS NULL OR CASE WHEN m.status = 'active' AND m.expires_at <= $now THEN 'expired' ELSE m.status END IN $statuses)
RETURN count(m) AS found

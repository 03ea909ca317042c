// A page of a namespace's memories and places, by id, with what their tombstone hashes are made of. $namespace, $after ('' first), $limit.
// Returns id, version (null for a place), key, subject, session, actor, source, origin and origin_version.
MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, id) WHERE m.namespace = $namespace AND m.id > $after
WITH m ORDER BY m.namespace, m.id LIMIT $limit
RETURN m.id AS id, m.version AS version, m.key AS key, m.subject AS subject, m.session AS session, m.actor AS actor, m.source AS source,
       m.origin AS origin, m.origin_version AS origin_version

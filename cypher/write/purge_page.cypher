// One page of what a purge by value kills (subject, session, actor, source, namespace), by version: an index range over the namespace,
// so linear in it. A copy counts as its origin's version.
// $namespace, $field, $value, $version, $after ('' first, then the last page's last version), $limit. Returns id and version.
MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, version) WHERE m.namespace = $namespace AND m.version >= $after
WITH m ORDER BY m.namespace, m.version
WHERE m[$field] = $value AND coalesce(m.origin_version, m.version) <= $version
RETURN m.id AS id, m.version AS version LIMIT $limit

// The same for one key, over its line's index. $namespace, $value, $version, $after, $limit. Returns id and version.
MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, key, version) WHERE m.namespace = $namespace AND m.key = $value AND m.version >= $after
WITH m ORDER BY m.namespace, m.key, m.version
WHERE coalesce(m.origin_version, m.version) <= $version
RETURN m.id AS id, m.version AS version LIMIT $limit

// The memories that have or had these keys. $namespace, $keys. Returns id, key, past.
UNWIND $keys AS key
MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, key, version) WHERE m.namespace = $namespace AND m.key = key AND m.version >= ''
RETURN m.id AS id, m.key AS key, m.past IS NOT NULL AS past

// A page of the ids of a namespace's memories and places, in order. $namespace, $after ('' to begin), $limit. Returns id.
MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, id) WHERE m.namespace = $namespace AND m.id > $after
RETURN m.id AS id ORDER BY m.namespace, m.id LIMIT $limit

// The namespaces that hold memories, of those that begin with $prefix ('' for all), by name; with $emptied those too that held any.
// Returns namespace.
MATCH (f:Feed) USING INDEX SEEK f:Feed(namespace) WHERE f.namespace STARTS WITH $prefix
WITH f.namespace AS namespace
WHERE $emptied OR EXISTS { MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, version) WHERE m.namespace = namespace AND m.version >= '' }
RETURN namespace ORDER BY namespace

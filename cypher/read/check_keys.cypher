// The keys of a namespace that no memory has. $namespace. Returns key.
MATCH (k:MemoryKey) USING INDEX SEEK k:MemoryKey(namespace, key) WHERE k.namespace = $namespace AND k.key >= ''
  AND NOT EXISTS { MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, key, version) WHERE m.namespace = $namespace AND m.key = k.key AND m.version >= '' }
RETURN k.key AS key

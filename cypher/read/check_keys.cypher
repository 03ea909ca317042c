// The keys of a namespace that no memory has. $namespace. Returns key.
MATCH (k:MemoryKey) WHERE k.namespace = $namespace AND k.key >= ''
  AND NOT EXISTS { MATCH (m:Memory) WHERE m.namespace = $namespace AND m.key = k.key AND m.version >= '' }
RETURN k.key AS key

// The keys whose newest version is one of these memories. $namespace, $ids. Returns key and version.
UNWIND $ids AS id
MATCH (m:Memory {namespace: $namespace, id: id}) USING INDEX SEEK m:Memory(namespace, id)
MATCH (m)<-[:LATEST]-(k:MemoryKey)
RETURN k.key AS key, m.version AS version

// What the laws of versions need to know of keys: their memories recorded before a version, oldest first.
// $namespace, $keys, $before (greater than every version: 'g'). Returns id, key, version, past, valid_from, valid_to,
// expires_at, life, and slot, the greatest purged version of the key.
UNWIND $keys AS key
MATCH (k:MemoryKey {namespace: $namespace, key: key}) USING INDEX SEEK k:MemoryKey(namespace, key)
CALL (k, key) {
  MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, key, version) WHERE m.namespace = $namespace AND m.key = key AND m.version < $before
  RETURN m ORDER BY m.namespace, m.key, m.version
}
RETURN m.id AS id, m.key AS key, m.version AS version, m.past AS past, m.valid_from AS valid_from, m.valid_to AS valid_to,
       m.expires_at AS expires_at, m.life AS life, k.slot AS slot

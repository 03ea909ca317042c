// First act of a write that gives versions: look up the ids, take the locks of the keys, and say what is there.
// $namespace. rows: [{n, id, buried, key}], sorted by key; n is the caller's number of the row, buried the tombstone hashes of the id.
// Locks come in one order everywhere: keys, memories, feed. A key node is made if need be, but not for an id that is there or dead.
// Returns per row: n, there (the id has a memory), dead (the id was purged), latest (the greatest version on the key's line),
// current (the version of the key's active memory) and expires_at of that.
UNWIND $rows AS row
CALL (row) {
  OPTIONAL MATCH (m:Memory {namespace: $namespace, id: row.id}) USING INDEX SEEK m:Memory(namespace, id)
  WITH row, m.version IS NOT NULL AS there, EXISTS { MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash)
    WHERE t.namespace = $namespace AND t.hash IN row.buried } AS dead
  FOREACH (key IN CASE WHEN there OR dead OR row.key IS NULL THEN [] ELSE [row.key] END |
    MERGE (k:MemoryKey {namespace: $namespace, key: key})
      ON CREATE SET k.name = key
    SET k:MemoryKey)
  RETURN there, dead
}
WITH row, there, dead
OPTIONAL MATCH (k:MemoryKey {namespace: $namespace, key: row.key}) USING INDEX SEEK k:MemoryKey(namespace, key)
OPTIONAL MATCH (k)-[:LATEST]->(l:Memory)
OPTIONAL MATCH (k)-[:CURRENT]->(c:Memory)
RETURN row.n AS n, there, dead, l.version AS latest, c.version AS current, CASE WHEN c.expires_at IS :: ZONED DATETIME THEN c.expires_at END AS expires_at

// The heads a purge names: nothing older than that version of the key takes its place. The tombstone outlives the key node; k.slot
// repeats it while there is one. Before write/purge_bury in the transaction (a purge by id), or with write/purge_values (by value).
// $namespace, $secret (name), $receipt. rows: [{key, hash, hashes, version}]: tombstone hash of the slot, by the first secret and by all.
// Returns new: how many tombstones say more than before.
UNWIND $rows AS row
CALL (row) {
  MERGE (k:MemoryKey {namespace: $namespace, key: row.key})
    ON CREATE SET k.name = row.key
  SET k:MemoryKey
  MERGE (t:Tombstone {namespace: $namespace, hash: row.hash})
  SET t:Tombstone
  WITH row, k, [t] AS locked
  UNWIND locked AS t
  WITH row, k, t, CASE WHEN t.version >= row.version THEN 0 ELSE 1 END AS new
  FOREACH (_ IN CASE new WHEN 1 THEN [1] ELSE [] END |
    SET t.version = row.version, t.secret = $secret, t.receipt = $receipt)
  WITH row, k, new
  MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash) WHERE t.namespace = $namespace AND t.hash IN row.hashes
  WITH row, k, new, max(t.version) AS slot
  SET k.slot = slot
  WITH row, k, new
  CALL (k) {
    MATCH (k)-[c:CURRENT]->(cur:Memory) WHERE cur.version < k.slot
    DELETE c
    SET cur.status = 'superseded', cur:Superseded
    REMOVE cur:Active:Expired
  }
  CALL (row, k) {
    WITH row, k
    WHERE NOT EXISTS { MATCH (x:Memory) USING INDEX SEEK x:Memory(namespace, key, version)
      WHERE x.namespace = $namespace AND x.key = row.key AND x.version >= '' }
    DETACH DELETE k
  }
  RETURN new
}
RETURN sum(new) AS new

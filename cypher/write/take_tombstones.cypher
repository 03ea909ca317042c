// Take in tombstones of another store. $namespace. rows: [{hash, version, secret, receipt}], sorted by hash. Returns the hash of each that
// says more than before: write/feed stamps these in the same transaction, with $purges = 1.
UNWIND $rows AS row
CALL (row) {
  MERGE (t:Tombstone {namespace: $namespace, hash: row.hash})
  SET t:Tombstone
  WITH row, [t] AS locked
  UNWIND locked AS t
  WITH row, t WHERE coalesce(t.version, '') < row.version
  SET t.version = row.version, t.secret = row.secret, t.receipt = row.receipt
  RETURN row.hash AS hash
}
RETURN hash

// Take in tombstones of another store. rows: [{hash, namespace, version, secret, receipt}]. Returns new: how many say more than before.
UNWIND $rows AS row
CALL (row) {
  MERGE (t:Tombstone {namespace: row.namespace, hash: row.hash})
  SET t:Tombstone
  WITH row, [t] AS locked
  UNWIND locked AS t
  WITH row, t WHERE coalesce(t.version, '') < row.version
  SET t.seq = coalesce(t.seq, 0), t.version = row.version, t.secret = row.secret, t.receipt = row.receipt
  RETURN count(*) AS new
}
RETURN sum(new) AS new

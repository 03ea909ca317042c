// Tombstones of a purge by value: writes of the value up to the version stay dead, newer ones live. First transaction of such a purge,
// committed with write/feed ($purges = 1) before any page is read.
// $namespace, $secret (name), $receipt. rows: [{hash, version}]. Returns new: how many tombstones say more than before.
UNWIND $rows AS row
CALL (row) {
  MERGE (t:Tombstone {namespace: $namespace, hash: row.hash})
  SET t:Tombstone
  WITH row, [t] AS locked
  UNWIND locked AS t
  WITH row, t WHERE coalesce(t.version, '') < row.version
  SET t.version = row.version, t.secret = $secret, t.receipt = $receipt
  RETURN count(*) AS new
}
RETURN sum(new) AS new

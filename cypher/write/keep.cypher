// Operations of a kind that this build does not know: kept whole, for a newer one.
// $namespace. rows: [{op_id, version, payload}]; payload is JSON. Returns made: how many are new.
UNWIND $rows AS row
CALL (row) {
  MERGE (o:ForeignOperation {namespace: $namespace, op_id: row.op_id})
  SET o:ForeignOperation
  WITH row, [o] AS locked
  UNWIND locked AS o
  WITH row, o WHERE o.version IS NULL
  SET o.version = row.version, o.payload = row.payload
  RETURN count(*) AS new
}
RETURN sum(new) AS made

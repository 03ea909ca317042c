// Give memories the status that follows from their versions, and the label that says the same. $namespace. rows: [{id, status}].
// Returns mended.
UNWIND $rows AS row
CALL (row) {
  MATCH (m:Memory {namespace: $namespace, id: row.id}) USING INDEX SEEK m:Memory(namespace, id)
  SET m:Memory
  SET m.status = row.status
  REMOVE m:Active:Superseded:Forgotten:Expired
  FOREACH (_ IN CASE WHEN row.status = 'active' THEN [1] ELSE [] END | SET m:Active)
  FOREACH (_ IN CASE WHEN row.status = 'superseded' THEN [1] ELSE [] END | SET m:Superseded)
  FOREACH (_ IN CASE WHEN row.status = 'forgotten' THEN [1] ELSE [] END | SET m:Forgotten)
  FOREACH (_ IN CASE WHEN row.status IN ['released', 'pruned'] THEN [1] ELSE [] END | SET m:Expired)
  RETURN count(*) AS done
}
RETURN sum(done) AS mended

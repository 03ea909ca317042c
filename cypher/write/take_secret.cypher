// Take in secrets of another store. rows: [{name, value}]. Every client notices by the count on the store's node. Returns new: how many.
MERGE (s:Store {name: 'memgraph'})
SET s:Store
WITH [s] AS locked
UNWIND locked AS s
CALL () {
  UNWIND $rows AS row
  MERGE (y:Secret {name: row.name})
  WITH row, y WHERE y.value IS NULL
  SET y.value = row.value
  RETURN count(*) AS new
}
SET s.secrets = s.secrets + new
RETURN new

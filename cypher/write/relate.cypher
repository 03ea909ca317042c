// Relate and Unrelate: one edge per (a, b, type), greatest version wins; Unrelate turns it into UNRELATED, which reads never show and
// which keeps an older Relate dead.
// $namespace. rows: [{a, a_hashes, b, b_hashes, type, version, gone, props}]; props {weight, note}, empty when gone. Both ends are locked
// in the order of their ids. Returns made: how many are new.
UNWIND $rows AS row
CALL (row) {
  MERGE (a:Memory {namespace: $namespace, id: row.a})
  MERGE (b:Memory {namespace: $namespace, id: row.b})
  FOREACH (x IN CASE WHEN row.a < row.b THEN [a, b] ELSE [b, a] END | SET x:Memory)
  WITH row, a, b
  OPTIONAL MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash) WHERE t.namespace = $namespace AND t.hash IN row.a_hashes
  WITH row, a, b, count(t) > 0 AS a_gone
  OPTIONAL MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash) WHERE t.namespace = $namespace AND t.hash IN row.b_hashes
  WITH row, a, b, a_gone, count(t) > 0 AS b_gone
  FOREACH (x IN CASE WHEN a_gone THEN [a] ELSE [] END | DETACH DELETE x)
  FOREACH (x IN CASE WHEN b_gone THEN [b] ELSE [] END | DETACH DELETE x)
  WITH row, a, b WHERE NOT a_gone AND NOT b_gone
  OPTIONAL MATCH (a)-[r:RELATES_TO|UNRELATED {type: row.type}]->(b)
  WITH row, a, b, r WHERE r IS NULL OR r.version < row.version
  DELETE r
  FOREACH (_ IN CASE WHEN row.gone THEN [] ELSE [1] END |
    CREATE (a)-[n:RELATES_TO {type: row.type, version: row.version}]->(b)
    SET n += row.props)
  FOREACH (_ IN CASE WHEN row.gone THEN [1] ELSE [] END | CREATE (a)-[:UNRELATED {type: row.type, version: row.version}]->(b))
  RETURN count(*) AS new
}
RETURN sum(new) AS made

// Feedback: a set per memory; of one feedback id the smallest (version, signal) stands. Count and sum are kept on the memory.
// $namespace. rows: [{id, hashes, feedback_id, version, signal, props}]; props {verified, actor, weight}. Returns made: how many are new.
UNWIND $rows AS row
CALL (row) {
  MERGE (m:Memory {namespace: $namespace, id: row.id})
  SET m:Memory
  WITH row, m
  OPTIONAL MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash) WHERE t.namespace = $namespace AND t.hash IN row.hashes
  WITH row, m, count(t) AS dead
  FOREACH (x IN CASE WHEN dead = 0 THEN [] ELSE [m] END | DETACH DELETE x)
  WITH row, m WHERE dead = 0
  MERGE (f:Feedback {namespace: $namespace, memory: row.id, id: row.feedback_id})
  MERGE (f)-[:ABOUT]->(m)
  WITH row, m, f WHERE f.version IS NULL OR row.version < f.version OR (row.version = f.version AND row.signal < f.signal)
  SET f += row.props, f.version = row.version, f.signal = row.signal
  WITH m
  CALL (m) {
    MATCH (f:Feedback)-[:ABOUT]->(m)
    WITH m, f ORDER BY f.version, f.id
    WITH m, collect(f.weight) AS weights
    SET m.feedback_count = size(weights), m.feedback_sum = reduce(total = 0.0, weight IN weights | total + weight)
  }
  RETURN count(*) AS new
}
RETURN sum(new) AS made

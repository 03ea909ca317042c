// Explicit supersede: an event on the older memory (it stays superseded even if the newer one is purged) and an edge via 'explicit',
// one per operation version.
// $namespace. rows: [{new, new_hashes, old, old_hashes, version, reason, event, note, changeset}]; the caller drops rows whose new
// version is not greater than the old one (no cycle can be written). event, note: as in write/life. Returns made: how many are new.
UNWIND $rows AS row
CALL (row) {
  MERGE (m:Memory {namespace: $namespace, id: row.old})
  MERGE (n:Memory {namespace: $namespace, id: row.new})
  WITH row, m, n
  OPTIONAL MATCH (k:MemoryKey {namespace: $namespace, key: m.key}) USING INDEX SEEK k:MemoryKey(namespace, key)
  FOREACH (x IN CASE WHEN k IS NULL THEN [] ELSE [k] END | SET x:MemoryKey)
  FOREACH (x IN CASE WHEN row.new < row.old THEN [n, m] ELSE [m, n] END | SET x:Memory)
  WITH row, n, [m] AS locked
  UNWIND locked AS m
  OPTIONAL MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash) WHERE t.namespace = $namespace AND t.hash IN row.new_hashes
  WITH row, m, n, count(t) > 0 AS new_gone
  OPTIONAL MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash) WHERE t.namespace = $namespace AND t.hash IN row.old_hashes
  WITH row, m, n, new_gone, count(t) > 0 AS old_gone
  FOREACH (x IN CASE WHEN new_gone THEN [n] ELSE [] END | DETACH DELETE x)
  FOREACH (x IN CASE WHEN old_gone THEN [m] ELSE [] END | DETACH DELETE x)
  WITH row, m, n, new_gone WHERE NOT old_gone
  FOREACH (_ IN CASE WHEN new_gone THEN [] ELSE [1] END |
    MERGE (n)-[r:SUPERSEDES {via: 'explicit', version: row.version}]->(m)
      ON CREATE SET r.reason = row.reason)
  WITH row, m WHERE NOT row.event IN coalesce(m.life, [])
  WITH row, m, coalesce(m.life, []) AS life, coalesce(m.notes, []) AS notes
  WITH row, m, life, notes, size([e IN life WHERE e < row.event]) AS at
  SET m.life = life[..at] + [row.event] + life[at..], m.notes = notes[..at] + [row.note] + notes[at..]
  WITH row, m
  CALL (row, m) {
    WITH row, m WHERE row.changeset IS NOT NULL
    MERGE (c:ChangeSet {namespace: $namespace, id: row.changeset})
    MERGE (c)-[:CHANGED]->(m)
  }
  CALL (m) {
    WITH m, split([e IN m.life WHERE (m.key IS NULL OR NOT e ENDS WITH '|restored')
      AND coalesce(split(e, '|')[2], m.version) = m.version][-1], '|')[1] AS cause
    WITH m, CASE cause WHEN 'restored' THEN 'active' ELSE cause END AS status
    WHERE m.version IS NOT NULL AND status IS NOT NULL AND status <> m.status
    SET m.status = status
    REMOVE m:Active:Superseded:Forgotten:Expired
    FOREACH (_ IN CASE WHEN status = 'active' THEN [1] ELSE [] END | SET m:Active)
    FOREACH (_ IN CASE WHEN status = 'superseded' THEN [1] ELSE [] END | SET m:Superseded)
    FOREACH (_ IN CASE WHEN status = 'forgotten' THEN [1] ELSE [] END | SET m:Forgotten)
    FOREACH (_ IN CASE WHEN status IN ['released', 'pruned'] THEN [1] ELSE [] END | SET m:Expired)
    WITH m
    MATCH (:MemoryKey)-[c:CURRENT]->(m)
    DELETE c
  }
  RETURN count(*) AS new
}
RETURN sum(new) AS made

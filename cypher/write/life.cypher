// What happened to a memory: Retire (forgotten | released | pruned), Restore (restored: in place, unkeyed only; on a keyed memory the
// event is kept and means nothing), and a Supersede whose newer memory is gone (superseded). An event on a memory that has not arrived
// waits on its place. A keyed memory can never become active by an event, so neither the slot nor the line is read.
// $namespace. rows: [{id, hashes, event, note, changeset}]; hashes: tombstone hashes of the id; event: `version|cause`, of a supersede
// `version|superseded|version of the memory that it names`; note: reason and so on as JSON. Lock order: key, then memory.
// Returns made: how many events are new.
UNWIND $rows AS row
CALL (row) {
  MERGE (m:Memory {namespace: $namespace, id: row.id})
  WITH row, m
  OPTIONAL MATCH (k:MemoryKey {namespace: $namespace, key: m.key}) USING INDEX SEEK k:MemoryKey(namespace, key)
  FOREACH (x IN CASE WHEN k IS NULL THEN [] ELSE [k] END | SET x:MemoryKey)
  SET m:Memory
  WITH row, [m] AS locked
  UNWIND locked AS m
  OPTIONAL MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash) WHERE t.namespace = $namespace AND t.hash IN row.hashes
  WITH row, m, count(t) AS dead
  FOREACH (x IN CASE WHEN dead = 0 THEN [] ELSE [m] END | DETACH DELETE x)
  WITH row, m WHERE dead = 0 AND NOT row.event IN coalesce(m.life, [])
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

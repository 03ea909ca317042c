// Second half, same transaction: an id tombstone, feedback gone, line stitched, head derived again, memory deleted, a key without memories
// deleted (its text is data too).
// $namespace, $version, $secret (name), $receipt. rows: [{id, hash, hashes}] for every id that write/purge_lock returned; hashes: of all secrets.
// A predecessor becomes current again only if nothing retired or superseded it and it is not older than the slot's tombstone (k.slot).
// Returns new (tombstones made), memories, relations, feedback, life, embedding: how many were removed.
UNWIND $rows AS row
CALL (row) {
  OPTIONAL MATCH (old:Tombstone) USING INDEX SEEK old:Tombstone(namespace, hash) WHERE old.namespace = $namespace AND old.hash IN row.hashes
  WITH row, count(old) AS known
  FOREACH (_ IN CASE WHEN known = 0 THEN [1] ELSE [] END |
    MERGE (t:Tombstone {namespace: $namespace, hash: row.hash})
      ON CREATE SET t.version = $version, t.secret = $secret, t.receipt = $receipt)
  WITH row, known
  MATCH (m:Memory {namespace: $namespace, id: row.id}) USING INDEX SEEK m:Memory(namespace, id)
  SET m:Memory
  WITH known, [m] AS locked
  UNWIND locked AS m
  WITH known, m, m.key AS key
  OPTIONAL MATCH (k:MemoryKey {namespace: $namespace, key: key}) USING INDEX SEEK k:MemoryKey(namespace, key)
  FOREACH (x IN CASE WHEN k IS NULL THEN [] ELSE [k] END | SET x:MemoryKey)
  WITH known, m, key, [k] AS locked
  UNWIND locked AS k
  WITH known, m, k, key, CASE WHEN m.version IS NULL THEN 0 ELSE 1 END AS memories, size(coalesce(m.life, [])) AS life,
       CASE WHEN m.embedding IS NULL THEN 0 ELSE 1 END AS embedding,
       COUNT { (m)-[:RELATES_TO|UNRELATED]-() } AS relations, COUNT { (:Feedback)-[:ABOUT]->(m) } AS feedback
  CALL (m) {
    MATCH (f:Feedback)-[:ABOUT]->(m)
    DETACH DELETE f
  }
  CALL (m) {
    MATCH (s:Memory)-[:SUPERSEDES {via: 'key'}]->(m)-[:SUPERSEDES {via: 'key'}]->(p:Memory)
    CREATE (s)-[:SUPERSEDES {via: 'key', version: s.version, reason: s.reason}]->(p)
  }
  CALL (m, k) {
    MATCH (k)-[:LATEST]->(m)-[:SUPERSEDES {via: 'key'}]->(p:Memory)
    CREATE (k)-[:LATEST]->(p)
    SET p:Memory
    WITH k, [p] AS locked
    UNWIND locked AS p
    WITH k, p
    WHERE p.status = 'superseded' AND (k.slot IS NULL OR p.version >= k.slot)
      AND NOT any(e IN coalesce(p.life, []) WHERE NOT e ENDS WITH '|restored' AND coalesce(split(e, '|')[2], p.version) = p.version)
    SET p.status = 'active', p:Active
    REMOVE p:Superseded
    CREATE (k)-[:CURRENT]->(p)
  }
  DETACH DELETE m
  WITH known, k, key, memories, life, embedding, relations, feedback
  CALL (k, key) {
    WITH k, key
    WHERE k IS NOT NULL AND NOT EXISTS { MATCH (x:Memory) USING INDEX SEEK x:Memory(namespace, key, version)
      WHERE x.namespace = $namespace AND x.key = key AND x.version >= '' }
    DETACH DELETE k
  }
  RETURN CASE known WHEN 0 THEN 1 ELSE 0 END AS new, memories, relations, feedback, life, embedding
}
RETURN sum(new) AS new, sum(memories) AS memories, sum(relations) AS relations, sum(feedback) AS feedback, sum(life) AS life,
       sum(embedding) AS embedding

// Draw the lines of keys again from the versions of their memories; a key without memories goes. $namespace.
// rows: [{key, slot}]; slot: the greatest purged version of the key, or null. Returns mended.
UNWIND $rows AS row
CALL (row) {
  MERGE (k:MemoryKey {namespace: $namespace, key: row.key})
  SET k:MemoryKey
  SET k.name = row.key, k.slot = row.slot
  WITH k, row.key AS key
  CALL (k) {
    MATCH (k)-[e:CURRENT|LATEST|PAST]->()
    DELETE e
  }
  CALL (key) {
    MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, key, version) WHERE m.namespace = $namespace AND m.key = key AND m.version >= ''
    MATCH (m)<-[e:CURRENT|LATEST|PAST]-()
    DELETE e
  }
  CALL (key) {
    MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, key, version) WHERE m.namespace = $namespace AND m.key = key AND m.version >= ''
    MATCH (m)-[e:SUPERSEDES {via: 'key'}]->()
    DELETE e
  }
  CALL (key) {
    MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, key, version) WHERE m.namespace = $namespace AND m.key = key AND m.version >= ''
    MATCH (m)<-[e:SUPERSEDES {via: 'key'}]-()
    DELETE e
  }
  CALL (k, key) {
    MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, key, version) WHERE m.namespace = $namespace AND m.key = key AND m.version >= ''
    WITH k, m ORDER BY m.namespace, m.key, m.version
    FOREACH (_ IN CASE WHEN m.past THEN [1] ELSE [] END | CREATE (k)-[:PAST]->(m))
    FOREACH (_ IN CASE WHEN m.status = 'active' THEN [1] ELSE [] END | CREATE (k)-[:CURRENT]->(m))
    WITH k, m WHERE m.past IS NULL
    WITH k, collect(m) AS line
    FOREACH (head IN line[-1..] | CREATE (k)-[:LATEST]->(head))
    FOREACH (at IN range(1, size(line) - 1) |
      FOREACH (newer IN [line[at]] | FOREACH (older IN [line[at - 1]] |
        CREATE (newer)-[:SUPERSEDES {via: 'key', version: newer.version, reason: newer.reason}]->(older))))
  }
  CALL (k, key) {
    WITH k, key WHERE NOT EXISTS { MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, key, version)
      WHERE m.namespace = $namespace AND m.key = key AND m.version >= '' }
    DETACH DELETE k
  }
  RETURN count(*) AS done
}
RETURN sum(done) AS mended

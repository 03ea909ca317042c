// Remember, keyed and unkeyed, a batch in any order. The same id again changes nothing; a place (version IS NULL) is filled and takes
// its status from the events that waited on it.
// $namespace. rows: [{id, version, key, past, hashes, buried, slots, stands_for, origin, changeset, micros, props}], sorted by (key, version)
// by the caller (fewer deadlocks); what would be null may be left out. One row a secret and value:
//   hashes: tombstone hashes of key, subject, session, actor, source and namespace; buried: those of the id and of the origin's id;
//   slots: those of the key's slot; stands_for: the origin's version of a restored copy, else version;
//   past: true when it describes the past; micros: Unix microseconds of the version; props: the properties but recorded_at and status,
//   named by the caller alone.
// The place of an origin, which is made to lock it, goes again if the copy was refused.
// Everything that is read of a row is read within its own subquery: no row waits in memory for the others.
// Returns one row per input row: made = 1 if it was written now; version as stored: null if a tombstone refused it and only an empty
// place was left, which the caller buries in the SAME transaction (write/purge_lock, write/purge_bury); latest: the greatest version
// on the key's line; purges: what write/feed must return again, else a purge came between: roll back and retry.
OPTIONAL MATCH (feed:Feed {namespace: $namespace}) USING INDEX SEEK feed:Feed(namespace)
WITH coalesce(feed.purges, 0) AS purges
UNWIND $rows AS row
CALL (row) {
  CALL (row) {
    FOREACH (id IN CASE WHEN row.origin IS NULL THEN [] ELSE [row.origin] END |
      MERGE (o:Memory {namespace: $namespace, id: id})
      SET o:Memory)
    MERGE (m:Memory {namespace: $namespace, id: row.id})
    SET m:Memory
    WITH row, [m] AS locked
    UNWIND locked AS m
    WITH row, m
    WHERE m.version IS NULL AND NOT EXISTS {
      MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash) WHERE t.namespace = $namespace AND t.hash IN row.buried
    } AND NOT EXISTS {
      MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash) WHERE t.namespace = $namespace AND t.hash IN row.hashes AND t.version >= row.stands_for
    }
    WITH row, m, split([e IN coalesce(m.life, []) WHERE (row.key IS NULL OR NOT e ENDS WITH '|restored')
      AND coalesce(split(e, '|')[2], row.version) = row.version][-1], '|')[1] AS cause
    SET m += row.props, m.recorded_at = datetime({epochSeconds: row.micros / 1000000, nanosecond: row.micros % 1000000 * 1000})
    WITH row, m, CASE WHEN cause IN ['forgotten', 'released', 'pruned', 'superseded'] THEN cause END AS cause
    CALL (row, m) {
      WITH row, m WHERE row.origin IS NOT NULL
      MATCH (o:Memory {namespace: $namespace, id: row.origin}) USING INDEX SEEK o:Memory(namespace, id)
      CREATE (m)-[:RESTORES]->(o)
    }
    CALL (row, m) {
      WITH row, m WHERE row.changeset IS NOT NULL
      MERGE (c:ChangeSet {namespace: $namespace, id: row.changeset})
      MERGE (c)-[:CHANGED]->(m)
    }
    CALL (row, m, cause) {
      WITH row, m, cause WHERE row.key IS NOT NULL
      MERGE (k:MemoryKey {namespace: $namespace, key: row.key})
        ON CREATE SET k.name = row.key
      SET k:MemoryKey
      WITH row, m, cause, k
      OPTIONAL MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash) WHERE t.namespace = $namespace AND t.hash IN row.slots
      WITH row, m, cause, k, max(t.version) AS slot
      FOREACH (_ IN CASE WHEN slot IS NULL THEN [] ELSE [1] END | SET k.slot = slot)
      FOREACH (_ IN CASE WHEN row.past THEN [1] ELSE [] END | CREATE (k)-[:PAST]->(m))
      WITH row, m, cause, k, slot WHERE row.past IS NULL
      OPTIONAL MATCH (k)-[l:LATEST]->(cur:Memory)
      FOREACH (x IN CASE WHEN cur IS NULL THEN [] ELSE [cur] END | SET x:Memory)
      WITH row, m, cause, k, slot, l, [cur] AS locked
      UNWIND locked AS cur
      WITH row, m, cause, k, slot, l, cur, cur IS NULL OR cur.version < row.version AS newest
      CALL (row, m, k, l, cur, newest) {
        WITH row, m, k, l, cur, newest WHERE newest
        OPTIONAL MATCH (k)-[c:CURRENT]->(:Memory)
        DELETE l, c
        CREATE (k)-[:LATEST]->(m)
        FOREACH (x IN CASE WHEN cur IS NULL THEN [] ELSE [cur] END | CREATE (m)-[:SUPERSEDES {via: 'key', version: row.version, reason: m.reason}]->(x))
        FOREACH (x IN CASE WHEN cur.status = 'active' THEN [cur] ELSE [] END | SET x.status = 'superseded', x:Superseded REMOVE x:Active:Expired)
      }
      CALL (row, m, newest) {
        WITH row, m, newest WHERE NOT newest
        MATCH (s:Memory) USING INDEX SEEK s:Memory(namespace, key, version)
          WHERE s.namespace = $namespace AND s.key = row.key AND s.version > row.version AND s.past IS NULL
        WITH row, m, s ORDER BY s.namespace, s.key, s.version LIMIT 1
        OPTIONAL MATCH (s)-[r:SUPERSEDES {via: 'key'}]->(p:Memory)
        DELETE r
        CREATE (s)-[:SUPERSEDES {via: 'key', version: s.version, reason: s.reason}]->(m)
        FOREACH (x IN CASE WHEN p IS NULL THEN [] ELSE [p] END | CREATE (m)-[:SUPERSEDES {via: 'key', version: row.version, reason: m.reason}]->(x))
      }
      WITH row, m, k WHERE newest AND cause IS NULL AND (slot IS NULL OR row.version >= slot)
      CREATE (k)-[:CURRENT]->(m)
      RETURN count(*) AS head
    }
    WITH m, coalesce(cause, CASE WHEN row.key IS NULL OR head > 0 THEN 'active' ELSE 'superseded' END) AS status
    SET m.status = status
    FOREACH (_ IN CASE WHEN status = 'active' THEN [1] ELSE [] END | SET m:Active)
    FOREACH (_ IN CASE WHEN status = 'superseded' THEN [1] ELSE [] END | SET m:Superseded)
    FOREACH (_ IN CASE WHEN status = 'forgotten' THEN [1] ELSE [] END | SET m:Forgotten)
    FOREACH (_ IN CASE WHEN status IN ['released', 'pruned'] THEN [1] ELSE [] END | SET m:Expired)
    RETURN count(*) AS made
  }
  CALL (row) {
    WITH row WHERE row.origin IS NOT NULL
    MATCH (o:Memory {namespace: $namespace, id: row.origin}) USING INDEX SEEK o:Memory(namespace, id)
      WHERE o.version IS NULL AND o.life IS NULL AND NOT EXISTS { (o)--() }
    DELETE o
  }
  MATCH (m:Memory {namespace: $namespace, id: row.id}) USING INDEX SEEK m:Memory(namespace, id)
  OPTIONAL MATCH (h:MemoryKey {namespace: $namespace, key: row.key})-[:LATEST]->(newest:Memory) USING INDEX SEEK h:MemoryKey(namespace, key)
  RETURN toString(row.id) AS id, made, toString(m.version) AS version, toString(newest.version) AS latest
}
RETURN id, made, version, latest, purges

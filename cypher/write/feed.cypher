// The last act of every write transaction: takes the namespace's Feed and stamps its number on what was written. Feeds of several
// namespaces: in order of their names.
// `touched` counts what was written: search sees by it how stale the statistics are that it keeps.
// $namespace, $ids (memories; the source of a relation, the older of a supersede), $hashes (tombstones), $version (the greatest that was
// written), $purges (1 when a value was purged, else 0).
// Returns n, purges, secrets; a transaction that ran write/remember compares purges with what that returned, and secrets with what the
// hashes were made with: different means that something was purged in between, so roll back and retry.
MERGE (f:Feed {namespace: $namespace})
  ON CREATE SET f.n = 0, f.purges = 0, f.version = ''
SET f:Feed
WITH [f] AS locked
UNWIND locked AS f
SET f.n = f.n + 1, f.purges = f.purges + $purges,
    f.touched = coalesce(f.touched, 0) + size($ids) + size($hashes), f.version = CASE WHEN $version > f.version THEN $version ELSE f.version END
WITH f
CALL (f) {
  UNWIND $ids AS id
  MATCH (m:Memory {namespace: $namespace, id: id}) USING INDEX SEEK m:Memory(namespace, id)
  SET m.seq = f.n
}
CALL (f) {
  UNWIND $hashes AS hash
  MATCH (t:Tombstone {namespace: $namespace, hash: hash}) USING INDEX SEEK t:Tombstone(namespace, hash)
  SET t.seq = f.n
}
WITH f
OPTIONAL MATCH (s:Store {name: 'memgraph'}) USING INDEX SEEK s:Store(name)
RETURN f.n AS n, f.purges AS purges, coalesce(s.secrets, 0) AS secrets

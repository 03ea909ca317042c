// The greatest purged version of keys, where there is one. $namespace. rows: [{key, hashes}]. Returns key, hash and version.
UNWIND $rows AS row
MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash) WHERE t.namespace = $namespace AND t.hash IN row.hashes
WITH row, t ORDER BY t.version
WITH row.key AS key, collect(t)[-1] AS t
RETURN key, t.hash AS hash, t.version AS version

// The tombstones of a namespace whose secret is gone. $namespace. Returns hash.
MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash) WHERE t.namespace = $namespace AND t.hash >= ''
  AND NOT EXISTS { MATCH (y:Secret {name: t.secret}) USING INDEX SEEK y:Secret(name) WHERE y.value IS :: STRING NOT NULL }
RETURN t.hash AS hash

// The tombstones of a namespace whose secret is gone. $namespace. Returns hash.
MATCH (t:Tombstone) WHERE t.namespace = $namespace AND t.hash >= ''
  AND NOT EXISTS { MATCH (y:Secret {name: t.secret}) WHERE y.value IS :: STRING NOT NULL }
RETURN t.hash AS hash

// The secrets of tombstone hashes: how many the store's node says there are, and how many there are. Returns said and there; nothing
// if there is no such node.
MATCH (s:Store {name: 'memgraph'}) USING INDEX SEEK s:Store(name)
RETURN s.secrets AS said, COUNT { MATCH (y:Secret) USING INDEX SEEK y:Secret(name) WHERE y.name >= '' AND y.value IS :: STRING NOT NULL } AS there

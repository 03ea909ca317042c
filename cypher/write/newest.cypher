// What the clock must move past: the greatest version that a namespace has seen; and how many secrets the store has.
// $namespace. Returns version, n (the feed's number), secrets, and clock: the server's, milliseconds since 1970.
OPTIONAL MATCH (s:Store {name: 'memgraph'}) USING INDEX SEEK s:Store(name)
OPTIONAL MATCH (f:Feed {namespace: $namespace}) USING INDEX SEEK f:Feed(namespace)
RETURN coalesce(f.version, '') AS version, coalesce(f.n, 0) AS n, coalesce(s.secrets, 0) AS secrets, timestamp() AS clock

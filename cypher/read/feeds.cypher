// How far the feeds of namespaces are: replicas compare these numbers with their cursors. $spaces. Returns namespace and n (0: never
// written to).
UNWIND $spaces AS namespace
OPTIONAL MATCH (f:Feed {namespace: namespace}) USING INDEX SEEK f:Feed(namespace)
RETURN namespace, coalesce(f.n, 0) AS n

// How far the writes of these namespaces have come. $spaces. Returns namespace, n (transactions) and touched (memories written).
UNWIND $spaces AS space
MATCH (f:Feed {namespace: space})
RETURN space AS namespace, f.n AS n, coalesce(f.touched, f.n) AS touched

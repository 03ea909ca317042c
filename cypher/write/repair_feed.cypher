// Give a namespace its Feed again, with a number above all that were given. $namespace, $n, $version (the greatest of its memories).
// Returns n.
MERGE (f:Feed {namespace: $namespace})
SET f:Feed
WITH [f] AS locked
UNWIND locked AS f
SET f.n = CASE WHEN f.n > $n THEN f.n ELSE $n END, f.purges = coalesce(f.purges, 0), f.touched = coalesce(f.touched, 0),
    f.version = CASE WHEN f.version >= $version AND f.version =~ '[0-9a-f]{12}-[0-9a-f]{4}-[0-9a-f]{8}' THEN f.version ELSE $version END
RETURN f.n AS n

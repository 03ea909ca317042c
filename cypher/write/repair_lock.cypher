// Take a namespace's Feed before a repair looks again: whoever is writing there has finished, and nobody else can. $namespace.
// Returns n.
MATCH (f:Feed {namespace: $namespace}) USING INDEX SEEK f:Feed(namespace)
SET f:Feed
RETURN f.n AS n

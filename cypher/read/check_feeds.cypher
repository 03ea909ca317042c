// Every namespace that was ever written to. Returns namespace.
MATCH (f:Feed) WHERE f.namespace >= ''
RETURN f.namespace AS namespace ORDER BY namespace

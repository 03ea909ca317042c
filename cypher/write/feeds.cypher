// Every namespace that was ever written to. Locks them one after the other, so that whoever is writing there has finished. Returns namespace.
MATCH (f:Feed) WHERE f.namespace >= ''
WITH f ORDER BY f.namespace
SET f:Feed
RETURN f.namespace AS namespace

// Every namespace that was ever written to, with its Feed and the greatest numbers that its memories and tombstones have, for the doctor.
// Returns namespace, n, version (the greatest that it has seen), memories, tombstones.
MATCH (f:Feed) USING INDEX SEEK f:Feed(namespace) WHERE f.namespace >= ''
RETURN f.namespace AS namespace, f.n AS n, f.version AS version,
       head(COLLECT { MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, seq) WHERE m.namespace = f.namespace AND m.seq >= 0
         RETURN m.seq ORDER BY m.namespace DESC, m.seq DESC LIMIT 1 }) AS memories,
       head(COLLECT { MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, seq) WHERE t.namespace = f.namespace AND t.seq >= 0
         RETURN t.seq ORDER BY t.namespace DESC, t.seq DESC LIMIT 1 }) AS tombstones
ORDER BY namespace

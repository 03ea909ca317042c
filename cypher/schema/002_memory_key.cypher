// A key is one node, the lock of keyed writes.
CREATE CONSTRAINT memory_key IF NOT EXISTS FOR (k:MemoryKey) REQUIRE (k.namespace, k.key) IS UNIQUE

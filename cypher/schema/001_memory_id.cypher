// A memory, or the place of one, is named by namespace and id. Community edition, one text for 5.26 and 2026.x; running it again changes nothing.
// A composite index serves a query only if every one of its properties is in the predicate: say `m.id >= ''` for "all".
CREATE CONSTRAINT memory_id IF NOT EXISTS FOR (m:Memory) REQUIRE (m.namespace, m.id) IS UNIQUE

// A tombstone is found by its namespace, in which alone it counts, and the keyed hash of what was purged.
CREATE CONSTRAINT tombstone_hash IF NOT EXISTS FOR (t:Tombstone) REQUIRE (t.namespace, t.hash) IS UNIQUE

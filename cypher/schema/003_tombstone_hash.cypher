// A tombstone is found by the keyed hash of what was purged.
CREATE CONSTRAINT tombstone_hash IF NOT EXISTS FOR (t:Tombstone) REQUIRE t.hash IS UNIQUE

// The secrets that tombstone hashes are keyed with.
CREATE CONSTRAINT secret_name IF NOT EXISTS FOR (s:Secret) REQUIRE s.name IS UNIQUE

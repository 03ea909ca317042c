// One node says that this database is a memgraph store, and of which schema.
CREATE CONSTRAINT store_name IF NOT EXISTS FOR (s:Store) REQUIRE s.name IS UNIQUE

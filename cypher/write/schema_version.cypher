// Whether this database is a memgraph store, and of which schema. Returns schema and secrets (how many), or nothing.
MATCH (s:Store {name: 'memgraph'}) USING INDEX SEEK s:Store(name) WHERE s.schema IS NOT NULL
RETURN s.schema AS schema, s.secrets AS secrets

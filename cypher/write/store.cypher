// Make this database a store: its node, and the first secret for tombstone hashes, unless both are there. Safe for many at once. Secrets
// that outlived a lost node are counted again: tombstones are found by them.
// $name, $value (a new secret). Returns schema.
MERGE (s:Store {name: 'memgraph'})
SET s:Store
WITH [s] AS locked
UNWIND locked AS s
WITH s, COUNT { MATCH (y:Secret) USING INDEX SEEK y:Secret(name) WHERE y.name >= '' } AS there
FOREACH (_ IN CASE WHEN s.secrets IS NULL AND there = 0 THEN [1] ELSE [] END |
  CREATE (:Secret {name: $name, value: $value}))
FOREACH (_ IN CASE WHEN s.secrets IS NULL THEN [1] ELSE [] END |
  SET s.secrets = CASE there WHEN 0 THEN 1 ELSE there END, s.schema = 1)
RETURN s.schema AS schema

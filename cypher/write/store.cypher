// Make this database a store: its node, and the first secret for tombstone hashes, unless both are there. Safe for many at once.
// $name, $value (a new secret). Returns schema.
MERGE (s:Store {name: 'memgraph'})
SET s:Store
WITH [s] AS locked
UNWIND locked AS s
FOREACH (_ IN CASE WHEN s.secrets IS NULL THEN [1] ELSE [] END |
  CREATE (:Secret {name: $name, value: $value})
  SET s.secrets = 1, s.schema = 1)
RETURN s.schema AS schema

// Make the store's node say how many secrets there are, after it was locked; with none there, make one.
// $count (how many there are), $name, $value (a new secret). Returns secrets.
MERGE (s:Store {name: 'memgraph'})
SET s:Store
FOREACH (_ IN CASE $count WHEN 0 THEN [1] ELSE [] END | CREATE (:Secret {name: $name, value: $value}))
SET s.secrets = CASE $count WHEN 0 THEN 1 ELSE $count END, s.schema = coalesce(s.schema, 1)
RETURN s.secrets AS secrets

// Take edges that somebody drew by hand out of the store: a SET_ASIDE edge keeps what is written on each. $elements (ids of edges).
// Returns mended.
UNWIND $elements AS element
CALL (element) {
  MATCH (a)-[r:SUPERSEDES|RESTORES|RELATES_TO|UNRELATED]->(b) WHERE elementId(r) = element
  CREATE (a)-[x:SET_ASIDE]->(b)
  SET x = properties(r)
  SET x.was = type(r)
  DELETE r
  RETURN count(*) AS done
}
RETURN sum(done) AS mended

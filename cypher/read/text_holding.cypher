// How many memories each of these clauses finds. $clauses: [{term, query}]; $indexes. Returns term, holding.
UNWIND $clauses AS clause
UNWIND $indexes AS index
CALL (clause, index) {
  CALL db.index.fulltext.queryNodes(index, clause.query) YIELD node
  RETURN count(node) AS found
}
RETURN clause.term AS term, sum(found) AS holding

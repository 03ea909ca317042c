// How many memories each of these clauses finds, where that is less than $limit in each index.
// $clauses: [{name, level, query}]; $indexes. Returns name, level, holding, more (whether an index holds $limit or more).
UNWIND $clauses AS clause
CALL (clause) {
  UNWIND $indexes AS index
  CALL (clause, index) {
    CALL db.index.fulltext.queryNodes(index, clause.query, {limit: $limit}) YIELD node
    RETURN count(node) AS found
  }
  RETURN sum(found) AS holding, max(found) AS most
}
RETURN clause.name AS name, clause.level AS level, holding, most >= $limit AS more

// The namespaces that hold the best matches of a query over many of them. $seeds: [{index, query, limit}]. Returns namespace, best
// first; of equal ones by name.
UNWIND $seeds AS seed
CALL (seed) {
  CALL db.index.fulltext.queryNodes(seed.index, seed.query, {limit: seed.limit}) YIELD node, score
  RETURN node.namespace AS namespace, score
}
WITH namespace, max(score) AS best WHERE namespace IS NOT NULL
RETURN namespace ORDER BY best DESC, namespace

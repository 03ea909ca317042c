// The same of a namespace that holds too many memories to look at, from a sample of them: what these queries of the full-text indexes
// find. $namespace, $queries, $indexes, $now, $limit (of each query in each index).
// Returns documents, length, active, active_length, sessions, last_valid, versions (in order, and the newest of all at the end).
CALL () {
  UNWIND $indexes AS index
  UNWIND $queries AS query
  CALL (index, query) {
    CALL db.index.fulltext.queryNodes(index, query, {limit: $limit}) YIELD node
    RETURN node AS m
  }
  WITH m WHERE m.namespace = $namespace AND m.version IS NOT NULL
  WITH m ORDER BY m.version
  WITH m, m.status = 'active' AND (m.expires_at IS NULL OR m.expires_at > $now) AS active
  RETURN collect(m.version) AS found, sum(m.terms_length) AS length, count(DISTINCT m.session) AS sessions,
         sum(CASE WHEN active THEN 1 ELSE 0 END) AS active, sum(CASE WHEN active THEN m.terms_length ELSE 0 END) AS active_length,
         max(CASE WHEN m.valid_from IS :: ZONED DATETIME THEN m.valid_from.epochSeconds END) AS last_valid
}
CALL (found) {
  MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, version) WHERE m.namespace = $namespace AND m.version >= ''
  RETURN m.version AS newest ORDER BY m.namespace DESC, m.version DESC LIMIT 1
}
RETURN size(found) AS documents, length, active, active_length, sessions, last_valid, found + [newest] AS versions

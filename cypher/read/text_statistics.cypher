// What the ranking must know of namespaces as wholes, where they hold at most $most memories. $spaces (namespaces), $now, $most.
// Returns one row a namespace: namespace, documents (more than $most stands for "too many": then the rest says nothing), length (of all),
// active, active_length (of those neither replaced, retired nor expired), sessions (how many, none counts for none), last_valid (the
// latest valid_from in seconds), versions (in order).
UNWIND $spaces AS namespace
CALL (namespace) {
  MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, version) WHERE m.namespace = namespace AND m.version >= ''
  WITH m LIMIT $most + 1
  RETURN count(m) AS documents
}
CALL (namespace, documents) {
  UNWIND CASE WHEN documents <= $most THEN [namespace] ELSE [] END AS space
  MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, version) WHERE m.namespace = space AND m.version >= ''
  WITH m ORDER BY m.namespace, m.version
  WITH m, m.status = 'active' AND (m.expires_at IS NULL OR m.expires_at > $now) AS active
  RETURN collect(m.version) AS versions, sum(m.terms_length) AS length, count(DISTINCT m.session) AS sessions,
         sum(CASE WHEN active THEN 1 ELSE 0 END) AS active, sum(CASE WHEN active THEN m.terms_length ELSE 0 END) AS active_length,
         max(CASE WHEN m.valid_from IS :: ZONED DATETIME THEN m.valid_from.epochSeconds END) AS last_valid
}
RETURN namespace, documents, length, active, active_length, sessions, last_valid, versions

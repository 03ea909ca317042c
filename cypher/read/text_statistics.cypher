// What the ranking must know of a namespace as a whole; read seldom, as it is linear in it.
// $namespace, $now, $marks (how many versions at most). Returns documents, length (of all), active, active_length (of those neither
// replaced, retired nor expired), sessions (1 stands for several of one), last_valid (the latest valid_from in seconds), and
// versions: evenly spaced ones, in order, the first and the last among them.
MATCH (m:Memory) WHERE m.namespace = $namespace AND m.version >= ''
WITH m ORDER BY m.namespace, m.version
WITH m, m.status = 'active' AND (m.expires_at IS NULL OR m.expires_at > $now) AS active
WITH collect(m.version) AS versions, sum(m.terms_length) AS length, count(DISTINCT m.session) AS sessions,
     sum(CASE WHEN active THEN 1 ELSE 0 END) AS active, sum(CASE WHEN active THEN m.terms_length ELSE 0 END) AS active_length,
     max(m.valid_from.epochSeconds) AS last_valid
WITH *, size(versions) AS documents
RETURN documents, length, active, active_length, sessions, last_valid,
       CASE WHEN documents <= $marks THEN versions
            ELSE [i IN range(0, $marks - 1) | versions[i * (documents - 1) / ($marks - 1)]] END AS versions

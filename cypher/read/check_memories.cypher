// A page of a namespace's memories and places, by id, with all that is derived in the graph about each, for the doctor.
// $namespace, $after (an id, '' to begin), $limit.
// Returns id, version, key, past, status, life, notes (how many), labels, seq, slot; current, latest, pasts: how many such edges lead
// there from keys; above, below: steps of its key's line; replaced, replaces: whether the key has a greater version, a smaller one.
MATCH (m:Memory) WHERE m.namespace = $namespace AND m.id > $after
WITH m ORDER BY m.namespace, m.id LIMIT $limit
OPTIONAL MATCH (k:MemoryKey {namespace: $namespace, key: m.key})
RETURN m.id AS id, m.version AS version, m.key AS key, m.past AS past, m.status AS status, coalesce(m.life, []) AS life,
       size(coalesce(m.notes, [])) AS notes, labels(m) AS labels, m.seq AS seq, k.slot AS slot,
       COUNT { (:MemoryKey)-[:CURRENT]->(m) } AS current, COUNT { (:MemoryKey)-[:LATEST]->(m) } AS latest,
       COUNT { (:MemoryKey)-[:PAST]->(m) } AS pasts,
       COUNT { (:Memory)-[:SUPERSEDES {via: 'key'}]->(m) } AS above, COUNT { (m)-[:SUPERSEDES {via: 'key'}]->(:Memory) } AS below,
       EXISTS {
         MATCH (n:Memory) WHERE n.namespace = $namespace AND n.key = m.key AND n.version > m.version AND n.past IS NULL
       } AS replaced,
       EXISTS {
         MATCH (n:Memory) WHERE n.namespace = $namespace AND n.key = m.key AND n.version < m.version AND n.past IS NULL
       } AS replaces

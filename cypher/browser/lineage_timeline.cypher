// Lineage of a key, as a timeline
// One row a memory, newest first: what it said, since when, why, who wrote it, what it replaced, what happened to it. Read this where
// a line is too long for a graph. The numbers count what the key held; what is purged is not counted.
// $namespace, $key. First: :param {namespace: 'default', key: 'ada/city'}
MATCH (memory:Memory) USING INDEX SEEK memory:Memory(namespace, key, version) WHERE memory.namespace = $namespace AND memory.key = $key AND memory.version >= ''
WITH memory ORDER BY memory.version
WITH collect(memory) AS line
UNWIND range(size(line) - 1, 0, -1) AS at
WITH at + 1 AS number, line[at] AS memory
RETURN number,
       CASE WHEN memory.status = 'active' AND memory.expires_at <= datetime() THEN 'expired' ELSE memory.status END AS status,
       memory.content AS says,
       toString(memory.recorded_at) AS recorded,
       coalesce(memory.reason, head(COLLECT {
         MATCH (memory)-[step:SUPERSEDES]->(:Memory) WHERE step.reason IS NOT NULL RETURN step.reason ORDER BY step.version
       })) AS why,
       coalesce(memory.actor, memory.source) AS written_by,
       COLLECT { MATCH (memory)-[:SUPERSEDES]->(old:Memory) WHERE old.version IS NOT NULL RETURN old.title ORDER BY old.version } AS replaced,
       COLLECT { MATCH (memory)-[:RESTORES]->(old:Memory) RETURN coalesce(old.title, old.id) } AS restored,
       [at IN range(0, size(coalesce(memory.life, [])) - 1) |
         split(memory.life[at], '|')[1] + ' ' + toString(datetime({epochMillis: reduce(ms = 0, digit IN split(left(memory.life[at], 12), '') |
           ms * 16 + size(split('0123456789abcdef', digit)[0]))})) + ' ' + coalesce(memory.notes[at], '')] AS happened,
       toString(memory.valid_from) AS true_from,
       toString(memory.valid_to) AS true_to,
       memory.session AS session,
       round(memory.confidence, 2) AS confidence,
       memory.id AS id

// Forgotten and expired memories, which can be restored
// What was forgotten, released, pruned or has expired, newest first. `memgraph restore ID` brings one back.
// $namespace. First: :param {namespace: 'default'}
MATCH (memory:Memory) USING INDEX SEEK memory:Memory(namespace, version) WHERE memory.namespace = $namespace AND memory.version >= ''
  AND (memory.status IN ['forgotten', 'released', 'pruned'] OR (memory.status = 'active' AND memory.expires_at <= datetime()))
WITH memory, size(coalesce(memory.life, [])) AS events ORDER BY memory.version DESC LIMIT 300
RETURN CASE memory.status WHEN 'active' THEN 'expired' ELSE memory.status END AS status,
       memory.key AS key, memory.content AS says, toString(memory.recorded_at) AS recorded,
       CASE WHEN memory.status = 'active' THEN toString(memory.expires_at)
            WHEN events > 0 THEN toString(datetime({epochMillis: reduce(ms = 0, digit IN split(left(memory.life[-1], 12), '') |
              ms * 16 + size(split('0123456789abcdef', digit)[0]))})) END AS since,
       memory.notes[-1] AS why, coalesce(memory.actor, memory.source) AS written_by, memory.id AS id

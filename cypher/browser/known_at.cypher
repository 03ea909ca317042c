// What was known at a time
// The memories that counted then, as far as they are not purged since: written by then, and not yet replaced, forgotten or expired.
// $namespace, $known_at. First: :param {namespace: 'default', known_at: '2026-05-01T12:00:00Z'}
WITH datetime(toString($known_at)) AS then
WITH then, reduce(text = '', place IN range(11, 0, -1) |
  text + substring('0123456789abcdef', (then.epochMillis / toInteger(16 ^ place)) % 16, 1)) AS ms
WITH then, ms + substring('0123456789abcdef', then.epochMillis % 16, 1) + '~' AS bound
MATCH (memory:Memory) USING INDEX SEEK memory:Memory(namespace, version) WHERE memory.namespace = $namespace AND memory.version >= '' AND memory.recorded_at <= then
OPTIONAL MATCH (key:MemoryKey {namespace: $namespace, key: memory.key}) USING INDEX SEEK key:MemoryKey(namespace, key)
WITH memory, key, then, [event IN coalesce(memory.life, [])
  WHERE event < bound AND NOT (memory.key IS NOT NULL AND event ENDS WITH '|restored')
    AND coalesce(split(event, '|')[2], memory.version) = memory.version][-1] AS last
WHERE coalesce(split(last, '|')[1], 'restored') = 'restored'
  AND coalesce(memory.expires_at > then, true)
  AND memory.past IS NULL
  AND coalesce(memory.version >= key.slot, true)
  AND NOT EXISTS {
    MATCH (newer:Memory) USING INDEX SEEK newer:Memory(namespace, key, version) WHERE newer.namespace = $namespace AND newer.key = memory.key AND newer.version > memory.version
      AND newer.past IS NULL AND newer.recorded_at <= then
  }
RETURN memory.key AS key, memory.content AS says, toString(memory.recorded_at) AS recorded, memory.kind AS kind,
       memory.subject AS subject, coalesce(memory.actor, memory.source) AS written_by, memory.status AS status_now, memory.id AS id
ORDER BY memory.version DESC LIMIT 1000

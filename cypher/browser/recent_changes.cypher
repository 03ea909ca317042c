// What changed lately
// What was written, related, replaced, forgotten or brought back in the last days, newest first.
// $namespace, $days. First: :param {namespace: 'default', days: 7}
WITH datetime().epochMillis - toInteger($days * 86400000) AS since
WITH reduce(text = '', place IN range(11, 0, -1) |
  text + substring('0123456789abcdef', (since / toInteger(16 ^ place)) % 16, 1)) AS bound
MATCH (memory:Memory) USING INDEX SEEK memory:Memory(namespace, version) WHERE memory.namespace = $namespace AND memory.version >= ''
WITH memory, bound,
  [{version: memory.version, what: CASE WHEN memory.origin IS NULL THEN 'written' ELSE 'restored as a copy' END, why: memory.reason}] +
  [at IN range(0, size(coalesce(memory.life, [])) - 1) | {version: left(memory.life[at], 26), what: split(memory.life[at], '|')[1], why: memory.notes[at]}] +
  COLLECT {
    MATCH (memory)-[relation:RELATES_TO|UNRELATED]->(other:Memory)
    RETURN {version: relation.version, what: CASE WHEN relation:UNRELATED THEN 'no longer ' ELSE '' END + relation.type + ': ' + coalesce(other.title, other.id),
            why: relation.note}
  } AS changes
UNWIND changes AS change
WITH memory, change WHERE change.version >= bound
RETURN toString(datetime({epochMillis: reduce(ms = 0, digit IN split(left(change.version, 12), '') |
         ms * 16 + size(split('0123456789abcdef', digit)[0]))})) AS at,
       change.what AS what, memory.content AS says, memory.key AS key, change.why AS why,
       coalesce(memory.actor, memory.source) AS written_by, memory.status AS status_now, memory.id AS id
ORDER BY change.version DESC LIMIT 300

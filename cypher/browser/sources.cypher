// Sources and sessions
// Who or what memories came from, and in which session: how many, how many still count, and when. Newest first.
// $namespace. First: :param {namespace: 'default'}
MATCH (memory:Memory) USING INDEX SEEK memory:Memory(namespace, version) WHERE memory.namespace = $namespace AND memory.version >= ''
RETURN memory.source AS source, memory.session AS session, memory.actor AS actor, memory.trust AS trust, count(*) AS memories,
       sum(CASE WHEN memory.status = 'active' AND coalesce(memory.expires_at > datetime(), true) THEN 1 ELSE 0 END) AS active,
       toString(min(memory.recorded_at)) AS first, toString(max(memory.recorded_at)) AS last
ORDER BY last DESC LIMIT 300

// Everything about a subject
// Its newest hundred memories, current and past, what they replaced, what they are related to, and their keys.
// $namespace, $subject. First: :param {namespace: 'default', subject: 'ada'}
MATCH (memory:Memory) USING INDEX SEEK memory:Memory(namespace, version) WHERE memory.namespace = $namespace AND memory.version >= '' AND memory.subject = $subject
WITH memory ORDER BY memory.version DESC LIMIT 100
OPTIONAL MATCH (memory)<-[place:CURRENT|LATEST|PAST]-(key)
OPTIONAL MATCH (memory)-[step:SUPERSEDES|RESTORES|RELATES_TO]-(other) WHERE other.version IS NOT NULL
WITH collect(DISTINCT memory) AS memories, collect(DISTINCT key) AS keys, collect(DISTINCT place) AS places,
     collect(DISTINCT step) AS steps, collect(DISTINCT other) AS others
WHERE memories <> []
RETURN memories, keys, places, steps, others

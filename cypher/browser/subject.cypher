// Everything about a subject
// Its memories, current and past, what they replaced, what they are related to, and their keys.
// $namespace, $subject. First: :param {namespace: 'default', subject: 'ada'}
MATCH (memory:Memory) WHERE memory.namespace = $namespace AND memory.version >= '' AND memory.subject = $subject
WITH memory ORDER BY memory.version DESC LIMIT 100
OPTIONAL MATCH (key:MemoryKey)-[place:CURRENT|LATEST|PAST]->(memory)
OPTIONAL MATCH (memory)-[edge:SUPERSEDES|RESTORES|RELATES_TO]-(other:Memory) WHERE other.version IS NOT NULL
RETURN memory, key, place, edge, other

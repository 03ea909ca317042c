// Lineage of a key, as a graph
// Every memory of the key, what it replaced and why, what it restored, and the key itself. Forgotten keys too.
// $namespace, $key. First: :param {namespace: 'default', key: 'ada/city'}
MATCH (memory:Memory) WHERE memory.namespace = $namespace AND memory.key = $key AND memory.version >= ''
OPTIONAL MATCH (key:MemoryKey)-[place:CURRENT|LATEST|PAST]->(memory)
OPTIONAL MATCH (memory)-[step:SUPERSEDES|RESTORES]-(other:Memory) WHERE other.version IS NOT NULL
RETURN memory, key, place, step, other

// Lineage of a key, as a graph
// Every memory of the key, what it replaced and why, what it restored, and the key itself. Forgotten keys too.
// $namespace, $key. First: :param {namespace: 'default', key: 'ada/city'}
MATCH (memory:Memory) WHERE memory.namespace = $namespace AND memory.key = $key AND memory.version >= ''
OPTIONAL MATCH (key:MemoryKey)-[place:CURRENT|LATEST|PAST]->(memory)
OPTIONAL MATCH (memory)-[step:SUPERSEDES|RESTORES]-(other:Memory) WHERE other.version IS NOT NULL
WITH collect(DISTINCT memory) AS memories, collect(DISTINCT key) AS keys, collect(DISTINCT place) AS places,
     collect(DISTINCT step) AS steps, collect(DISTINCT other) AS others
WHERE memories <> []
RETURN memories, keys, places, steps, others

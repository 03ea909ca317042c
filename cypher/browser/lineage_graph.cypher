// Lineage of a key, as a graph
// Every memory of the key, what it replaced and why, what it restored, and the key itself. Forgotten keys too.
// $namespace, $key. First: :param {namespace: 'default', key: 'ada/city'}
MATCH (memory:Memory) USING INDEX SEEK memory:Memory(namespace, key, version) WHERE memory.namespace = $namespace AND memory.key = $key AND memory.version >= ''
OPTIONAL MATCH (memory)<-[place:CURRENT|LATEST|PAST]-(key)
OPTIONAL MATCH (memory)-[step:SUPERSEDES|RESTORES]-(other) WHERE other.version IS NOT NULL
WITH collect(DISTINCT memory) AS memories, collect(DISTINCT key) AS keys, collect(DISTINCT place) AS places,
     collect(DISTINCT step) AS steps, collect(DISTINCT other) AS others
WHERE memories <> []
RETURN memories, keys, places, steps, others

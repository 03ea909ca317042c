// Around a memory, two steps
// What it replaced and what replaced it, what it is related to, its key, and the same of those.
// $namespace, $id. First: :param {namespace: 'default', id: '0197f3a2-5f0e-7c1b-9a44-6a3d5f1c2b77'}
MATCH (memory:Memory {namespace: $namespace, id: $id}) USING INDEX SEEK memory:Memory(namespace, id)
MATCH path = (memory)-[:SUPERSEDES|RESTORES|RELATES_TO|CURRENT|LATEST|PAST*0..2]-(other)
WHERE all(node IN nodes(path) WHERE NOT node:Memory OR node.version IS NOT NULL)
WITH path LIMIT 300
WITH collect(path) AS paths WHERE paths <> []
RETURN COLLECT { UNWIND paths AS path UNWIND nodes(path) AS node RETURN DISTINCT node } AS nodes,
       COLLECT { UNWIND paths AS path UNWIND relationships(path) AS step RETURN DISTINCT step } AS steps

// Nodes that no index of ours knows. Reads every memory: for the doctor alone. Returns kind and name:
//   made: its label says Memory, but it lacks a namespace or an id; name: the node's id
//   odd: the same, and nothing else about it is ours: another program's
//   lost: a memory without the label Memory; name: the node's id
//   unfed: a namespace that has memories and no Feed; name: the namespace
MATCH (m:Memory) WHERE NOT (m.namespace IS :: STRING NOT NULL AND m.id IS :: STRING NOT NULL)
RETURN CASE WHEN coalesce(m.namespace, m.id, m.content, m.key, m.version, m.status) IS NULL
         AND NOT (m:Active OR m:Superseded OR m:Forgotten OR m:Expired) THEN 'odd' ELSE 'made' END AS kind, elementId(m) AS name
UNION ALL
MATCH (m:Active|Superseded|Forgotten|Expired)
WHERE NOT m:Memory AND m.namespace IS :: STRING NOT NULL AND m.id IS :: STRING NOT NULL AND m.version IS :: STRING NOT NULL AND m.content IS NOT NULL
RETURN 'lost' AS kind, elementId(m) AS name
UNION ALL
MATCH (m:Memory) WHERE m.namespace IS :: STRING NOT NULL AND m.id IS :: STRING NOT NULL
WITH DISTINCT m.namespace AS name
WHERE NOT EXISTS { MATCH (f:Feed {namespace: name}) USING INDEX SEEK f:Feed(namespace) }
RETURN 'unfed' AS kind, name

// Join feedback in a namespace to its memory again; what is about none goes. $namespace. Returns mended.
MATCH (f:Feedback) USING INDEX SEEK f:Feedback(namespace, memory, id)
  WHERE f.namespace = $namespace AND f.memory >= '' AND f.id >= '' AND NOT EXISTS { (f)-[:ABOUT]->(:Memory) }
OPTIONAL MATCH (m:Memory {namespace: $namespace, id: f.memory}) USING INDEX SEEK m:Memory(namespace, id)
FOREACH (x IN CASE WHEN m IS NULL THEN [] ELSE [m] END | CREATE (f)-[:ABOUT]->(x))
FOREACH (x IN CASE WHEN m IS NULL THEN [f] ELSE [] END | DETACH DELETE x)
RETURN count(*) AS mended

// Feedback in a namespace that no edge joins to its memory. $namespace. Returns memory (its id).
MATCH (f:Feedback) USING INDEX SEEK f:Feedback(namespace, memory, id)
  WHERE f.namespace = $namespace AND f.memory >= '' AND f.id >= '' AND NOT EXISTS { (f)-[:ABOUT]->(:Memory) }
RETURN f.memory AS memory

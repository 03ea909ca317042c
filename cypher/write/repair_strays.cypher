// Delete feedback in a namespace that is about nothing. $namespace. Returns mended.
MATCH (f:Feedback) WHERE f.namespace = $namespace AND f.memory >= '' AND f.id >= '' AND NOT EXISTS { (f)-[:ABOUT]->(:Memory) }
DETACH DELETE f
RETURN count(*) AS mended

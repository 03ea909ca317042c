// Feedback in a namespace that is about nothing. $namespace. Returns strays.
MATCH (f:Feedback) WHERE f.namespace = $namespace AND f.memory >= '' AND f.id >= '' AND NOT EXISTS { (f)-[:ABOUT]->(:Memory) }
RETURN count(f) AS strays

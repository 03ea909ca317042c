// Nodes with our label that no write of ours made: without namespace or id, or in a namespace without a Feed. Reads every memory: for
// the doctor alone. Returns odd.
MATCH (m:Memory)
WHERE m.namespace IS NULL OR m.id IS NULL OR NOT EXISTS { MATCH (f:Feed {namespace: m.namespace}) }
RETURN count(m) AS odd

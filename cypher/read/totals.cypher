// Keys and relations of a namespace, and memories of the whole store (each has one label that says its status). $namespace.
// Returns keys, relations, store_entries.
CALL () { MATCH (k:MemoryKey) WHERE k.namespace = $namespace AND k.key >= '' RETURN count(k) AS keys }
CALL () { MATCH (a:Memory)-[r:RELATES_TO]->(:Memory) WHERE a.namespace = $namespace AND a.id >= '' RETURN count(r) AS relations }
CALL () { MATCH (m:Active) RETURN count(m) AS active }
CALL () { MATCH (m:Superseded) RETURN count(m) AS superseded }
CALL () { MATCH (m:Forgotten) RETURN count(m) AS forgotten }
CALL () { MATCH (m:Expired) RETURN count(m) AS expired }
RETURN keys, relations, active + superseded + forgotten + expired AS store_entries

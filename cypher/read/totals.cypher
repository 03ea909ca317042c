// Keys and relations of a namespace, and memories of the whole store (each has one label that says its status) but those of its
// ledgers. $namespace.
// Returns keys, relations, store_entries.
RETURN COUNT { MATCH (k:MemoryKey) USING INDEX SEEK k:MemoryKey(namespace, key) WHERE k.namespace = $namespace AND k.key >= '' } AS keys,
       COUNT { MATCH (a:Memory)-[:RELATES_TO]->(:Memory) USING INDEX SEEK a:Memory(namespace, id) WHERE a.namespace = $namespace AND a.id >= '' } AS relations,
       COUNT { MATCH (:Active) } + COUNT { MATCH (:Superseded) } + COUNT { MATCH (:Forgotten) } + COUNT { MATCH (:Expired) }
         - COUNT { MATCH (l:Memory) USING INDEX SEEK l:Memory(namespace, version) WHERE l.namespace STARTS WITH '~ledger/' AND l.version IS NOT NULL }
         AS store_entries

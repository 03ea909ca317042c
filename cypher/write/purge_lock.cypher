// First half of burying: take the places of the ids (made when not here: the lock against an operation of that id that is on its way)
// and name every restored copy of them. A copy locks its origin's place before it links, so no new copy can appear until this
// transaction ends. $namespace, $ids (at most 1000). Returns id.
UNWIND $ids AS id
CALL (id) {
  MERGE (root:Memory {namespace: $namespace, id: id})
  SET root:Memory
}
WITH id
MATCH (h:Memory {namespace: $namespace, id: id})<-[:RESTORES*0..]-(m:Memory) USING INDEX SEEK h:Memory(namespace, id)
RETURN DISTINCT m.id AS id

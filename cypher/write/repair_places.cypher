// Take what somebody wrote on places for memories that have not come (no version) out of the store: a node SetAside keeps it. A place
// that nothing waits on goes. $elements (ids of nodes). Returns mended.
UNWIND $elements AS element
CALL (element) {
  MATCH (m:Memory) WHERE elementId(m) = element
  CREATE (x:SetAside)
  SET x = properties(m)
  SET m = {namespace: m.namespace, id: m.id, life: m.life, notes: m.notes, seq: m.seq}
  REMOVE m:Active:Superseded:Forgotten:Expired
  FOREACH (gone IN CASE WHEN m.life IS NULL AND NOT EXISTS { (m)--() } THEN [m] ELSE [] END | DELETE gone)
  RETURN count(*) AS done
}
RETURN sum(done) AS mended

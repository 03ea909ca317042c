// Draw the edges from restored copies to what they are copies of. $namespace, $ids. Returns mended.
UNWIND $ids AS id
CALL (id) {
  MATCH (m:Memory {namespace: $namespace, id: id}) USING INDEX SEEK m:Memory(namespace, id) WHERE m.origin IS NOT NULL
  MERGE (o:Memory {namespace: $namespace, id: m.origin})
  MERGE (m)-[:RESTORES]->(o)
  RETURN count(*) AS done
}
RETURN sum(done) AS mended

// Give memories back the label that says they are some, unless another has their place. $elements (ids of nodes). Returns mended.
UNWIND $elements AS element
CALL (element) {
  MATCH (m) WHERE elementId(m) = element AND NOT EXISTS { MATCH (x:Memory {namespace: m.namespace, id: m.id}) USING INDEX SEEK x:Memory(namespace, id) }
  SET m:Memory
  RETURN count(*) AS done
}
RETURN sum(done) AS mended

// Give memories properties that follow from others: index tokens, or what somebody removed or set to a value of another kind.
// $namespace. rows: [{id, props}]; props: what backends/neo4j/tokens.py and damage.py make. Returns mended.
UNWIND $rows AS row
CALL (row) {
  MATCH (m:Memory {namespace: $namespace, id: row.id}) USING INDEX SEEK m:Memory(namespace, id)
  SET m:Memory
  SET m += row.props
  RETURN count(*) AS done
}
RETURN sum(done) AS mended

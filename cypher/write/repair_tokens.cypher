// Give memories their index tokens again. $namespace. rows: [{id, props}]; props: what backends/neo4j/tokens.py makes. Returns mended.
UNWIND $rows AS row
MATCH (m:Memory {namespace: $namespace, id: row.id})
SET m:Memory
SET m += row.props
RETURN count(*) AS mended

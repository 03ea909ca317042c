// What happened to these memories. $namespace, $ids.
// Returns id, version, life, notes, and reasons ([version, reason] each): why something superseded it, which stands on the edge.
UNWIND $ids AS id
MATCH (m:Memory {namespace: $namespace, id: id}) USING INDEX SEEK m:Memory(namespace, id) WHERE m.version IS NOT NULL AND m.life IS NOT NULL
RETURN m.id AS id, m.version AS version, m.life AS life, m.notes AS notes, COLLECT {
  MATCH (:Memory)-[r:SUPERSEDES {via: 'explicit'}]->(m) WHERE r.reason IS NOT NULL
  RETURN [r.version, r.reason]
} AS reasons

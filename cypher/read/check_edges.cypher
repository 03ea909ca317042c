// Edges that begin at these memories and that no write of ours can have made. $namespace, $ids.
// Returns element (the edge's id), source (the memory's id), label, and made: false if only its weight or note is not of the right kind.
UNWIND $ids AS id
MATCH (m:Memory {namespace: $namespace, id: id})-[r:SUPERSEDES|RESTORES|RELATES_TO|UNRELATED]->(o) USING INDEX SEEK m:Memory(namespace, id)
WITH m, r, NOT coalesce(o:Memory AND o.namespace = $namespace AND CASE type(r)
    WHEN 'SUPERSEDES' THEN r.version IS :: STRING NOT NULL AND CASE r.via
      WHEN 'key' THEN m.key = o.key
      WHEN 'explicit' THEN any(event IN o.life WHERE event STARTS WITH r.version + '|superseded')
      ELSE false END
    WHEN 'RESTORES' THEN m.origin = o.id AND NOT EXISTS { MATCH (m)-[x:RESTORES]->(o) WHERE elementId(x) < elementId(r) }
    ELSE r.type IS :: STRING NOT NULL AND r.version IS :: STRING NOT NULL AND size(r.version) = 26 AND NOT EXISTS {
      MATCH (m)-[x:RELATES_TO|UNRELATED]->(o)
      WHERE x.type = r.type AND (x.version > r.version OR (x.version = r.version AND elementId(x) < elementId(r))) }
    END, false) AS made,
  r:RELATES_TO AND NOT (r.weight IS :: INTEGER NOT NULL | FLOAT NOT NULL AND r.note IS :: STRING) AS unfit
WHERE made OR unfit
RETURN elementId(r) AS element, m.id AS source, type(r) AS label, made

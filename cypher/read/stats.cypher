// How much a namespace holds. $namespace, $now. Returns rows of status, kind, entries; status is `expired` for what is by then.
MATCH (m:Memory) USING INDEX SEEK m:Memory(namespace, version) WHERE m.namespace = $namespace AND m.version >= ''
RETURN CASE WHEN m.status = 'active' AND m.expires_at <= $now THEN 'expired' ELSE m.status END AS status, m.kind AS kind,
       count(*) AS entries

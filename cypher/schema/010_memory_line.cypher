// The memories of a key in version order.
CREATE INDEX memory_line IF NOT EXISTS FOR (m:Memory) ON (m.namespace, m.key, m.version)

// The memories of a namespace in version order.
CREATE INDEX memory_recorded IF NOT EXISTS FOR (m:Memory) ON (m.namespace, m.version)

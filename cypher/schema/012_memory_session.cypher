// The turns of a session in order: what search spreads to.
CREATE INDEX memory_session IF NOT EXISTS FOR (m:Memory) ON (m.namespace, m.session, m.version)

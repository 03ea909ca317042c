// What replicas pull by.
CREATE INDEX memory_seq IF NOT EXISTS FOR (m:Memory) ON (m.namespace, m.seq)

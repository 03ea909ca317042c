// What replicas pull purges by.
CREATE INDEX tombstone_seq IF NOT EXISTS FOR (t:Tombstone) ON (t.namespace, t.seq)

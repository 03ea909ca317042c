// Make every label, type and property name known, so that no statement warns of unknown names in an empty store. Leaves nothing.
CREATE (k:MemoryKey {namespace: '', key: '', name: '', slot: ''})-[:CURRENT]->(m:Memory:Active:Superseded:Forgotten:Expired {
    namespace: '', id: '', version: '', key: '', kind: '', title: '', content: '', tags: [''], aliases: [''], metadata: '', subject: '',
    session: '', actor: '', source: '', trust: '', pinned: false, confidence: 0.0, recorded_at: '', valid_from: '', valid_to: '',
    expires_at: '', reason: '', changeset: '', status: '', life: [''], notes: [''], past: true, origin: '', origin_version: '',
    embedding: [0.0], embedding_model: '', feedback_count: 0, feedback_sum: 0.0, terms: '', terms_length: 0, terms_flags: 0,
    scope: '', seq: 0})-[:SUPERSEDES {via: '', version: '', reason: ''}]->(x:Memory),
  (k)-[:LATEST]->(m), (k)-[:PAST]->(m), (m)-[:RESTORES]->(x),
  (m)-[:RELATES_TO {type: '', version: '', weight: 0.0, note: ''}]->(x), (m)-[:UNRELATED {type: '', version: ''}]->(x),
  (f:Feedback {namespace: '', memory: '', id: '', version: '', signal: 0.0, verified: false, actor: '', weight: 0.0})-[:ABOUT]->(m),
  (c:ChangeSet {namespace: '', id: ''})-[:CHANGED]->(m),
  (t:Tombstone {hash: '', namespace: '', version: '', secret: '', receipt: '', seq: 0}),
  (o:ForeignOperation {namespace: '', op_id: '', version: '', payload: '', seq: 0}),
  (d:Feed {namespace: '', n: 0, purges: 0, touched: 0, version: ''}), (s:Store {name: '', schema: 0, secrets: 0}), (y:Secret {name: '', value: ''}),
  (z:SetAside)
DETACH DELETE k, m, x, f, c, t, o, d, s, y, z

// Integrity: what no longer follows from the versions
// Two active memories on a key, lines that are broken, labels that do not say the status. No rows: nothing of that kind is wrong.
// `memgraph doctor` finds more, says what each means, and mends it. $namespace. First: :param {namespace: 'default'}
MATCH (memory:Memory) USING INDEX SEEK memory:Memory(namespace, version) WHERE memory.namespace = $namespace AND memory.version >= ''
OPTIONAL MATCH (key:MemoryKey {namespace: $namespace, key: memory.key}) USING INDEX SEEK key:MemoryKey(namespace, key)
WITH memory, key, memory.key IS NOT NULL AND memory.past IS NULL AS on_line,
     EXISTS { MATCH (newer:Memory) USING INDEX SEEK newer:Memory(namespace, key, version) WHERE newer.namespace = $namespace AND newer.key = memory.key AND newer.version > memory.version
                AND newer.past IS NULL } AS replaced,
     [label IN labels(memory) WHERE label IN ['Active', 'Superseded', 'Forgotten', 'Expired']] AS said,
     CASE memory.status WHEN 'active' THEN ['Active'] WHEN 'superseded' THEN ['Superseded'] WHEN 'forgotten' THEN ['Forgotten']
       ELSE ['Expired'] END AS meant
WITH memory, [
  CASE WHEN said <> meant AND NOT (memory.status = 'active' AND memory.expires_at <= datetime() AND said = ['Expired'])
    THEN 'its label does not say its status' END,
  CASE WHEN on_line AND memory.status = 'active' AND EXISTS {
      MATCH (other:Memory) USING INDEX SEEK other:Memory(namespace, key, version) WHERE other.namespace = $namespace AND other.key = memory.key AND other.version >= ''
        AND other.status = 'active' AND other.id <> memory.id }
    THEN 'its key has another active memory' END,
  CASE WHEN on_line AND key IS NULL THEN 'its key is gone' END,
  CASE WHEN on_line AND replaced AND COUNT { (:Memory)-[:SUPERSEDES {via: 'key'}]->(memory) } <> 1
    THEN 'its line is broken: a newer memory of the key does not lead to it' END,
  CASE WHEN on_line AND NOT replaced AND key IS NOT NULL AND COUNT { (key)-[:LATEST]->(memory) } <> 1
    THEN 'its line is broken: its key does not lead to it as the latest' END,
  CASE WHEN on_line AND key IS NOT NULL AND COUNT { (key)-[:CURRENT]->(memory) } <> CASE memory.status WHEN 'active' THEN 1 ELSE 0 END
    THEN 'its key says otherwise whether it is current' END
] AS found
UNWIND [each IN found WHERE each IS NOT NULL] AS problem
RETURN problem, memory.key AS key, memory.status AS status, labels(memory) AS labels, memory.title AS title, memory.id AS id
ORDER BY problem, key, id LIMIT 300

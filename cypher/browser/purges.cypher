// Purges: when, by whom, and how much is kept dead
// A purge leaves tombstones, which are keyed digests: they keep what was purged from coming back and say nothing of it. One row a receipt.
// $namespace. First: :param {namespace: 'default'}
MATCH (stone:Tombstone) USING INDEX SEEK stone:Tombstone(namespace, hash) WHERE stone.namespace = $namespace AND stone.hash >= ''
WITH stone.receipt AS receipt, max(stone.version) AS version, count(*) AS tombstones
RETURN toString(datetime({epochMillis: reduce(ms = 0, digit IN split(left(version, 12), '') |
         ms * 16 + size(split('0123456789abcdef', digit)[0]))})) AS at,
       head(COLLECT {
         MATCH (act:Memory) USING INDEX SEEK act:Memory(namespace, version) WHERE act.namespace STARTS WITH '~ledger/' AND act.version >= version AND act.kind = 'act'
           AND act.content CONTAINS '"what": "purge"' AND act.content CONTAINS receipt
         RETURN split(split(act.content, '"by": "')[1], '"')[0] ORDER BY act.version LIMIT 1
       }) AS by,
       tombstones, receipt
ORDER BY version DESC

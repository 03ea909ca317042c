// A page of the tombstones of a namespace, by the feed's number. $namespace, $limit; the place to go on from: $seq, $hash (-1 and '').
// Returns hash, version, secret, receipt, seq.
MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, seq) WHERE t.namespace = $namespace AND t.seq >= $seq
WITH t ORDER BY t.namespace, t.seq, t.hash
WHERE t.seq > $seq OR t.hash > $hash
WITH t LIMIT $limit
RETURN t.hash AS hash, t.version AS version, t.secret AS secret, t.receipt AS receipt, t.seq AS seq

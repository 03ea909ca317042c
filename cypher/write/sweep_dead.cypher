// Which of these the tombstones refuse. $namespace. rows: [{id, hashes, buried, stands_for}], as in write/remember. Returns id.
UNWIND $rows AS row
WITH row WHERE EXISTS { MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(namespace, hash)
  WHERE t.namespace = $namespace AND t.hash IN row.hashes AND (t.version >= row.stands_for OR t.hash IN row.buried) }
RETURN row.id AS id

// Operations of an unknown kind that name one of these ids, or all up to a version. $namespace, $quoted (ids as JSON texts),
// $version ('' for none). Returns foreign: how many were removed.
MATCH (o:ForeignOperation) USING INDEX SEEK o:ForeignOperation(namespace, op_id) WHERE o.namespace = $namespace AND o.op_id >= ''
  AND (o.version <= $version OR any(id IN $quoted WHERE o.payload CONTAINS id))
DETACH DELETE o
RETURN count(*) AS foreign

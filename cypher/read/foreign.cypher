// The kept operations of a namespace of kinds that the writer's build did not know. $namespace. Returns op_id, version, payload (JSON).
MATCH (o:ForeignOperation) USING INDEX SEEK o:ForeignOperation(namespace, op_id) WHERE o.namespace = $namespace AND o.op_id >= ''
RETURN o.op_id AS op_id, o.version AS version, o.payload AS payload ORDER BY version, op_id

// Operations of a kind that the writer's build did not know are kept whole.
CREATE CONSTRAINT foreign_id IF NOT EXISTS FOR (o:ForeignOperation) REQUIRE (o.namespace, o.op_id) IS UNIQUE

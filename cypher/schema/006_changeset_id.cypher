// A change-set leads to the memories that it changed.
CREATE CONSTRAINT changeset_id IF NOT EXISTS FOR (c:ChangeSet) REQUIRE (c.namespace, c.id) IS UNIQUE

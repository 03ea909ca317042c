// One counter a namespace; every write transaction ends with it.
CREATE CONSTRAINT feed_namespace IF NOT EXISTS FOR (f:Feed) REQUIRE f.namespace IS UNIQUE

// Feedback on a memory is a set.
CREATE CONSTRAINT feedback_id IF NOT EXISTS FOR (f:Feedback) REQUIRE (f.namespace, f.memory, f.id) IS UNIQUE

// Wait until every index can be used, at most 300 seconds.
CALL db.awaitIndexes(300)

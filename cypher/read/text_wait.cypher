// Wait until the full-text indexes hold what was committed before. Returns nothing.
CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()

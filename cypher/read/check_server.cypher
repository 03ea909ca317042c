// Which server this is. Returns version, edition, and clock: the server's time in milliseconds since 1970.
CALL dbms.components() YIELD name, versions, edition
WHERE name = 'Neo4j Kernel'
RETURN versions[0] AS version, edition, timestamp() AS clock

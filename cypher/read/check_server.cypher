// Which server this is. Returns version, edition, clock: the server's time in milliseconds since 1970, and aside: how many nodes a repair
// took out of the store.
CALL dbms.components() YIELD name, versions, edition
WHERE name = 'Neo4j Kernel'
RETURN versions[0] AS version, edition, timestamp() AS clock, COUNT { MATCH (:SetAside) } AS aside

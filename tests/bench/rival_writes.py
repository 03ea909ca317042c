"""The half of `neo4j_writes` that runs in a Python with mcp-neo4j-memory. Prints a rate and how many nodes there are, as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from mcp_neo4j_memory.neo4j_memory import Entity, Neo4jMemory  # type: ignore[import-not-found]
from neo4j import AsyncGraphDatabase


async def measure(
    uri: str, auth: list[str] | None, entities: int, writes: int, callers: int, names: int
) -> dict[str, Any]:
    """Fill the store in the shape its own writes have, then write as the callers would."""
    async with AsyncGraphDatabase.driver(uri, auth=tuple(auth) if auth else None) as driver:
        memory = Neo4jMemory(driver)
        await memory.create_fulltext_index()
        fill = "UNWIND $rows AS n CREATE (:Memory:fact {name: 'entity ' + n, type: 'fact', observations: ['fact number ' + n]})"
        for start in range(0, entities, 1000):
            await driver.execute_query(fill, {"rows": list(range(start, start + 1000))})
        todo = iter(range(writes))

        async def write(n: int) -> None:
            await memory.create_entities([Entity(name=f"name {n % names}", type="fact", observations=[f"value {n}"])])

        async def caller() -> None:
            for n in todo:
                await write(n)

        began = time.perf_counter()
        await asyncio.gather(*(caller() for _ in range(callers)))
        seconds = time.perf_counter() - began
        count = "MATCH (m:Memory) WHERE m.name STARTS WITH 'name ' RETURN count(m) AS n"
        nodes = (await driver.execute_query(count)).records[0]["n"]
        return {"rate": writes / seconds, "nodes": nodes}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(**json.loads(sys.argv[1])))))

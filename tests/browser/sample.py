"""A namespace with one of each case that people look at, written through Memory, over the last 200 days."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memgraph import Memory
from memgraph.backends.base import Backend
from memgraph.backends.neo4j.backend import Neo4jBackend
from tests.neo4j_server import Server

__all__ = ["CITY", "HOMES", "HOSTILE", "Days", "Sample", "days_ago", "fill", "on_server"]

CITY = "ada/city"
HOSTILE = "<script>alert('x')</script> \"quoted\" <b>&amp; 100%41 #1 a\\\\b"
HOMES = (
    ("Ada lives in Lisbon", None),
    ("Ada moved to Porto in March", "she corrected it"),
    ("Ada lives in Porto, Rua das Flores", "now with a street"),
    ("Ada is in Berlin for a while", "a new job"),
    ("Ada lives in Berlin for good", "she likes it there"),
)


class Days:
    """A clock that stands at a day of the past until it is moved."""

    def __init__(self, ago: float) -> None:
        self.at = time.time() - ago * 86400

    def __call__(self) -> float:
        self.at += 0.001  # no two writes at one instant
        return self.at

    def ago(self, days: float) -> None:
        """Move to so many days before now."""
        self.at = time.time() - days * 86400


def days_ago(days: float) -> datetime:
    """The time so many days before now."""
    return datetime.now(UTC) - timedelta(days=days)


@dataclass
class Sample:
    """ids: what each case is called here, and the memory's id. between: a time after the third of five homes."""

    namespace: str
    ids: dict[str, str]
    between: datetime
    receipt: str


def on_server(server: Server, namespace: str) -> Sample:
    """Write the sample to a server."""
    days = Days(200)
    return fill(Neo4jBackend(server.uri, auth=server.auth, timeout=20, clock=days), namespace, days)


def fill(backend: Backend, namespace: str, days: Days) -> Sample:
    """Write the sample to a store, whose clock is `days`, and close it."""
    with Memory(backend, namespace=namespace, clock=days) as memory:
        ids: dict[str, str] = {}
        between = datetime.now(UTC)
        for number, (content, reason) in enumerate(HOMES, 1):
            days.ago((190, 150, 110, 80, 65)[number - 1])
            ids[f"home {number}"] = memory.remember(
                content, key=CITY, reason=reason, subject="ada", actor="ada", session=f"s-{100 + number}", trust="user"
            ).id
            if number == 3:
                between = days_ago(95)
        days.ago(60)
        ids["over"] = memory.remember(
            "Ada lived in Coimbra as a student",
            key=CITY,
            subject="ada",
            valid_from=days_ago(4000),
            valid_to=days_ago(3000),
        ).id
        ids["tea"] = memory.remember(
            "Prefers green tea to coffee", key="ada/drink", kind="preference", subject="ada"
        ).id
        ids["oolong"] = memory.remember(
            "Prefers oolong tea, none after 16:00", key="ada/drink", kind="preference", subject="ada", reason="said so"
        ).id
        ids["phone"] = memory.remember("Ada's phone number is on file", key="ada/phone", subject="ada").id
        days.ago(59)
        memory.forget(ids["phone"], reason="she asked for it")
        days.ago(50)
        ids["holiday"] = memory.remember(
            "Ada is on holiday until Friday", key="ada/holiday", subject="ada", ttl=timedelta(days=10)
        ).id
        ids["plan"] = memory.remember("Planned the move to Berlin", kind="episode", session="s-104", actor="ada").id
        ids["flats"] = memory.remember(
            "Compared three flats in Berlin", kind="episode", session="s-104", actor="bob"
        ).id
        ids["lesson"] = memory.remember("Ask for the time zone first", kind="lesson", source="reflection").id
        memory.relate(ids["plan"], ids["home 4"], "concerns")
        memory.relate(ids["plan"], ids["flats"], "led_to", note="the same evening")
        memory.relate(ids["lesson"], ids["plan"], "derived_from", weight=0.7)
        days.ago(40)
        ids["draft"] = memory.remember("Ada wants a flat with two rooms", subject="ada").id
        ids["final"] = memory.remember("Ada wants a flat with three rooms", subject="ada").id
        memory.supersede(ids["draft"], ids["final"], reason="a child is on the way")
        ids["spam"] = memory.remember("Buy cheap watches online", source="web", trust="external").id
        days.ago(30)
        memory.release("cheap watches", reason="spam")
        ids["name"] = memory.remember("Ada's full name is Ada Byron", key="ada/name", subject="ada").id
        memory.forget(ids["name"], reason="by mistake")
        days.ago(20)
        ids["name again"] = memory.restore(ids["name"], reason="it was a mistake").id
        memory.remember("Ada's bank account is 12-34", key="ada/bank")
        ids["script"] = memory.remember(HOSTILE, key=HOSTILE, reason=HOSTILE).id
        ids["script again"] = memory.remember(HOSTILE + "!", key=HOSTILE, reason=HOSTILE).id
        ids["wide"] = memory.remember("エイダは毎朝、近くの公園を三十分ほど走っています。", subject="ada").id
        days.ago(0.5)
        receipt = memory.purge({"key": "ada/bank"}, by="carol")
        ids["today"] = memory.remember("Ada starts at the new office on Monday", subject="ada", actor="ada").id
        memory.forget(ids["flats"], reason="no longer needed")
    return Sample(namespace, ids, between, receipt.id)

"""Random sets of operations for the property tests, small enough that their parts meet often."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from memgraph.operations import (
    Operation,
    Origin,
    Purge,
    Reinforce,
    Relate,
    Remember,
    Restore,
    Retire,
    Supersede,
    Unrelate,
)
from tests.oracle import Oracle

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
STEP = timedelta(seconds=1)
KINDS = ("remember",) * 6 + ("purge",) * 3 + ("copy", "supersede", "retire", "relate") * 2
KINDS += ("restore", "unrelate", "reinforce")


def version(step: int, writer: int = 0) -> str:
    """The version of the step-th operation."""
    ms = int((BEGIN + step * STEP).timestamp() * 1000)
    return f"{ms:012x}-0000-{writer:08x}"


def instant(step: float) -> datetime:
    """When the step-th operation was recorded."""
    return BEGIN + step * STEP


def remember(step: int, namespace: str, id: str, **values: Any) -> Remember:
    """A memory with something in every field that must survive a trip through a store."""
    values = {
        "version": version(step, step % 3),
        "kind": ("fact", "preference")[step % 2],
        "title": f"title {step}",
        "tags": ("a", f"t{step}"),
        "aliases": (f"also {step}",),
        "metadata": {"n": step, "deep": {"list": [None, True, 0.5, "x"]}},
        "confidence": 0.25 + step % 3 / 4,
        "pinned": step % 4 == 0,
        "reason": f"because {step}",
        **values,
    }
    op_id = f"op-{id}-{values['version']}"
    return Remember(op_id=op_id, namespace=namespace, id=id, content=f"content {step}", **values)


def validity(step: int) -> st.SearchStrategy[dict[str, Any]]:
    """When a memory is true: from before or after it is recorded, or from then; to the past, to the future, or open."""
    begin = st.sampled_from((None, None, instant(step - 5), instant(step - 2), instant(step + 3)))
    end = st.sampled_from((None, None, None, instant(-90), instant(step + 2), instant(step + 7)))
    return st.fixed_dictionaries({"valid_from": begin, "valid_to": end})


@st.composite
def lines(draw: st.DrawFn, namespace: str, key: str) -> list[Operation]:
    """One key's versions, each true at some time, some of them retired."""
    found: list[Operation] = []
    for step in range(draw(st.integers(2, 7))):
        found.append(remember(step, namespace, f"m{step}", key=key, **draw(validity(step))))
        if draw(st.integers(0, 4)) == 0:
            stamp = version(step + 1, 200)
            found.append(Retire(op_id=stamp, namespace=namespace, version=stamp, id=f"m{step}", cause="forgotten"))
    return found


@st.composite
def operation_sets(draw: st.DrawFn, namespaces: tuple[str, str] = ("x", "y"), max_size: int = 24) -> list[Operation]:
    """Operations in version order, over two namespaces that share ids; up to two are missing, as if on their way."""
    made: list[Remember] = []
    found: list[Operation] = []
    for step in range(draw(st.integers(4, max_size))):
        ns = draw(st.sampled_from((namespaces[0], namespaces[0], namespaces[1])))
        mine = [memory for memory in made if memory.namespace == ns]
        kind = draw(st.sampled_from(KINDS)) if mine else "remember"
        head: dict[str, Any] = {"op_id": f"op-{ns}-{step}", "namespace": ns, "version": version(step, step % 3)}

        def one(among: list[Remember] = mine) -> Remember:
            return draw(st.sampled_from(among))

        if kind == "remember":
            memory = remember(
                step,
                ns,
                draw(st.sampled_from((f"m{step}", f"m{step}", f"m{len(mine)}-shared"))),
                key=draw(st.sampled_from(("k", "k", "k", "j", None))),
                subject=draw(st.sampled_from((None, None, "ann"))),
                session=draw(st.sampled_from((None, None, "s1"))),
                actor=draw(st.sampled_from((None, None, "bob"))),
                source=draw(st.sampled_from(("agent", "chat", "tool"))),
                **draw(validity(step)),
            )
            if any(other.id == memory.id for other in mine):
                continue
            made.append(memory)
            found.append(memory)
        elif kind == "copy":
            origin = one()
            root = origin.restores or Origin(id=origin.id, version=origin.version)
            copy = origin.model_copy(update={**head, "id": f"copy{step}", "restores": root})
            made.append(copy)
            found.append(copy)
        elif kind == "supersede":
            a, b = one(), one()
            found.append(
                Supersede(**head, new_id=a.id, new_version=a.version, old_id=b.id, old_version=b.version, reason="r")
            )
        elif kind == "retire":
            cause = draw(st.sampled_from(("forgotten", "released", "pruned")))
            found.append(Retire(**head, id=one().id, cause=cause))
        elif kind == "restore":
            found.append(Restore(**head, id=one().id))
        elif kind == "relate":
            weight = draw(st.sampled_from((0.5, 1.0)))
            found.append(Relate(**head, a=one().id, b=one().id, type="knows", weight=weight, note=f"note {step}"))
        elif kind == "unrelate":
            found.append(Unrelate(**head, a=one().id, b=one().id, type="knows"))
        elif kind == "reinforce":
            signal = draw(st.sampled_from((-1.0, 0.5, 1.0)))
            feedback_id = draw(st.sampled_from(("f1", "f2", f"f{step}")))
            found.append(Reinforce(**head, id=one().id, feedback_id=feedback_id, signal=signal))
        else:
            memory = one()
            field = draw(
                st.sampled_from(("id", "id", "id", "key", "subject", "session", "actor", "source", "namespace"))
            )
            value = getattr(memory, field)
            if value:
                heads = ((memory.key, memory.version),) if memory.key else ()
                found.append(Purge(**head, field=field, value=value, heads=heads))
    missing = draw(st.sets(st.integers(0, len(found) - 1), max_size=2)) if len(found) > 3 else ()
    return [op for n, op in enumerate(found) if n not in missing]


@st.composite
def arrivals(draw: st.DrawFn, operations: list[Operation]) -> list[list[Operation]]:
    """The same operations in another order, some of them twice, in chunks."""
    again = draw(st.lists(st.sampled_from(operations), max_size=len(operations)))
    order = draw(st.permutations(operations + again))
    size = draw(st.sampled_from((1, 2, 5, 1000)))
    return [order[at : at + size] for at in range(0, len(order), size)]


def probes(operations: list[Operation], steps: int = 64) -> list[Operation]:
    """Late writes that show which tombstones are held: around each purge, below each slot, for each dead id."""
    found: list[Operation] = []
    at = {version(step, step % 3): step for step in range(steps)}
    for n, op in enumerate(operations):
        if not isinstance(op, Purge):
            continue
        step = at[op.version]
        if op.field != "id":
            value = {} if op.field == "namespace" else {op.field: op.value}
            for late in (version(step - 1, 100 + n), op.version, version(step + 1, 100 + n)):
                found.append(remember(step, op.namespace, f"late-{n}-{late}", version=late, **value))
        for key, newest in op.heads:
            late = version(at[newest] - 1, 200 + n)
            found.append(remember(step, op.namespace, f"slot-{n}-{key}", version=late, key=key))
    dead = sorted(Oracle(operations).buried)
    found.extend(remember(steps + n, ns, id, version=version(steps + n, n)) for n, (ns, id) in enumerate(dead))
    return found


def moved(operations: list[Operation], namespaces: dict[str, str]) -> list[Operation]:
    """The same operations in other namespaces."""
    found = []
    for op in operations:
        values = {"namespace": namespaces[op.namespace], "op_id": f"{namespaces[op.namespace]} {op.op_id}"}
        if isinstance(op, Purge) and op.field == "namespace":
            values["value"] = namespaces[op.value]
        found.append(op.model_copy(update=values))
    return found

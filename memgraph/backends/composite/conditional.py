"""Writes under a condition, which the primary alone can judge: it writes first, and what it did is done here."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from memgraph.backends.base import Draft, Scope
from memgraph.errors import ConflictError, StoreFullError, StoreLockedError, UnavailableError
from memgraph.models import Entry
from memgraph.operations import Operation, Remember, Unknown, says_the_same

if TYPE_CHECKING:
    from memgraph.backends.composite.backend import CompositeBackend

__all__ = ["write"]

_SLOW_WAY: Final = 5  # deadlines for a server that is there: a way may be slow; locks of others end by then or last
_AT_ONCE: Final = 100  # memories for which there is a deadline more


def write(whole: CompositeBackend, drafts: Sequence[Draft]) -> list[Entry | str]:
    """Ask the primary, which alone can know whether a condition holds; then do here what it did."""
    until = time.monotonic() + whole.deadline
    ids = [draft.operation.id for draft in drafts if isinstance(draft.operation, Remember)]
    paths = tuple(dict.fromkeys(draft.operation.namespace for draft in drafts))
    for path in paths:
        whole.link.follow(path)
    whole.link.complain()
    if not whole.link.breaker.closed or whole.link.in_doubt:  # somebody has waited for it already
        raise _unjudged(whole)
    for path in paths:
        if whole.link.outbox.is_unsent(path):  # what was here before there was a primary counts as ours
            _pull(whole, [path])
        scope = Scope(path)
        if not whole.link.wait(whole.link.outbox.newest(scope), scope, max(0.0, until - time.monotonic())):
            whole.link.complain()
            raise UnavailableError(
                "earlier writes have not reached the primary yet, so the condition cannot be judged; nothing was written",
                hint="Try again later.",
            )
    if whole.link.drift is None:  # it was never in touch: what cannot be sent is not in doubt
        try:
            whole.link.look_at_clock()
        except UnavailableError as error:
            whole.reading.failed(error)
            raise _unjudged(whole) from None
    try:
        with whole.primary.within(whole.deadline):
            lost = any(whole.link.puller.has_lost(whole.primary, path) for path in paths)
    except UnavailableError as error:
        whole.reading.failed(error)
        raise _unjudged(whole) from None
    if lost:
        whole.link.pull_soon()
        raise UnavailableError(
            "the primary lacks what it had, and gets it again; until then no condition can be judged; nothing was written",
            hint="Try again soon, or after `memgraph sync`.",
        )
    whole.link.couple()
    try:
        with whole.primary.within(whole.deadline * (_SLOW_WAY + len(drafts) / _AT_ONCE)):
            results = whole.primary.write(drafts)
    except UnavailableError as error:
        whole.reading.failed(error)
        found = UnavailableError(
            f"{error}; whether it was written is not known (id {', '.join(ids)})",
            hint="Repeat it with the same id: what was written is found by that.",
        )
        raise found from None
    except ConflictError:
        _pull(
            whole, {draft.operation.namespace for draft in drafts}
        )  # whoever reads anew is to see what the condition met
        raise
    done: list[Operation | Unknown] = []
    others: set[str] = set()
    for draft, result in zip(drafts, results, strict=True):
        if not result:
            continue
        stamped = draft.operation.stamped(result.version if isinstance(result, Entry) else result)
        if isinstance(stamped, Remember) and isinstance(result, Entry) and not says_the_same(stamped, result):
            others.add(stamped.namespace)
        else:
            done.append(stamped)
    try:
        whole.local.receive(done, [], lambda *_: None)
    except (StoreFullError, StoreLockedError, UnavailableError):
        whole.link.pull_soon()  # it is written, so that an error would be untrue
        return [
            each.model_copy(update={"stored_on": (whole.primary.name,)}) if isinstance(each, Entry) else each
            for each in results
        ]
    _pull(whole, others)  # the id was there already, with other attributes: take them from where they are
    return [whole.on_both(result) for result in results]


def _unjudged(whole: CompositeBackend) -> UnavailableError:
    return UnavailableError(
        f"a condition can be judged by {whole.primary.where} alone, which cannot be reached; nothing was written",
        hint="Try again later, or write without a condition.",
    )


def _pull(whole: CompositeBackend, paths: Iterable[str]) -> None:
    for path in paths:
        try:
            whole.link.pull(path, whole.deadline)
        except (StoreFullError, StoreLockedError):
            whole.link.pull_soon()
        except UnavailableError as error:  # the next pull brings it
            whole.reading.failed(error)

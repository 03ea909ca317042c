"""Commands for those who answer for a store: hold and audit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from memgraph.cli.call import Call, pass_call, verb
from memgraph.cli.options import build, by_option, reason_option, selector_options, subtree_option, yes_option
from memgraph.cli.output import facts, when
from memgraph.views.plain import escape

if TYPE_CHECKING:
    from memgraph.models import Act, Hold


@verb(
    "hold",
    "memgraph hold add --subject ada --reason 'case 17'",
    "memgraph hold list",
    "memgraph hold lift HOLD-ID --yes",
)
@click.argument("action", type=click.Choice(("add", "list", "lift", "remove")))
@click.argument("id", required=False)
@selector_options
@subtree_option
@reason_option
@by_option
@yes_option
@pass_call
def hold_command(
    call: Call,
    action: str,
    id: str | None,
    selector: dict[str, Any],
    subtree: bool,
    reason: str | None,
    by: str | None,
    yes: bool,
) -> None:
    """Put, list or lift legal holds.

    What a hold selects, now or later, cannot be purged, released, rewound or pruned. lift (or remove): the memories stay;
    the hold's own words for them are deleted with it.
    """
    if (id is not None) != (action in ("lift", "remove")):
        raise click.UsageError("Give the ID of a hold to lift, and to nothing else.")
    if action != "add" and (selector or subtree or reason):
        raise click.UsageError("What a hold selects, --subtree and --reason go with add.")
    memory = call.memory()
    if action == "list":
        holds = memory.holds()
        call.show(holds, lambda: _hold_lines(holds) if holds else ["no legal hold"])
    elif action == "add":
        if not selector:
            raise click.UsageError("Say what to hold; for all of the namespace, --everything.")
        from memgraph.models import Selector

        hold = memory.hold(build(Selector, selector), subtree=subtree, reason=reason, by=by)
        call.show(hold, lambda: _hold_lines([hold]))
    else:
        assert id is not None
        call.confirm(f"lift the legal hold {id}", yes=yes)
        lifted = memory.lift_hold(id, by=by)
        call.show(lifted, lambda: [f"lifted {escape(lifted.id)}"])


def _hold_lines(holds: list[Hold]) -> Iterator[str]:
    for hold in holds:
        yield escape(hold.id)
        selected = hold.selector.model_dump(mode="json", exclude_defaults=True)
        yield from facts(
            (
                ("selects", selected),
                ("namespace", hold.namespace + (" and below" if hold.subtree else "")),
                ("by", hold.by),
                ("since", hold.since),
                ("reason", hold.reason),
            )
        )


@verb("audit", "memgraph audit", "memgraph audit --subtree --json")
@subtree_option
@pass_call
def audit_command(call: Call, subtree: bool) -> None:
    """List who did what to the namespace, and when.

    Purges with their receipts, holds and imports; what was forgotten, released, pruned, rewound, undone and restored, each
    with the change-set that `undo` takes back; and backups that were put in the place of the store. It holds no content.
    """
    memory = call.memory()
    acts = memory.audit(subtree=subtree)
    call.show(acts, lambda: (_act_line(act, memory.path) for act in acts) if acts else ["nothing was done"])
    call.degraded(memory.degraded)


def _act_line(act: Act, namespace: str) -> str:
    details = dict(act.details)
    tokens = details.pop("tokens", None)
    if tokens:
        details["replaced already"] = len(tokens)
    receipt = details.pop("receipt", None)
    if receipt is not None:
        became = [name for name in ("scrubbed", "pending", "refused") if name in details]
        since: dict[str, Any] = {name: "yes" if details.pop(name) else "no" for name in became}
        details = {"receipt": receipt["id"], "memories": receipt["removed"].get("memories", 0), **since, **details}
    told = ", ".join(f"{name}: {value}" for name, value in details.items())
    where = "" if act.namespace == namespace else f"  in {escape(act.namespace)}"
    return f"{when(act.at)}  {act.what}{where}  {escape(told)}" + (f"  by {escape(act.by)}" if act.by else "")

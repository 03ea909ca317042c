"""Commands that delete for good: plan-purge, purge."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from memgraph.cli.call import NOT_FOUND, PARTIAL, Call, is_terminal, pass_call, verb
from memgraph.cli.files import check_free, force_option, write_file
from memgraph.cli.options import build, by_option, selector_options, subtree_option, yes_option
from memgraph.cli.output import facts
from memgraph.views.plain import escape

if TYPE_CHECKING:
    from memgraph.models import PurgePlan, PurgeReceipt


@verb("plan-purge", "memgraph plan-purge --subject ada --out plan.json", "memgraph plan-purge --text 'Rua Nova 7'")
@selector_options
@subtree_option
@click.option("--out", type=click.Path(dir_okay=False, writable=True), help="Write the plan to this file, for `purge`.")
@force_option
@pass_call
def plan_purge_command(call: Call, selector: dict[str, Any], subtree: bool, out: str | None, force: bool) -> None:
    """Show what a purge would delete, without deleting. The plan holds ids and counts, but no content."""
    _check_out(call, out, force)
    plan = _plan(call, selector, subtree)
    if out:
        write_file(Path(out), plan.model_dump_json(indent=2).encode() + b"\n")
        call.note(f"{out} names what it selects by, but no text: delete it when it was carried out")
    call.show(plan, lambda: _plan_lines(plan))
    _show_sample(call, plan)


@verb(
    "purge",
    "memgraph purge --key ada/city --yes",
    "memgraph purge --id ID --lineage",
    "memgraph purge --apply plan.json --yes --out receipt.json",
    "memgraph purge verify receipt.json --subject ada --grep 'Rua Nova 7'",
)
@click.argument("action", type=click.Choice(("verify",)), required=False)
@click.argument("receipt_file", metavar="[RECEIPT]", required=False, type=click.Path(exists=True, dir_okay=False))
@selector_options
@subtree_option
@click.option(
    "--apply",
    "--plan",
    "plan_file",
    type=click.Path(exists=True, dir_okay=False),
    help="Do what this plan says; with --text if one made it.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@click.option("--out", type=click.Path(dir_okay=False, writable=True), help="Write the receipt to this file.")
@force_option
@by_option
@click.option(
    "--key-file",
    envvar="MEMGRAPH_SIGNING_KEY",
    type=click.Path(exists=True, dir_okay=False),
    help="Sign the receipt with this Ed25519 key (PEM); for verify: the public one. [MEMGRAPH_SIGNING_KEY]",
)
@click.option(
    "--grep",
    "texts",
    multiple=True,
    metavar="TEXT",
    help="For verify: look for it in every byte of the files, and in what a server holds.",
)
@yes_option
@pass_call
def purge_command(
    call: Call,
    action: str | None,
    receipt_file: str | None,
    selector: dict[str, Any],
    subtree: bool,
    plan_file: str | None,
    dry_run: bool,
    out: str | None,
    force: bool,
    by: str | None,
    key_file: str | None,
    texts: tuple[str, ...],
    yes: bool,
) -> None:
    """Delete memories for good, active or not, in every copy.

    It prints a receipt. Exit code 6 if a part is still to be done, such as on a primary that is away, or an id was not there,
    3 if none of the ids was; what arrives late under such an id is refused.
    verify: look once more whether what a receipt is of is gone; exit code 1 if something was found.
    """
    if action is not None:
        if receipt_file is None or plan_file or dry_run or out or force or subtree:
            raise click.UsageError("verify takes a receipt, what was selected, --grep and --key-file.")
        _verify(call, Path(receipt_file), selector, texts, key_file)
        return
    if texts:
        raise click.UsageError("--grep goes with verify.")
    if plan_file and (selector.keys() - {"text"} or subtree):
        raise click.UsageError(
            "A plan says already what to purge; leave out the other options, but the --text it was made by."
        )
    _check_out(call, out, force)
    plan = _read_plan(Path(plan_file), selector.get("text")) if plan_file else _plan(call, selector, subtree)
    unknown = sorted(set(plan.selector.ids) - set(itertools.chain(*plan.ids.values())))
    if dry_run:
        call.show(plan, lambda: _plan_lines(plan))
        _show_sample(call, plan)
        call.note("nothing was changed")
        return
    if not yes:
        for line in _plan_lines(plan):
            call.note(line)
        _show_sample(call, plan)
    below = f" here and below ({', '.join(sorted(plan.ids)[:_SAMPLE])})" if plan.subtree else ""
    call.confirm(f"purge {plan.total} memories{below} for good", yes=yes)
    if key_file:  # what cannot be used is found out before anything is deleted
        from memgraph.receipts import require_key

        require_key(Path(key_file))
    receipt = call.memory().purge(plan, by=by)
    if key_file:
        from memgraph.receipts import sign

        receipt = sign(receipt, Path(key_file))
    try:
        if out:
            write_file(Path(out), receipt.model_dump_json(indent=2).encode() + b"\n")
    finally:  # what was deleted cannot be deleted once more for the sake of its receipt
        call.show(receipt, lambda: _receipt_lines(receipt, unknown))
    if plan_file:
        call.note(f"the plan in {plan_file} names what was purged: delete it")
    if unknown:
        call.note(f"not there, and refused from now on: {', '.join(unknown)}")
        if plan.total == 0:
            click.get_current_context().exit(NOT_FOUND)
    if unknown or receipt.pending or (not receipt.scrubbed and call.memory().status().scrub_pending):
        click.get_current_context().exit(PARTIAL)


_SAMPLE: Final = 5  # memories that are shown before they are purged


def _check_out(call: Call, out: str | None, force: bool) -> None:
    if out:
        check_free(call, Path(out), force=force)
    elif force:
        raise click.UsageError("--force goes with --out.")


def _show_sample(call: Call, plan: PurgePlan) -> None:
    """Some of what would go, for a person at a terminal; content never goes to a file or a pipe."""
    if call.as_json or call.quiet or not is_terminal(sys.stderr):
        return
    memory, shown = call.memory(), 0
    for path, id in itertools.islice(((path, id) for path, ids in plan.ids.items() for id in ids), _SAMPLE):
        entry = memory.backend.get(path, [id], plan.at).get(id)
        if entry is not None:
            call.note(f"  {path}  {id}  {entry.content[:80]}")
            shown += 1
    if plan.total > shown:
        call.note(f"  and {plan.total - shown} more")


def _verify(call: Call, path: Path, selector: dict[str, Any], texts: tuple[str, ...], key_file: str | None) -> None:
    from memgraph import receipts
    from memgraph.models import Selector

    receipt = receipts.read(path.read_bytes())
    signed = None if key_file is None else receipts.is_signed_by(receipt, Path(key_file))
    chosen = build(Selector, selector) if selector else None
    check = call.memory().verify_purge(receipt, chosen, texts)

    def lines() -> Iterator[str]:
        verdict = "nothing is left" if check.ok else "something is left"
        yield f"{verdict} of what receipt {escape(check.receipt)} is of"
        yield from facts(
            (
                ("looked at", check.looked_at),
                ("found", check.found),
                ("tombstones in force", check.tombstones),
                ("signature", _verdict(signed, receipt)),
                ("not looked at", check.not_reached),
            )
        )

    call.show(check.model_dump(mode="json") | {"signed": signed}, lines)
    if not check.ok or signed is False:
        click.get_current_context().exit(1)


def _verdict(signed: bool | None, receipt: PurgeReceipt) -> str | None:
    if receipt.signature is None:
        return None if signed is None else "none: the receipt is not signed"
    if signed is None:
        return "not looked at: name the key with --key-file"
    return "good" if signed else "not by this key"


def _plan(call: Call, selector: dict[str, Any], subtree: bool) -> PurgePlan:
    from memgraph.models import Selector

    if not selector:
        raise click.UsageError("Say what to purge; for all of the namespace, --everything.")
    return call.memory().plan_purge(build(Selector, selector), subtree=subtree)


def _read_plan(path: Path, text: str | None) -> PurgePlan:
    from memgraph.receipts import read_plan
    from memgraph.rules.selection import require_intact

    plan = read_plan(path.read_bytes())
    plan = plan if text is None else plan.with_text(text)
    require_intact(plan)
    return plan


def _plan_lines(plan: PurgePlan) -> Iterator[str]:
    yield f"{plan.total} memories would be deleted from {escape(plan.store)}"
    yield from facts(
        (
            ("namespaces", {namespace: len(ids) for namespace, ids in plan.ids.items()}),
            ("by kind", plan.by_kind),
            ("by status", plan.by_status),
            ("by store", plan.by_store),
            ("digest", plan.digest),
        )
    )


def _receipt_lines(receipt: PurgeReceipt, unknown: list[str]) -> Iterator[str]:
    yield f"purged from {escape(receipt.store)}"
    yield from facts(
        (
            ("receipt", receipt.id),
            ("at", receipt.at),
            ("namespaces", receipt.namespaces),
            ("removed", receipt.removed),
            ("removed before", receipt.removed_before or None),
            ("tombstones", receipt.tombstones),
            ("files scrubbed", None if "://" in receipt.store.partition(" with ")[0] else receipt.scrubbed),
            ("not reached", receipt.not_reached),
            ("ids not there", tuple(unknown)),
        )
    )

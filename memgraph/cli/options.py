"""What the commands take: times, durations, JSON, conditions, and the options that choose memories."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import click

from memgraph.errors import InvalidInputError

__all__ = [
    "DURATION",
    "INSTANT",
    "JSON_OBJECT",
    "STATUSES",
    "TRUSTS",
    "build",
    "by_option",
    "condition",
    "filter_options",
    "given",
    "instant",
    "reason_option",
    "strict_json",
    "subtree_option",
    "yes_option",
]

STATUSES: Final = ("active", "superseded", "forgotten", "released", "pruned", "expired", "any")
TRUSTS: Final = ("system", "user", "agent", "external")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_CONDITION: Final = re.compile(r"(?P<field>[^=!<>~?]+)(?P<op>!=|<=|>=|=|<|>|~|\?)(?P<value>.*)\Z", re.DOTALL)
_OPERATORS: Final = {
    "=": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "~": "contains",
    "?": "exists",
}
F = TypeVar("F", bound=Callable[..., Any])


def instant(text: str) -> datetime:
    """A time in ISO 8601 with its zone, or "now". Raises ValueError with what to write instead."""
    if text == "now":
        return datetime.now(UTC)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no time; write it as 2026-05-01T12:00:00Z") from None
    if found.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; write it as 2026-05-01T12:00:00Z or with +02:00")
    return found


def duration(text: str) -> timedelta:
    """A length of time: `90s`, `15m`, `12h`, `30d`, `2w`, or seconds. Raises ValueError with what to write instead."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw]?)", text)
    try:
        return timedelta(seconds=float(match[1]) * _UNITS[match[2] or "s"] if match else math.inf)
    except (OverflowError, ValueError):
        raise ValueError(f"{text!r} is no duration; write 90s, 15m, 12h, 30d or 2w") from None


def json_object(text: str) -> dict[str, Any]:
    """A JSON object. Raises ValueError with what to write instead."""
    try:
        found = strict_json(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError('must be a JSON object, such as {"name": "value"}')  # noqa: TRY004 - of the text, not the type
    return found


def strict_json(text: str) -> Any:
    """JSON as the standard has it: no NaN and no Infinity. Raises ValueError."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def condition(text: str) -> dict[str, Any]:
    """A metadata condition: `city=Porto`, `size>=3`, `city!=Porto`, `tags~red` (contains), `city?` (is there), or JSON.

    A value that is JSON is taken as such, any other as text: `n=1` is the number, `n="1"` the text. Raises ValueError.
    """
    if text.startswith("{"):
        found: dict[str, Any] = strict_json(text)
        return found
    match = _CONDITION.match(text)
    if not match or (match["op"] == "?" and match["value"]):
        raise ValueError(f"{text!r} is no condition; write name=value, name>=3, name~part or name?")
    if match["op"] == "?":
        return {"field": match["field"], "op": "exists", "value": True}
    try:
        value = strict_json(match["value"])
    except ValueError:
        value = match["value"]
    return {"field": match["field"], "op": _OPERATORS[match["op"]], "value": value}


def _type(name: str, convert: Callable[[str], Any]) -> Callable[[Any], Any]:
    """A conversion as a click type: what it refuses is told with its own words."""

    def converted(value: Any) -> Any:
        try:
            return convert(value) if isinstance(value, str) else value
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    converted.__name__ = name
    return converted


INSTANT: Final = _type("time", instant)
DURATION: Final = _type("duration", duration)
JSON_OBJECT: Final = _type("json", json_object)


_FILTERS: Final = (
    click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Of this kind; may be given again."),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="With this tag; given again, with all of them."),
    click.option("--subject", metavar="NAME", help="About this subject."),
    click.option("--session", metavar="NAME", help="From this session."),
    click.option("--actor", metavar="NAME", help="Said by this actor."),
    click.option("--source", metavar="NAME", help="From this source."),
    click.option("--trust", multiple=True, type=click.Choice(TRUSTS), help="Vouched for by these."),
    click.option("--pinned/--not-pinned", default=None, help="Pinned ones only, or the others."),
    click.option("--status", multiple=True, type=click.Choice(STATUSES), help="With these statuses; `any` is all."),
    click.option("--since", type=INSTANT, help="Recorded then or later, such as 2026-05-01T12:00:00Z."),
    click.option("--until", type=INSTANT, help="Recorded then or before."),
    click.option(
        "--where",
        multiple=True,
        type=_type("condition", condition),
        help="A metadata condition: city=Porto, size>=3, city!=Porto, list~item, name?.",
    ),
)
_NAMES: Final = (
    "kinds",
    "tags",
    "subject",
    "session",
    "actor",
    "source",
    "trust",
    "pinned",
    "status",
    "since",
    "until",
    "where",
)


def filter_options(function: F) -> F:
    """Add the options that choose memories; the command gets those that were given as one mapping `filters`."""

    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> Any:
        filters = given(**{name: kwargs.pop(name) for name in _NAMES})
        if "any" in filters.get("status", ()):
            filters["status"] = "any"
        return function(*args, filters=filters, **kwargs)

    for option in reversed(_FILTERS):
        command = option(command)
    return command  # type: ignore[return-value]


subtree_option: Final = click.option("--subtree", is_flag=True, help="The namespace's descendants too.")
reason_option: Final = click.option("--reason", metavar="TEXT", help="Why; it is kept with the change.")
by_option: Final = click.option("--by", metavar="NAME", help="Who does it, for the audit; else the system's user.")
yes_option: Final = click.option("--yes", is_flag=True, help="Do it without being asked.")


def given(**values: Any) -> dict[str, Any]:
    """Those of the values that were given on the command line, so that what was left out keeps its default."""
    return {name: value for name, value in values.items() if value is not None and value != ()}


def build(model: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Make a value of a model. Raises InvalidInputError naming the field, without repeating what was given."""
    from pydantic import ValidationError

    try:
        return model(**values)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = str(first["loc"][0]) if first["loc"] else ""
        message = re.sub(rf"^Value error, (?:{re.escape(field)}: )?", "", first["msg"])
        raise InvalidInputError(message, field=field) from None


def selector_options(function: F) -> F:
    """Add the options of a purge's selector; the command gets them as one mapping `selector`."""

    @filter_options
    @click.option("--id", "ids", multiple=True, metavar="ID", help="This memory; may be given again.")
    @click.option("--key", metavar="KEY", help="Every version of this key.")
    @click.option("--text", metavar="TEXT", help="Whose content holds just this text, upper and lower case alike.")
    @click.option("--lineage", is_flag=True, help="The whole line of each match too.")
    @click.option("--everything", is_flag=True, help="Every memory of the namespace.")
    @functools.wraps(function)
    def command(
        *args: Any,
        filters: dict[str, Any],
        ids: tuple[str, ...],
        key: str | None,
        text: str | None,
        lineage: bool,
        everything: bool,
        **kwargs: Any,
    ) -> Any:
        chosen = given(ids=ids, key=key, text=text, lineage=lineage or None, everything=everything or None)
        return function(*args, selector={**filters, **chosen}, **kwargs)

    return command  # type: ignore[return-value]

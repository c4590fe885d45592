"""Options that ``refengine migrate check`` shares with the audit of one subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from compat.cli.command import (
    REACH_PART,
    WORLDS_PART,
    option,
)
from compat.cli.values import PATH, RELATION, Kind, at_least, one_of
from compat.migration.options import (
    ALL,
    EXAMPLES,
    SIDE_DOORS,
    TIMEOUT,
    Reach,
    address,
    variable,
)
from compat.verdicts.relations import DEFAULT_RELATION, RELATIONS

if TYPE_CHECKING:
    from rich.text import Text

    from compat.migration.subject_runner import CheckOptions

F = TypeVar("F", bound=Callable[..., int])

REQUIRE: Final = option(
    "--require",
    about=f"what has to hold: {', '.join(RELATIONS)} [default: {DEFAULT_RELATION}]",
    kind=RELATION,
)
WORLDS: Final = option(
    "--worlds",
    about="sessions of your own: chats, spans, scenarios, cassettes, a corpus",
    kind=PATH,
    multiple=True,
    part=WORLDS_PART,
)
TOOLS: Final = option(
    "--tools",
    about="your tools as JSON schemas (OpenAI, Anthropic, MCP)",
    kind=PATH,
    multiple=True,
    part=WORLDS_PART,
)
GENERATED: Final = option(
    "--examples",
    about="generated worlds",
    kind=at_least(1),
    default=EXAMPLES,
    part=WORLDS_PART,
)
SEED: Final = option(
    "--seed",
    about="of the generated worlds",
    kind=at_least(0),
    default=0,
    part=WORLDS_PART,
)
SECONDS: Final = option(
    "--timeout",
    about="seconds a world may take on one side",
    kind=at_least(0.01),
    default=TIMEOUT,
    part=WORLDS_PART,
)


def reaching(check: F) -> F:
    """Add what a subject may see and use of the machine: its parameter ``reach``."""

    @option(
        "--net",
        about="let a session's code use this socket; all others are refused",
        kind=Kind("host:port", address),
        multiple=True,
        part=REACH_PART,
    )
    @option(
        "--env",
        about="give the sides this variable of the environment; '*' gives all",
        kind=Kind("NAME", variable),
        multiple=True,
        part=REACH_PART,
    )
    @option(
        "--side-doors",
        about="whose log records, warnings and prints are compared",
        kind=one_of(*SIDE_DOORS),
        default=SIDE_DOORS[0],
        part=REACH_PART,
    )
    @wraps(check)
    def reached(
        *,
        net: tuple[tuple[str, int], ...],
        env: tuple[str, ...],
        side_doors: str,
        **more: Any,  # noqa: ANN401  # the other options of the command
    ) -> int:
        return check(reach=Reach(env, net, side_doors), **more)

    return cast("F", reached)


def reach_lines(how: CheckOptions) -> Iterable[str]:
    """Return what was let through, on which the verdict may hang."""
    reach = how.reach
    if ALL in reach.env:
        yield "all of the environment was given to both sides"
    elif reach.env:
        yield f"given of the environment: {', '.join(reach.env)}"
    if reach.net:
        shown = ", ".join(f"{host}:{port}" for host, port in reach.net)
        yield f"sockets that were allowed: {shown}"


def wire_lines_of(how: CheckOptions) -> Iterable[Text]:
    """Return what was played over the wire, where that was asked for."""
    from compat.report.migration_basis import wire_lines

    return () if how.wire is None else wire_lines(how.wire.summary)

"""Options that several commands have: what means one thing has one name in all.

A command says what the option does there; the names, and those that it had before,
stand here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from compat.cli.command import OPTIONS, flag, option
from compat.cli.values import CLAUSE, PROFILE, Kind, at_least

Function = TypeVar("Function", bound=Callable[..., Any])

CLUSTER: Final = option(
    "--cluster",
    "on",
    about="play on the workers of local:N, or of a running scheduler of dask",
    metavar="WORKERS",
    formerly=("--on",),
)
AS_JSON: Final = flag("--as-json", about="print it as JSON", formerly=("--json",))
"""In place of text; ``--json`` has a file to write, wherever there is one."""


def clauses(about: str, part: str = OPTIONS) -> Callable[[Function], Function]:
    """Declare which clauses are meant: the command's parameter ``words``."""
    names = "--clause", "-k", "words"
    return option(*names, about=about, kind=CLAUSE, multiple=True, part=part)


def engine_profile(
    about: str, kind: Kind = PROFILE, *, part: str = OPTIONS, default: str | None = None
) -> Callable[[Function], Function]:
    """Declare under which profile engines run: the command's parameter ``profile``."""
    names, formerly = ("--engine-profile", "profile"), ("--profile",)
    more = {"part": part, "default": default, "formerly": formerly}
    return option(*names, about=about, kind=kind, **more)


def jobs(about: str, least: int) -> Callable[[Function], Function]:
    """Declare how many processes work at the same time: the parameter ``jobs``."""
    return option("--jobs", "-j", about=about, kind=at_least(least))

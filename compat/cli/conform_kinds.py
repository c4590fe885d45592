"""``refengine conform``: what of its options means anything for stores and dialects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from compat.cli.command import is_given, refuse

ENGINES_ONLY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "observer": "nothing observes a store",
        "engines": "engines and stores are judged by other clauses: judge one by one",
        "profile": "a store has no profile",
        "spoken": "a store has no dialect",
        "worlds": "the worlds of a store are calls, and no sessions",
        "smallest": "its worlds are calls, and few",
        "known": "known failures are pinned to scenarios of engines",
        "packages": "a store is judged with what refengine itself runs with",
        "shown": "a failure of a store is told with all its calls",
        "on": "calls of a store are played where its files are",
        "failures": "a store's failure is played again by the command beside it",
    }
)
"""What means nothing for a store, and why."""


DIALECTS_WITHOUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "worlds": "sessions of your own are sessions of engines",
        "smallest": "--examples 0 leaves its fixed cases, which are few",
        "on": "the worlds of a dialect take seconds, which is what one unit takes",
        "shown": "a failure of a dialect is told with the observations near it",
    }
)
"""What means nothing for engines of a dialect, and why."""


OBSERVERS_WITHOUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "spoken": "engines of a dialect have calls that its worlds do not see",
        "worlds": "the worlds of an observer are its own",
        "smallest": "the worlds of an observer are few",
        "known": "known failures are pinned to engines",
        "on": "the worlds of an observer take seconds, which is what one unit takes",
        "shown": "a failure of an observer is told with the observations near it",
        "failures": "an observer's failure is played again by the command beside it",
    }
)
"""What means nothing for an observer, and why."""


def check_arguments(*, engines: bool, stores: bool) -> None:
    """Leave with a message unless the line names engines or, fittingly, stores."""
    context = click.get_current_context()
    if not engines and not stores:
        first = "begin with 'refengine conform reference --clause ORD'"
        more = "or a door of your own; refengine init engine writes one"
        raise click.UsageError(f"Missing argument 'engines': {first}, {more}.", context)
    if not stores:
        return
    if engines:
        refuse("conform", f"an engine with --store: {ENGINES_ONLY['engines']}")
    _refuse_all(ENGINES_ONLY, "with --store")


def check_dialect(engines: Sequence[str], given: str | None = None) -> str:
    """Return the dialect that all engines are of, "" if they are of none.

    ``given`` is what the line says of doors that no package of ours has. Leaves with a
    message if some are and others are not, or if one is of another.
    """
    from property_tests.dialects.dialects import (
        dialect_of,  # a command imports what it needs
        installed,
    )

    kinds = {each: dialect_of(each) for each in engines}
    if given:
        for each, kind in kinds.items():
            if kind != given and installed(each):
                what = f"of dialect {kind}" if kind else "an engine"
                refuse(
                    "conform",
                    f"--dialect {given} with {each}, which is {what}: leave it out;"
                    " it is for a door of your own",
                )
        kinds = dict.fromkeys(engines, given)
    if not any(kinds.values()):
        return ""
    first, *others = kinds.items()
    for name, dialect in others:
        if dialect != first[1]:
            told = " and ".join(
                f"{x} is {'of dialect ' + of if of else 'an engine'}"
                for x, of in (first, (name, dialect))
            )
            refuse("conform", f"{told}: they have other clauses, so judge one by one")
    _refuse_all(DIALECTS_WITHOUT, f"with {first[0]}, which is of dialect {first[1]}")
    return first[1]


def refuse_for_node(command: str, option: str, setup: Path, what: str) -> None:
    """Leave with a message if a setup is for Node, where ``what`` runs in Python."""
    from compat.drivers.node_setups import SUFFIXES

    if setup.suffix in SUFFIXES:
        refuse(
            command,
            f"{option} {setup}: a module of Node's, and {what} run in Python: whether"
            " it changes an agent says migrate check agent.ts --new-setup",
        )


def check_observer(observer: Path, engines: Sequence[str]) -> str:
    """Return the dialect of observers; leaves with a message if it cannot be judged.

    A setup runs in the process of an engine, so the engine is one in Python.
    """
    from compat.engines.importing import is_driver
    from property_tests.dialects.dialects import dialect_of

    refuse_for_node("conform", "--observer", observer, "the engines that are observed")
    for each in engines:
        if is_driver(each):
            what = "is behind a driver, in whose process no setup runs"
            refuse("conform", f"--observer with {each}, which {what}")
        if dialect := dialect_of(each):
            why = OBSERVERS_WITHOUT["spoken"]
            refuse("conform", f"--observer with {each}, of dialect {dialect}: {why}")
    _refuse_all(OBSERVERS_WITHOUT, "with --observer")
    return "observers"


def check_packages(engines: Sequence[str]) -> None:
    """Leave with a message if packages are given to what does not run with them."""
    given = click.get_current_context().params
    if not given["packages"]:
        return
    if given["on"]:
        refuse(
            "conform", "--with and --cluster: workers elsewhere run with what they have"
        )
    from compat.engines.importing import is_driver

    for each in filter(is_driver, engines):
        what = "is behind a driver, which has no packages of Python to exchange"
        refuse("conform", f"--with {given['packages'][0]}: {each} {what}")


def check_smallest() -> None:
    """Leave with a message if other worlds are asked for beside the smallest set."""
    if not is_given("smallest"):
        return
    for name in ("examples", "seed", "worlds"):
        if is_given(name):
            refuse("conform", f"--{name} with --smallest, which has fixed cases only")


def _refuse_all(meaningless: Mapping[str, str], where: str) -> None:
    context = click.get_current_context()
    for each in context.command.params:
        name = str(each.name)
        if name in meaningless and context.params.get(name):
            refuse("conform", f"{each.opts[0]} {where}: {meaningless[name]}")

"""``refengine profile list|diff|infer``: profiles side by side, and an engine's own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Final

from compat.cli.command import argument, flag, group, refusing
from compat.cli.values import ENGINE, PROFILE
from compat.verdicts.exit_codes import DIFFERS, OK
from refengine.errors import UnknownProfileError
from refengine.profile import PROFILES, Profile, options, profile

if TYPE_CHECKING:
    from rich.text import Text

    from compat.profiles.comparing import PostureDifference
    from property_tests.inferring import Inferred, Posture
    from refengine.messages import Json

WIDEST: Final = 1000
"""Columns that a table is measured in before it is printed as wide as it is."""

app = group("List profiles, show how two differ, and which one an engine has.")


@app.command("list")
@flag("--json", "as_json", about="print them as JSON")
def list_(*, as_json: bool) -> int:
    """List the profiles with their choice in every posture."""
    if as_json:
        sys.stdout.write(json.dumps(listed(), indent=1) + "\n")
        return OK
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None)
    for title in ("posture", *(each.name for each in PROFILES)):
        table.add_column(title, no_wrap=True)
    for posture in options():
        table.add_row(posture, *(getattr(each, posture) for each in PROFILES))
    # A narrower terminal wraps the table rather than cut names off.
    needed = Console(width=WIDEST).measure(table).maximum
    Console(highlight=False, width=max(Console().width, needed)).print(table)
    return OK


def listed() -> dict[str, Json]:
    """Return the profiles, and the options of every posture, as JSON values."""
    return {
        "postures": {name: list(found) for name, found in options().items()},
        "profiles": [
            {
                "name": each.name,
                "postures": {name: getattr(each, name) for name in options()},
            }
            for each in PROFILES
        ],
    }


@app.command()
@argument("a", "a profile", PROFILE)
@argument("b", "another profile", PROFILE)
def diff(a: str, b: str) -> int:
    """Show each posture in which two profiles differ, by a run that shows it.

    Each scenario is played under A, and under A with only this posture as in B.
    """
    with refusing("profile diff", UnknownProfileError):
        left, right = profile(a), profile(b)
    from compat.profiles.comparing import meanings, profile_differences
    from compat.report.terminal import console

    out = console()
    found, said = 0, meanings()
    for each in profile_differences(left, right):
        found += 1
        out.print(_difference(each, said[each.posture], left.name, right.name))
    out.print(f"{left.name} and {right.name} differ in {found} postures")
    return OK


def _difference(each: PostureDifference, meaning: str, left: str, right: str) -> Text:
    from rich.text import Text

    from compat.profiles.comparing import unconfirmed

    text = Text(each.posture, style="bold")
    text.append(f": {meaning}", style="default")
    for name, option in ((left, each.left), (right, each.right)):
        text.append(f"\n  {name}: {option}", style="default")
        why = unconfirmed().get(name, {}).get(each.posture)
        text.append(f"  ({why})" if why else "", style="dim")
    scenario = json.dumps(each.scenario, ensure_ascii=False)
    text.append(f"\n  scenario: {scenario}", style="dim")
    text.append(f"\n  first divergence: {each.divergence}\n", style="default")
    return text


@app.command()
@argument("engine", "an installed engine, module:name or file.py:name", ENGINE)
@flag("--json", "as_json", about="print it as JSON")
def infer(engine: str, *, as_json: bool) -> int:
    """Find out which profile an engine has, posture by posture, from what it does.

    Exit codes: 0, 1 it contradicts itself or the profile it declares, 2 a mistake in
    what was given.
    """
    from compat.engines.load_errors import LoadError
    from compat.engines.loading import load_engine
    from property_tests.inferring import infer as inferred

    # What an engine prints must not stand between the lines of a report.
    with refusing("profile infer", LoadError), redirect_stdout(sys.stderr):
        found = inferred(load_engine(engine))
    if as_json:
        sys.stdout.write(json.dumps(report(found), indent=1) + "\n")
    else:
        _print(found)
    return DIFFERS if found.contradicts else OK


def report(found: Inferred) -> dict[str, Json]:
    """Return what an engine shows as JSON values."""
    said = found.declared
    return {
        "engine": found.engine,
        "declared": None if said is None else said.name,
        "nearest": found.nearest.name,
        "differs": [each.name for each in found.differing(found.nearest)],
        "contradicts_declared": (
            [] if said is None else [each.name for each in found.differing(said)]
        ),
        "postures": [_posture(each) for each in found.postures],
    }


def _posture(each: Posture) -> Json:
    return {
        "posture": each.name,
        "status": each.status,
        "option": each.option,
        "fits": list(each.options),
        "reason": each.reason,
    }


def _print(found: Inferred) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    widest = max(len(each.name) for each in found.postures)
    for each in found.postures:
        console.print(Text(f"{each.name:<{widest}}  ").append_text(_shown(each)))
    for line in _end(found):
        console.print(line)


def _shown(each: Posture) -> Text:
    from rich.text import Text

    if each.option is not None:
        return Text(each.option)
    style = "bold" if each.status == "contradicts itself" else "dim"
    return Text(f"{each.status}: {each.reason}", style=style)


def _end(found: Inferred) -> Iterator[str]:
    shown = sum(each.option is not None for each in found.postures)
    yield f"\n{found.engine} shows {shown} of {len(found.postures)} postures"
    for each in found.postures:
        if each.status == "contradicts itself":
            yield f"it contradicts itself in {each.name}: {each.reason}"
    yield from _against(found, found.nearest, "nearest profile")
    if found.declared is None:
        yield "declared profile: none"
    else:
        yield from _against(found, found.declared, "declared profile")


def _against(found: Inferred, known: Profile, what: str) -> Iterator[str]:
    differs = list(found.differing(known))
    how = f"differs in {len(differs)}" if differs else "nothing that it shows differs"
    yield f"{what}: {known.name}, {how}"
    for each in differs:
        theirs = getattr(known, each.name)
        yield f"  {each.name}: {' or '.join(each.options)}, there {theirs}"

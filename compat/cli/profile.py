"""``refengine profile list|show|diff|infer``: profiles, and which an engine has."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Final

from compat.cli.command import argument, group, option, refusing
from compat.cli.shared_options import AS_JSON
from compat.cli.values import ANY_PROFILE, ENGINE, at_least
from compat.verdicts.exit_codes import DIFFERS, OK
from property_tests.defaults import REPEATS
from refengine.errors import UnknownProfileError
from refengine.postures import AnyProfile, options_of
from refengine.profile import Profile

if TYPE_CHECKING:
    from rich.text import Text

    from compat.profiles.kinds import PostureDifference, ProfileKind
    from property_tests.inferring import Inferred, Posture
    from refengine.messages import Json

WIDEST: Final = 1000
"""Columns that a table is measured in before it is printed as wide as it is."""

app = group("List profiles, show how two differ, and which one an engine has.")


@app.command("list")
@AS_JSON
def list_(*, as_json: bool) -> int:
    """List the profiles with their choice in every posture.

    Those of the engine, then those of each dialect: postures of two kinds have nothing
    to do with each other.
    """
    from compat.profiles.kinds import KINDS

    if as_json:
        sys.stdout.write(json.dumps(listed(), indent=1) + "\n")
        return OK
    from rich.console import Console

    console = Console(highlight=False)
    for kind in KINDS:
        console.print(f"Profiles of {kind.title}\n")
        _print_table(kind)
        console.print()
    return OK


def _print_table(kind: ProfileKind) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None)
    for title in ("posture", *(each.name for each in kind.profiles)):
        table.add_column(title, no_wrap=True)
    for posture in options_of(kind.of):
        table.add_row(posture, *(getattr(each, posture) for each in kind.profiles))
    # A narrower terminal wraps the table rather than cut names off.
    needed = Console(width=WIDEST).measure(table).maximum
    Console(highlight=False, width=max(Console().width, needed)).print(table)


def listed() -> dict[str, Json]:
    """Return the profiles, and the options of every posture, as JSON values.

    The engine's stand at the top, those of a dialect under its name.
    """
    from compat.profiles.kinds import KINDS

    engine, *dialects = KINDS
    inside: dict[str, Json] = {each.key: _listed(each) for each in dialects}
    return {**_listed(engine), "dialects": inside}


def _listed(kind: ProfileKind) -> dict[str, Json]:
    postures = options_of(kind.of)
    return {
        "postures": {name: list(found) for name, found in postures.items()},
        "profiles": [
            {
                "name": each.name,
                "postures": {name: getattr(each, name) for name in postures},
            }
            for each in kind.profiles
        ],
    }


@app.command()
@argument("name", "a profile", ANY_PROFILE)
def show(name: str) -> int:
    """Show what a profile chooses in each posture, and what the posture is about."""
    from compat.profiles.kinds import known_profile, meanings
    from compat.report.terminal import console

    with refusing("profile show", UnknownProfileError):
        kind, found = known_profile(name)
    said = meanings(kind.of)
    out = console()
    out.print(f"{name}, a profile of {kind.title}")
    for posture in options_of(kind.of):
        out.print(_choice(posture, getattr(found, posture), said[posture], name))
    return OK


def _choice(posture: str, option: str, meaning: str, name: str) -> Text:
    from rich.text import Text

    from compat.profiles.comparing import unconfirmed

    text = Text(f"{posture}: ", style="bold")
    text.append(option, style="bold green")
    why = unconfirmed().get(name, {}).get(posture)
    text.append(f"  ({why})" if why else "", style="dim")
    text.append(f"\n  {meaning}", style="default")
    return text


@app.command()
@argument("a", "a profile", ANY_PROFILE)
@argument("b", "another profile of its kind", ANY_PROFILE)
def diff(a: str, b: str) -> int:
    """Show each posture in which two profiles differ, by a run that shows it.

    Each scenario is played under A, and under A with only this posture as in B. Of
    profiles of a dialect it is a single decision, where one shows the posture, or a
    small world. Profiles of the engine and of a dialect cannot be compared.
    """
    from compat.profiles.kinds import ProfileKindsError, meanings, of_one_kind
    from compat.report.terminal import console

    with refusing("profile diff", UnknownProfileError, ProfileKindsError):
        kind, left, right = of_one_kind(a, b)
    from compat.report.conform_text import counted  # which a mistake does not load

    out = console()
    found, said = 0, meanings(kind.of)
    for each in kind.differences(left, right):
        found += 1
        told = _headed(each.posture, said[each.posture], left, right)
        out.print(told.append_text(_what_shows(each, left.name, right.name)))
    out.print(f"{a} and {b} differ in {counted(found, 'posture')}")
    return OK


def _what_shows(each: PostureDifference, left: str, right: str) -> Text:
    from rich.text import Text

    names = (f"as {left}", f"as {right}")
    labels = ("first divergence",) if len(each.shown) == 1 else names
    text = Text(f"\n  {each.by}", style="dim")
    for label, shown in zip(labels, each.shown, strict=False):
        text.append(f"\n  {label}: {shown}", style="default")
    return text.append("\n")


def _headed(posture: str, meaning: str, left: AnyProfile, right: AnyProfile) -> Text:
    from rich.text import Text

    from compat.profiles.comparing import unconfirmed

    text = Text(posture, style="bold")
    text.append(f": {meaning}", style="default")
    for each in (left, right):
        text.append(f"\n  {each.name}: {getattr(each, posture)}", style="default")
        why = unconfirmed().get(each.name, {}).get(posture)
        text.append(f"  ({why})" if why else "", style="dim")
    return text


@app.command()
@argument("engine", "an installed engine, module:name or file.py:name", ENGINE)
@option(
    "--repeats",
    about="how often each order of delays is played on a real clock",
    kind=at_least(0),
    default=REPEATS,
)
@AS_JSON
def infer(engine: str, *, repeats: int, as_json: bool) -> int:
    """Find out which profile an engine has, posture by posture, from what it does.

    Which of two calls comes first is asked with real delays too, in both orders, time
    and again: what does not come out the same each time is told as luck.

    Exit codes: 0 found, 1 it contradicts itself or the profile it declares, 2 a mistake
    in what was given.
    """
    from compat.engines.load_errors import LoadError
    from compat.engines.loading import load_engine
    from property_tests.inferring import infer as inferred

    # What an engine prints must not stand between the lines of a report.
    with refusing("profile infer", LoadError), redirect_stdout(sys.stderr):
        found = inferred(load_engine(engine), repeats)
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
        why = f"  ({each.reason})" if each.reason else ""
        return Text(f"{each.option}{why}")
    style = "dim" if each.status == "not shown" else "bold"
    return Text(f"{each.status}: {each.reason}", style=style)


def _end(found: Inferred) -> Iterator[str]:
    from compat.report.conform_text import counted

    shown = sum(each.option is not None for each in found.postures)
    every = counted(len(found.postures), "posture")
    yield f"\n{found.engine} shows {shown} of {every}"
    for each in found.postures:
        if each.status == "contradicts itself":
            yield f"it contradicts itself in {each.name}: {each.reason}"
        if each.status == "by luck":
            yield f"luck decides in {each.name}: {each.reason}"
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

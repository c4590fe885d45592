"""``refengine profile infer ENGINE``: which profile an engine has, told in a table."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout

from rich.console import Console
from rich.text import Text

from compat.commands import DIFFERS, OK, told
from compat.engines.load_errors import LoadError
from compat.engines.loading import load_engine
from property_tests.inferring import Inferred, Posture, infer
from refengine.messages import Json
from refengine.profile import Profile


def infer_command(engine: str, *, as_json: bool = False) -> int:
    """Print what an engine shows of every posture; return the exit code.

    It is 1 if the engine contradicts itself or the profile that it declares. Exits with
    2 for a text that names no engine.
    """
    # What an engine prints must not stand between the lines of a report.
    with told("profile infer", LoadError), redirect_stdout(sys.stderr):
        found = infer(load_engine(engine))
    if as_json:
        sys.stdout.write(json.dumps(report(found), indent=1) + "\n")
    else:
        _print(found)
    return DIFFERS if found.contradicts else OK


def report(found: Inferred) -> dict[str, Json]:
    """Return it as JSON values."""
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
    console = Console(highlight=False, soft_wrap=True)
    widest = max(len(each.name) for each in found.postures)
    for each in found.postures:
        console.print(Text(f"{each.name:<{widest}}  ").append_text(_told(each)))
    for line in _end(found):
        console.print(line)


def _told(each: Posture) -> Text:
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


def _against(found: Inferred, profile: Profile, what: str) -> Iterator[str]:
    differs = list(found.differing(profile))
    how = f"differs in {len(differs)}" if differs else "nothing that it shows differs"
    yield f"{what}: {profile.name}, {how}"
    for each in differs:
        theirs = getattr(profile, each.name)
        yield f"  {each.name}: {' or '.join(each.options)}, there {theirs}"

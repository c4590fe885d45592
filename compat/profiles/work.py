"""What ``refengine profile list`` and ``diff`` do: print profiles side by side."""

from __future__ import annotations

import json
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from compat.profiles.comparing import (
    PostureDifference,
    meanings,
    profile_differences,
    unconfirmed,
)
from compat.report.terminal import console
from refengine.profile import PROFILES, Profile, options

WIDEST: Final = 1000
"""Columns that a table is measured in before it is printed as wide as it is."""


def print_profiles() -> None:
    """Print a table: every posture, and what each profile chooses there."""
    table = Table(box=None)
    for title in ("posture", *(each.name for each in PROFILES)):
        table.add_column(title, no_wrap=True)
    for posture in options():
        table.add_row(posture, *(getattr(each, posture) for each in PROFILES))
    # A narrower terminal wraps the table rather than cut names off.
    wanted = Console(width=WIDEST).measure(table).maximum
    Console(highlight=False, width=max(Console().width, wanted)).print(table)


def print_differences(left: Profile, right: Profile) -> None:
    """Print each posture in which they differ, with a run that shows it."""
    out = console()
    found, said = 0, meanings()
    for each in profile_differences(left, right):
        found += 1
        out.print(_shown(each, said[each.posture], left.name, right.name))
    out.print(f"{left.name} and {right.name} differ in {found} postures")


def _shown(each: PostureDifference, meaning: str, left: str, right: str) -> Text:
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

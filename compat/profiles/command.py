"""``refengine profile list|diff|infer``: which there are, and which an engine has."""

from __future__ import annotations

import json
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compat.commands import new_app, runner, told
from compat.profiles.differing import Difference, profile_differences, unconfirmed
from compat.profiles.meaning import meanings
from refengine.errors import UnknownProfileError
from refengine.profile import PROFILES, options, profile

WIDEST: Final = 1000
"""Columns that a table is measured in before it is printed as wide as it is."""

app = new_app("List profiles, show how two differ, and which one an engine has.")


@app.command("list")
def list_() -> None:
    """List the profiles with their choice in every posture."""
    table = Table(box=None)
    for title in ("posture", *(each.name for each in PROFILES)):
        table.add_column(title, no_wrap=True)
    for posture in options():
        table.add_row(posture, *(getattr(each, posture) for each in PROFILES))
    # A narrower terminal wraps the table rather than cut names off.
    wanted = Console(width=WIDEST).measure(table).maximum
    Console(highlight=False, width=max(Console().width, wanted)).print(table)


@app.command()
def diff(
    a: Annotated[str, typer.Argument(help="a profile")],
    b: Annotated[str, typer.Argument(help="another profile")],
) -> None:
    """Show each posture in which two profiles differ, by a run that shows it.

    Each scenario is played under A, and under A with only this posture as in B.
    """
    with told("profile diff", UnknownProfileError):
        left, right = profile(a), profile(b)
    console = Console(highlight=False, soft_wrap=True)
    found, said = 0, meanings()
    for each in profile_differences(left, right):
        found += 1
        console.print(_shown(each, said[each.posture], left.name, right.name))
    console.print(f"{left.name} and {right.name} differ in {found} postures")


@app.command()
def infer(
    engine: Annotated[
        str, typer.Argument(help="an installed engine, module:name or file.py:name")
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print it as JSON")] = False,
) -> None:
    """Find out which profile an engine has, posture by posture, from what it does.

    Exit codes: 0, 1 it contradicts itself or the profile it declares, 2 a mistake in
    what was given.
    """
    from property_tests.infer_command import infer_command  # noqa: PLC0415  # the floor above

    raise typer.Exit(infer_command(engine, as_json=as_json))


def _shown(each: Difference, meaning: str, left: str, right: str) -> Text:
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


main = runner(app, "profile")

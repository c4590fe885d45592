"""``refengine profile list|diff|infer``: the command line; ``work`` does it."""

from __future__ import annotations

from typing import Annotated

import typer

from compat.commands import new_app, runner, told
from refengine.errors import UnknownProfileError
from refengine.profile import profile

app = new_app("List profiles, show how two differ, and which one an engine has.")


@app.command("list")
def list_() -> None:
    """List the profiles with their choice in every posture."""
    from compat.profiles import work

    work.print_profiles()


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
    from compat.profiles import work

    work.print_differences(left, right)


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
    from property_tests.infer_command import infer_command  # the floor above

    raise typer.Exit(infer_command(engine, as_json=as_json))


main = runner(app, "profile")

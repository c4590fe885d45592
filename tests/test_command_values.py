"""What a command is given for what stands on its line: as typer has it, but light."""

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Optional
from uuid import UUID

import pytest
import typer
from typer.core import TyperOption

from compat.commands import new_app, runner

OURS = hasattr(TyperOption, "get_runtime_param")
"""Whether this version of typer is one whose values we read."""

NUMBER = "00000000-0000-0000-0000-000000000001"


class Stone(StrEnum):
    flint = "flint"
    lime = "lime-stone"


def weighing(given: list[Any]) -> typer.Typer:
    """Return an app of one command with an option of every kind, which notes them."""
    app = new_app("Weigh stones.")

    @app.command()
    def weigh(  # noqa: PLR0913, PLR0917  # an option of every kind
        stones: list[str],
        times: Annotated[int, typer.Option(min=0, max=9)] = 1,
        least: Annotated[float, typer.Option(min=0.5)] = 0.5,
        clamped: Annotated[int, typer.Option(max=3, clamp=True)] = 0,
        heavy: Annotated[bool, typer.Option()] = False,  # noqa: FBT002  # a flag
        stone: Stone = Stone.flint,
        day: Annotated[
            Optional[datetime],  # noqa: UP045  # as commands have it
            typer.Option(formats=["%Y-%m-%d", "%d.%m.%Y"]),
        ] = None,
        where: Path = Path("here"),
        known: Annotated[
            Optional[Path],  # noqa: UP045  # as commands have it
            typer.Option(exists=True, dir_okay=False),
        ] = None,
        folder: Annotated[Optional[Path], typer.Option(file_okay=False)] = None,  # noqa: UP045  # as commands have it
        word: Annotated[Optional[list[str]], typer.Option("-k")] = None,  # noqa: UP045  # as commands have it
        number: Annotated[Optional[list[int]], typer.Option("-n")] = None,  # noqa: UP045  # as commands have it
        id_: Annotated[Optional[UUID], typer.Option("--id")] = None,  # noqa: UP045  # as commands have it
    ) -> None:
        given.append(locals().copy())
        del given[-1]["given"]

    return app


@pytest.fixture
def both(tmp_path, monkeypatch, capsys):
    """Return what reads a line in our way and in typer's own: values, code and text."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("", "utf-8")
    Path("dir").mkdir()

    def read(line: str):
        found = []
        for own in (True, False):
            given: list[Any] = []
            app = weighing(given)
            with pytest.raises(SystemExit) as left:
                (runner(app, "weigh") if own else app)(line.split())
            found.append((given, left.value.code, capsys.readouterr().err))
        return found

    return read


@pytest.mark.parametrize(
    "line",
    [
        "a",
        "a b -- --times",
        "a --times 0",
        "a --times 9",
        "a --least 1e3",
        "a --least inf",
        "a --clamped 7",
        "a --heavy",
        "a --no-heavy",
        "a --stone lime-stone",
        "a --day 2026-02-28",
        "a --day 28.02.2026",
        "a --where ../there",
        "a --known file",
        "a --folder dir",
        "a --folder new",
        "a -k one",
        "a -k one -k two",
        "a -n 1 -n 2",
        f"a --id {NUMBER}",
    ],
)
def test_a_value_is_what_typer_makes_of_it(both, line) -> None:
    (ours, code, err), (theirs, their_code, _) = both(line)

    assert ours == theirs
    assert [*map(type, ours[0].values())] == [*map(type, theirs[0].values())]
    assert (code, err) == (their_code, "") == (0, "")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("a --times x", "'--times': 'x' is not a whole number."),
        ("a --times 1.5", "'--times': '1.5' is not a whole number."),
        ("a --times -1", "'--times': -1 is not 0 or more."),
        ("a --times 10", "'--times': 10 is not 9 or less."),
        ("a --least light", "'--least': 'light' is not a number."),
        ("a --stone Flint", "'--stone': 'Flint' is not one of 'flint', 'lime-stone'."),
        ("a --day 2026-02-30", "'--day': '2026-02-30' is no date of the form %Y-%m-%d"),
        ("a --known nowhere", "'--known': 'nowhere' does not exist."),
        ("a --known dir", "'--known': 'dir' is a directory."),
        ("a --folder file", "'--folder': 'file' is a file."),
        ("a -n 1 -n x", "'-n': 'x' is not a whole number."),
        ("a --id x", "'--id'"),
    ],
)
def test_a_value_that_is_none_is_told_where_typer_refuses_it(both, line, told) -> None:
    (ours, code, err), (theirs, their_code, _) = both(line)

    assert (ours, code) == (theirs, their_code) == ([], 2)
    assert told in err or not OURS


def test_no_number_is_at_least_anything(both) -> None:
    (_, code, err), _ = both("a --least nan")

    assert (code, "'--least': nan is not 0.5 or more." in err) == (2 * OURS, OURS)

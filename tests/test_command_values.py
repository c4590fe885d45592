"""What a command is given for what stands on its line, and how it ends."""

import os
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.cli.command import (
    BROKEN_PIPE,
    INTERRUPTED,
    TERMINATED,
    argument,
    command,
    flag,
    group,
    option,
    refusing,
    run,
)
from compat.cli.migrate import progress_of
from compat.cli.values import (
    DAY,
    FILE,
    FILE_THERE,
    FOLDER,
    PATH,
    WHOLE,
    at_least,
    one_of,
)
from compat.migration.subject_runner import CheckOptions
from compat.verdicts.exit_codes import INTERNAL

DEFAULTS = {
    "stones": ("a",),
    "times": 1,
    "least": 0.5,
    "seed": 7,
    "heavy": False,
    "peers": True,
    "stone": "flint",
    "day": None,
    "where": Path("here"),
    "known": None,
    "out": None,
    "folder": None,
    "words": (),
}


@pytest.fixture
def weigh(tmp_path, monkeypatch, capsys):
    """Return what reads a line: exit code, what the command was given, and errors."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("", "utf-8")
    Path("dir").mkdir()
    given: list[dict[str, Any]] = []

    @command()
    @argument("stones", "what is weighed", nargs=-1, required=True)
    @option(
        "--times",
        about="so often",
        kind=at_least(0, 9),
        default=1,
        formerly=("--often", "-n"),
    )
    @option("--least", about="at least", kind=at_least(0.5), default=0.5)
    @option("--seed", about="other numbers", kind=WHOLE, default=7)
    @flag("--heavy", about="heavy ones only")
    @flag("--peers/--no-peers", about="others, too", default=True)
    @option("--stone", about="its kind", kind=one_of("flint", "lime"), default="flint")
    @option("--day", about="of the weighing", kind=DAY)
    @option("--where", about="a path", kind=PATH, default=Path("here"))
    @option("--known", about="a file that is there", kind=FILE_THERE)
    @option("--out", about="a file", kind=FILE)
    @option("--folder", about="a folder", kind=FOLDER)
    @option(
        "-k", "words", about="part of a name", multiple=True, formerly=("--wording",)
    )
    def app(**found: Any) -> int:
        """Weigh stones."""
        given.append(found)
        return 0

    def read(line: str):
        code = run(app, "weigh", line.split())
        return code, given, capsys.readouterr().err

    return read


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("a", {}),
        ("a b -- --times", {"stones": ("a", "b", "--times")}),
        ("a --seed 1 b", {"stones": ("a", "b"), "seed": 1}),
        ("a --times 0", {"times": 0}),
        ("a --times=9", {"times": 9}),
        ("a --least 1e3", {"least": 1000.0}),
        ("a --least inf", {"least": float("inf")}),
        ("a --seed -3", {"seed": -3}),
        ("a --heavy", {"heavy": True}),
        ("a --no-peers", {"peers": False}),
        ("a --stone lime", {"stone": "lime"}),
        ("a --day 2026-02-28", {"day": date(2026, 2, 28)}),
        ("a --where ../there", {"where": Path("../there")}),
        ("a --where dir", {"where": Path("dir")}),
        ("a --known file", {"known": Path("file")}),
        ("a --out file", {"out": Path("file")}),
        ("a --out new", {"out": Path("new")}),
        ("a --folder dir", {"folder": Path("dir")}),
        ("a --folder new", {"folder": Path("new")}),
        ("a -k one", {"words": ("one",)}),
        ("a -kone -k two", {"words": ("one", "two")}),
    ],
)
def test_a_value_is_what_its_kind_reads(weigh, line, changed) -> None:
    code, [given], err = weigh(line)

    assert (code, err) == (0, "")
    assert given == {**DEFAULTS, **changed}
    assert {k: type(v) for k, v in given.items()} == {
        k: type(v) for k, v in {**DEFAULTS, **changed}.items()
    }


@pytest.mark.parametrize(
    ("line", "changed", "told"),
    [
        ("a --often 3", {"times": 3}, ["--often is called --times now"]),
        ("a -n3", {"times": 3}, ["-n is called --times now"]),
        ("a --wording=one", {"words": ("one",)}, ["--wording is called -k now"]),
        (
            "a -k one --wording two",
            {"words": ("one", "two")},
            ["--wording is called -k now"],
        ),
    ],
)
def test_an_option_works_by_a_name_that_it_had_and_says_so(
    weigh, line, changed, told
) -> None:
    code, [given], err = weigh(line)

    assert (code, given) == (0, {**DEFAULTS, **changed})
    assert err.splitlines() == [f"refengine weigh: {each}" for each in told]


def test_a_value_by_a_former_name_is_refused_as_by_the_new_one(weigh) -> None:
    code, _, err = weigh("a --often x")

    assert code == 2
    assert "'--times': 'x' is not a whole number." in err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "Missing argument 'stones'."),
        ("a --times x", "'--times': 'x' is not a whole number."),
        ("a --times 1.5", "'--times': '1.5' is not a whole number."),
        ("a --times -1", "'--times': -1 is not 0 or more."),
        ("a --times 10", "'--times': 10 is not 9 or less."),
        ("a --times=", "'--times': '' is not a whole number."),
        ("a --least light", "'--least': 'light' is not a number."),
        ("a --least nan", "'--least': nan is not 0.5 or more."),
        ("a --stone Flint", "'--stone': 'Flint' is not one of 'flint', 'lime'."),
        (
            "a --day 2026-02-30",
            "'--day': '2026-02-30' is not a date of the form %Y-%m-%d",
        ),
        ("a --known nowhere", "'--known': 'nowhere' does not exist."),
        ("a --known dir", "'--known': 'dir' is a directory."),
        ("a --out dir", "'--out': 'dir' is a directory."),
        ("a --folder file", "'--folder': 'file' is a file."),
        ("a --tims 1", "No such option: --tims (Possible options: --times)"),
        ("a -x", "No such option: -x\n"),
        ("a -k", "Option '-k' requires an argument."),
        ("a --heavy=1", "Option '--heavy' does not take a value."),
    ],
)
def test_a_value_that_is_none_is_refused(weigh, line, told) -> None:
    code, given, err = weigh(line)

    assert (code, given) == (2, [])
    assert f"Error: {told}" in err.replace("Invalid value for ", "")
    assert "Traceback" not in err


@pytest.fixture
def failing(capsys):
    """Return what runs a command that raises: its exit code, and errors."""

    def end(error: BaseException):
        app = group("Raise.")

        @app.command("do")
        def do() -> int:
            with refusing("it do", ValueError, FileNotFoundError):
                raise error

        return run(app, "it", ["do"]), capsys.readouterr().err

    return end


def test_an_interrupted_command_ends_as_a_shell_has_it(failing) -> None:
    told = "refengine it: interrupted\n"
    assert failing(KeyboardInterrupt()) == (INTERRUPTED, told) == (130, told)


def test_an_interrupted_check_says_in_one_line_how_far_it_came(failing) -> None:
    def check() -> NoReturn:
        with progress_of(CheckOptions()) as how:
            how.progress("playing", 12, 200)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as end:
        check()

    told = "refengine it: interrupted (playing 12 of 200), nothing is judged yet\n"
    assert failing(end.value) == (INTERRUPTED, told)


def test_a_reader_that_went_away_is_no_traceback(failing, monkeypatch) -> None:
    moved = []
    monkeypatch.setattr("os.dup2", lambda *where: moved.append(where))
    monkeypatch.setattr("sys.stdout.fileno", lambda: 99, raising=False)

    assert failing(BrokenPipeError(32, "Broken pipe")) == (BROKEN_PIPE, "")
    assert [where[1] for where in moved] == [99]


def test_a_closed_pipe_is_no_verdict() -> None:
    command = [sys.executable, "-m", "refengine", "mutant", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as done:
        assert done.stdout is not None
        done.stdout.close()

    assert done.wait() == BROKEN_PIPE == 141


def test_an_output_that_takes_no_more_is_told(failing, monkeypatch) -> None:
    monkeypatch.setattr("os.dup2", lambda *_: None)
    monkeypatch.setattr("sys.stdout.fileno", lambda: 99, raising=False)
    code, told = failing(OSError(28, "No space left on device"))

    assert code == 2
    assert told == "refengine it: standard output: No space left on device\n"


def test_sigterm_ends_a_command_as_what_it_has_to_clean_up_wants() -> None:
    cleaned = []
    app = group("Wait.")

    @app.command("do")
    def do() -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
            return 0
        finally:
            cleaned.append("up")

    assert run(app, "it", ["do"]) == TERMINATED == 143
    assert cleaned == ["up"]


def test_sigterm_ends_what_hypothesis_draws_for_as_well() -> None:
    app = group("Draw.")

    @app.command("do")
    def do() -> int:
        @settings(max_examples=5, database=None)
        @given(st.integers())
        def drawn(_: int) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()

        drawn()
        return 0

    assert run(app, "it", ["do"]) == TERMINATED


def test_command_that_keeps_what_it_found_ends_by_sigterm_all_the_same() -> None:
    app = group("Keep.")

    @app.command("do")
    def do() -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        except KeyboardInterrupt:
            return INTERRUPTED
        return 0

    assert run(app, "it", ["do"]) == TERMINATED


def test_another_error_of_the_machine_is_not_hidden(failing) -> None:
    code, told = failing(PermissionError(1, "Not yours"))

    assert code == INTERNAL
    assert "PermissionError: [Errno 1] Not yours" in told


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no stone 'x'"), "no stone 'x'"),
        (FileNotFoundError(2, "No such file", "x.json"), "x.json: No such file"),
    ],
)
def test_a_mistake_is_reported_by_the_command_that_found_it(
    failing, capsys, error, told
) -> None:
    with pytest.raises(SystemExit) as left:
        failing(error)

    assert left.value.code == 2
    assert capsys.readouterr().err == f"refengine it do: {told}\n"

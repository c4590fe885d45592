"""The command line itself: help, version, misspelt commands, and what they load."""

import subprocess
import sys

import pytest

from compat.cli.main import COMMANDS, GROUPS
from compat.cli.migrate import app as migrate

HEAVY = ["asyncio", "pydantic", "hypothesis", "click", "rich", "pytest"]


def refengine(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "refengine", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_lists_every_command() -> None:
    done = refengine("--help")

    assert "_REFENGINE_COMPLETE=bash_source" in done.stdout

    assert done.returncode == 0
    assert all(name in done.stdout for name in COMMANDS)


def test_help_groups_every_command_once_and_a_newcomers_five_first() -> None:
    listed = [name for _, names in GROUPS for name in names]

    assert sorted(listed) == sorted(COMMANDS)
    assert listed[:5] == ["init", "migrate", "audit", "conform", "bench"]
    assert refengine("help").stdout == refengine("--help").stdout


def test_no_command_says_what_is_here_and_how_to_begin(tmp_path) -> None:
    for name in ("old.py", "new.py"):
        (tmp_path / name).write_text("def subject(world): ...\n", "utf-8")
    command = [sys.executable, "-m", "refengine"]

    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "\n  refengine migrate check old.py new.py\n" in done.stdout
    assert all(f"\n  {name} " in done.stdout for name in GROUPS[0][1])


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("obsreve", "no command 'obsreve'; did you mean 'observe'?"),
        ("--verison", "no option '--verison'; did you mean '--version'?"),
        ("xyzzy", "no command 'xyzzy'; refengine --help lists what there is"),
        ("old.py", "no command 'old.py'; to check it: refengine migrate check OLD NEW"),
    ],
)
def test_unknown_word_is_answered_with_what_helps(word: str, said: str) -> None:
    done = refengine(word)

    assert (done.returncode, done.stderr) == (2, f"refengine: {said}\n")


def test_version_names_what_is_played_with() -> None:
    first, second = refengine("--version").stdout.splitlines()

    assert first.startswith("refengine 0")
    assert second.startswith(f"with Python 3.{sys.version_info.minor}.")


def test_help_of_a_check_has_parts_and_no_types_of_python() -> None:
    told = refengine("migrate", "check", "--help").stdout

    options = {f"--{each}" for each in ("old-cmd", "json", "worlds", "net", "help")}
    assert all(told.count(f"\n  {each} ") == 1 for each in options)
    assert "\nFiles to write:\n" in told
    assert "list[" not in told
    assert "x>=" not in told


def test_list_of_commands_cuts_no_sentence() -> None:
    told = refengine("migrate", "--help").stdout

    assert "..." not in told.partition("Commands:")[2]
    assert next(iter(migrate.commands)) == "check"


@pytest.mark.parametrize("argument", ["--help", "--version", "obsreve"])
def test_help_version_and_usage_errors_load_nothing_heavy(argument: str) -> None:
    code = (
        "import sys\nfrom refengine.__main__ import main\n"
        f"try: main([{argument!r}])\nexcept SystemExit: pass\n"
        f"print('loaded', [m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert done.stdout.splitlines()[-1] == "loaded []", done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    done = refengine(command, "--help")

    assert done.returncode == 0
    assert f"refengine {command}" in done.stdout


def test_a_folder_of_the_users_own_does_not_hide_the_harness(tmp_path) -> None:
    (tmp_path / "compat").mkdir()
    (tmp_path / "compat" / "__init__.py").write_text("raise RuntimeError('mine')")
    command = [sys.executable, "-m", "refengine", "profile", "list"]

    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr

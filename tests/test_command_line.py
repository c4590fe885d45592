"""The command line itself: help, version, misspelt commands, and what they load."""

import subprocess
import sys

import pytest

from compat.cli.main import COMMANDS

HEAVY = ["asyncio", "pydantic", "hypothesis", "click", "rich", "pytest"]


def refengine(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "refengine", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_lists_every_command() -> None:
    done = refengine("--help")

    assert done.returncode == 0
    assert all(name in done.stdout for name in COMMANDS)


def test_no_command_is_a_usage_error() -> None:
    assert refengine().returncode == 2


def test_misspelt_command_is_answered_with_a_suggestion() -> None:
    done = refengine("obsreve")

    assert done.returncode == 2
    assert done.stderr == (
        "refengine: no command 'obsreve' (did you mean 'observe'?);"
        " there are audit, baseline, bench, cassette, checkpoint, clause, comment,"
        " conform, corpus, driver, env, failure, init, migrate, mutant, observe,"
        " profile, timeline\n"
    )


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

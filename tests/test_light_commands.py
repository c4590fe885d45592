"""Help, version and usage errors of every command: answered before its work is loaded.

The commands are those of the table and of the apps it names, so a new one is asked by
itself. Each is asked several lines in one child, and each line is blamed for what it
adds there.
"""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest

from compat.cli.main import COMMANDS

ROOT = Path(__file__).parent.parent

HEAVY = frozenset(
    (
        "asyncio",
        "pydantic",
        "hypothesis",
        # frameworks and clients
        "agent_framework",
        "agents",
        "google",
        "langchain",
        "langchain_core",
        "langchain_openai",
        "langgraph",
        "openai",
        "pydantic_ai",
        "strands",
        # the wire, reports and measuring
        "httpx",
        "httpx2",
        "jinja2",
        "libcst",
        "matplotlib",
        "numpy",
        "pytest",
        "scipy",
        "starlette",
        "uvicorn",
        "vcr",
    )
)

# What a library is loaded by before a line is read (a .pth file) is not doing of ours.
CHILD = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout

heavy, planted, lines = json.load(sys.stdin)
first = set(sys.modules)
from compat.cli.main import COMMANDS, main

COMMANDS.update(planted)

def ask(line):
    before, said = set(sys.modules), io.StringIO()
    sys.argv = ["refengine", *line]
    with redirect_stdout(said), redirect_stderr(said):
        try:
            main(line)
        except SystemExit as left:
            code = left.code
    loaded = {name.partition(".")[0] for name in set(sys.modules) - before - first}
    return code, said.getvalue(), sorted(loaded & set(heavy))

json.dump([ask(line) for line in lines], sys.stdout)
"""


class Answer(NamedTuple):
    """How a line ended, what it said, and which of HEAVY it loaded."""

    code: object
    said: str
    loaded: list[str]


class Command(NamedTuple):
    """A command or subcommand: its words, and what reads the rest of its line."""

    words: tuple[str, ...]
    parser: Any

    @property
    def name(self) -> str:
        return " ".join(self.words)


def ask(
    lines: Sequence[Sequence[str]], folder: Path, planted: object = ()
) -> dict[str, Answer]:
    """Ask a child these command lines, and return its answers by line."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps([sorted(HEAVY), planted, lines]),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = (Answer(*each) for each in json.loads(done.stdout))
    return dict(zip(map(" ".join, lines), answers, strict=True))


def commands() -> Iterator[Command]:
    """Yield every command of the table, and every one below it."""
    for name, (module, _) in COMMANDS.items():
        yield from below(Command((name,), importlib.import_module(module).app))


def below(command: Command) -> Iterator[Command]:
    yield command
    for name, parser in getattr(command.parser, "commands", {}).items():
        yield from below(Command((*command.words, name), parser))


def usage_errors(command: Command) -> Iterator[list[str]]:
    """Yield lines that no command needs its work to refuse."""
    words = list(command.words)
    yield [*words, "--nosuch-option"]
    if hasattr(command.parser, "commands"):
        yield words
        yield [*words, "nosuch-command"]
        return
    arguments = [each for each in command.parser.params if is_argument(each)]
    needed = ["some.json" for each in arguments if each.required]
    if needed:
        yield words
    if all(each.nargs == 1 for each in arguments):
        yield [*words, *needed, *("more" for _ in arguments), "one-too-many"]
    for option in refusing(command.parser):
        yield [*words, *needed, option, "no-such-value"]


def is_argument(parameter: Any) -> bool:
    return not parameter.opts[0].startswith("-")


def refusing(parser: Any) -> Iterator[str]:
    """Yield the options that take no text, but a number, a date or a choice."""
    for each in parser.params:
        if not is_argument(each) and not each.is_flag and not takes_any(each.type):
            yield each.opts[0]


def takes_any(kind: Any) -> bool:
    """Tell whether a kind of value reads a text that is none of most kinds."""
    try:
        kind.convert("no-such-value", None, None)
    except click.BadParameter:
        return False
    return True


ALL = tuple(commands())

# What only the options together, or names that stand in the help, show to be wrong.
OWN = (
    "conform",
    "conform reference --known nowhere.toml",
    "migrate check old.py",
    "migrate check old.py new.py newer.py",
    "migrate check old.py --all .",
    "migrate check --all . --require identical",
    "migrate check old.py new.py --require same-efects",
    "migrate check old.py new.py --engine-profile seed-01",
    "migrate check old.py new.py --wire --reproducer again",
    "observe rows.json --engine-profile seed-01",
    "profile diff seed-001 seed-01",
)


@pytest.mark.parametrize("command", ALL, ids=lambda each: each.name)
def test_help_and_usage_errors_load_nothing_heavy(command, tmp_path) -> None:
    asking = [*command.words, "--help"]
    wrong = list(usage_errors(command))
    answers = ask([asking, *wrong], tmp_path)

    told = answers.pop(" ".join(asking))
    assert (told.code, told.loaded) == (0, [])
    assert f"refengine {command.name}" in told.said
    assert {line: each for line, each in answers.items() if not is_light(each)} == {}
    assert list(tmp_path.iterdir()) == []


def is_light(answer: Answer) -> bool:
    """Tell whether it is a usage error that is told, by a command that stayed light."""
    told = answer.said.strip() and "Traceback" not in answer.said
    return answer.code == 2 and bool(told) and not answer.loaded


def test_mistakes_that_no_file_decides_load_nothing_heavy(tmp_path) -> None:
    answers = ask([line.split() for line in OWN], tmp_path)

    assert {line: each for line, each in answers.items() if not is_light(each)} == {}


def test_the_command_line_itself_loads_nothing_heavy(tmp_path) -> None:
    right = ask([["--help"], ["-h"], ["--version"]], tmp_path)
    wrong = ask([[], ["nosuch"], ["--nosuch"], ["Conform"]], tmp_path)

    assert {(each.code, *each.loaded) for each in right.values()} == {(0,)}
    assert all(is_light(each) for each in wrong.values())


def test_every_command_of_the_table_is_asked() -> None:
    names = {each.name for each in ALL}

    assert set(COMMANDS) < names
    assert {"conform", "migrate check", "profile infer", "init engine"} < names


def test_lines_that_are_refused_are_found_in_the_declaration() -> None:
    found = {each.name: [" ".join(e) for e in usage_errors(each)] for each in ALL}

    assert "migrate" in found["migrate"]
    assert "migrate nosuch-command" in found["migrate"]
    assert "baseline write" in found["baseline write"]
    assert "migrate check --examples no-such-value" in found["migrate check"]
    assert "clause list --status no-such-value" in found["clause list"]
    assert "init engine --for no-such-value" in found["init engine"]
    assert "profile list one-too-many" in found["profile list"]
    dated = "cassette record some.json some.json --date no-such-value"
    assert dated in found["cassette record"]


HEAVY_APP = """
import {heavy}
from compat.cli.command import argument, command

@command()
@argument("stone")
def app(stone: str) -> int:
    "Do nothing."
    {work}
    return 0
"""


@pytest.mark.parametrize(
    ("heavy", "work", "line", "loaded"),
    [
        ("asyncio", "pass", "weigh --help", ["asyncio"]),
        ("asyncio.events", "pass", "weigh --nosuch", ["asyncio"]),
        ("sys", "import pydantic", "weigh --help", []),
        ("sys", "import pydantic", "weigh it", ["pydantic"]),
    ],
)
def test_what_a_line_loads_is_found(tmp_path, heavy, work, line, loaded) -> None:
    text = HEAVY_APP.format(heavy=heavy, work=work)
    (tmp_path / "weighing.py").write_text(text, "utf-8")
    answers = ask([line.split()], tmp_path, {"weigh": ["weighing", "weigh"]})

    # pydantic brings asyncio or not, as its version has it
    assert set(loaded) <= set(answers[line].loaded)
    assert bool(loaded) == bool(answers[line].loaded)

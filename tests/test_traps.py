"""Sixteen ways in which suites like ours were seen to fool their readers.

The table says what each one is and which tests hold us away from it. Those that have no
better place stand below it.
"""

import ast
import fnmatch
import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from compat.cli.main import COMMANDS
from property_tests.checks import CHECKS
from property_tests.corpus import CorpusWorld
from property_tests.judging.world import judge
from property_tests.playing import VariantPlayer
from refengine import _pytest_plugin
from refengine.profile import SEED_001
from refengine.testing import ReferenceEngine
from refengine.testing.scenario_files import read_scenario
from tests.few_worlds import LAW

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
SHIPPED = ("refengine", "compat", "property_tests", "benchmarks")


@dataclass(frozen=True)
class Trap:
    """What it is, and the tests that would notice us in it."""

    about: str
    tests: tuple[str, ...]


TRAPS = {
    1: Trap(
        "Nothing was selected, and that counts as success.",
        (
            "test_conform.py::test_a_selection_without_any_check_is_refused",
            "test_pytest_suite.py::test_trap_1_without_an_engine_it_is_a_usage_error",
            "test_pytest_suite.py::test_trap_1_wherever_the_collection_begins",
            "test_clause_command.py::test_a_list_of_nothing_is_no_success",
        ),
    ),
    2: Trap(
        "An empty report is read as full conformance.",
        ("test_traps.py::test_trap_2_where_nothing_applies_nothing_is_conformant",),
    ),
    3: Trap(
        "A breakdown passes for the refusal that was expected.",
        (
            "test_known_failures.py::test_trap_3_an_engine_that_breaks_down_makes_no_failure_known_or_stale",
            "test_failure_files.py::test_trap_3_an_engine_that_breaks_down_is_not_fixed",
            "test_matrix.py::test_an_engine_that_breaks_down_is_killed_by_no_clause",
        ),
    ),
    4: Trap(
        "What the user left out is shown as what the engine cannot do.",
        (
            "test_pytest_suite.py::test_trap_4_not_chosen_is_not_told_as_not_applicable",
            "test_conform_page.py::test_clauses_that_were_not_selected_have_no_row",
        ),
    ),
    5: Trap(
        "A listed failure that matches nothing is passed over in silence.",
        (
            "test_known_failures.py::test_trap_5_an_entry_that_matches_nothing_is_told_and_never_ignored",
            "test_pytest_suite.py::test_trap_5_a_known_failure_of_nothing_is_a_usage_error",
        ),
    ),
    6: Trap(
        "A list of known failures is keyed by a text that a new release words anew.",
        (
            "test_known_failures.py::test_trap_6_an_entry_holds_whatever_the_check_calls_what_it_asks_for",
        ),
    ),
    7: Trap(
        "A page promises defaults and options that the code does not have.",
        (
            "test_traps.py::test_trap_7_each_command_on_a_page_is_one_that_there_is",
            "test_traps.py::test_trap_7_each_default_on_a_page_is_that_of_the_command",
            "test_pages.py::test_a_page_shows_what_its_commands_print",
        ),
    ),
    8: Trap(
        "The suite works in its own source tree only: a file is not in the wheel.",
        (
            "test_traps.py::test_trap_8_no_file_of_a_package_is_kept_from_the_wheel",
            "test_traps.py::test_trap_8_the_packages_alone_judge_and_report",
        ),
    ),
    9: Trap(
        "A folder of the user's that is called like one of ours stops his pytest.",
        (
            "test_pytest_suite.py::test_trap_9_a_users_own_packages_are_in_nobodys_way",
            "test_pytest_suite.py::test_trap_9_a_shadowed_package_is_told_in_a_line",
            "test_init_engine.py::test_neither_chatter_nor_packages_of_our_names_beside_it_are_in_the_way",
        ),
    ),
    10: Trap(
        "A known failure in generated worlds comes and goes with the seed.",
        (
            "test_known_failures.py::test_trap_10_a_generated_world_that_fails_or_passes_changes_nothing",
            "test_pytest_suite.py::test_trap_10_a_known_failure_is_expected_by_its_pinned_world",
        ),
    ),
    11: Trap(
        "That nothing happened for a while is taken for a verdict.",
        (
            "test_traps.py::test_trap_11_nothing_that_decides_reads_a_clock",
            "test_traps.py::test_trap_11_a_year_of_waiting_changes_no_verdict",
            "test_conform.py::test_an_engine_that_hangs_is_ended_and_named",
        ),
    ),
    12: Trap(
        "What an engine prints is taken for a breakdown.",
        (
            "test_conform.py::test_an_engine_that_talks_is_judged_like_a_silent_one",
            "test_smoke.py::test_what_an_engine_prints_is_no_fault",
            "test_engines_loading.py::test_what_an_engine_prints_when_it_is_loaded_is_no_mistake",
        ),
    ),
    13: Trap(
        "A door changes the type of a field, and the engine is blamed.",
        (
            "test_smoke.py::test_a_field_that_changed_its_type_is_named_with_got_and_wanted",
            "test_smoke.py::test_each_field_of_an_event_is_looked_at",
            "test_smoke.py::test_each_field_of_an_outcome_is_looked_at",
        ),
    ),
    14: Trap(
        "What is skipped grows, and nobody sees it.",
        (
            "test_pytest_suite.py::test_trap_14_what_our_doors_do_not_declare_is_pinned",
            "test_repository.py::test_what_may_be_skipped_is_pinned",
        ),
    ),
    15: Trap(
        "A test of speed fails on a busy machine, with the code unchanged.",
        ("test_traps.py::test_trap_15_no_test_and_no_step_of_ci_holds_a_speed",),
    ),
    16: Trap(
        "The recorder loses streamed answers between two of its releases.",
        (
            "test_traps.py::test_trap_16_no_older_recorder_is_allowed",
            "test_server_recording.py::test_a_new_recording_is_the_shipped_one",
            "test_wire_transport.py::test_transport_and_vcrpy_agree_on_every_cassette",
        ),
    ),
}


def named_tests(path: Path) -> dict[str, ast.AST]:
    """Return the tests that a file holds at its top, by name."""
    tree = ast.parse(path.read_text("utf-8"))
    found = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        each.name: each
        for each in tree.body
        if isinstance(each, found) and each.name.startswith("test_")
    }


# --- the table


@pytest.mark.parametrize("number", TRAPS)
def test_each_test_of_the_table_exists(number: int) -> None:
    for each in TRAPS[number].tests:
        file, _, name = each.partition("::")
        assert name in named_tests(TESTS / file), each


def test_sixteen_traps_are_in_the_table_with_something_to_show() -> None:
    assert list(TRAPS) == list(range(1, 17))
    assert all(each.about.endswith(".") and each.tests for each in TRAPS.values())


def test_a_test_that_is_called_after_a_trap_is_called_after_one_of_the_table() -> None:
    for path in TESTS.rglob("test_*.py"):
        for name in named_tests(path):
            found = re.match(r"test_trap_(\d+)_", name)
            assert found is None or int(found[1]) in TRAPS, f"{path.name}::{name}"


# --- 2: an empty report


ONE_HOOK = """
from refengine.profile import SEED_001
from refengine.testing import ReferenceEngine

class OneHook(ReferenceEngine):
    capabilities = frozenset(("wrap_tool",))

def made():
    return OneHook(SEED_001)
"""


def test_trap_2_where_nothing_applies_nothing_is_conformant(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(ONE_HOOK, "utf-8")
    asked = ("--clause", "ORD-001", "--examples", "0", "--json", "out.json")

    done = refengine("conform", "mine.py:made", *asked, at=tmp_path)
    [engine] = json.loads((tmp_path / "out.json").read_text("utf-8"))["engines"]

    assert done.returncode == 4, done.stdout + done.stderr
    assert re.findall(r"^(?:NOT )?CONFORMANT", done.stdout, re.MULTILINE) == [
        "NOT CONFORMANT"
    ]
    assert engine["conformant"] is False
    assert engine["verdicts"]["not-applicable"] == 1
    assert sum(engine["verdicts"].values()) == 1


def refengine(
    *arguments: str, at: Path, root: Path = ROOT
) -> "subprocess.CompletedProcess[str]":
    """Run a command of the packages in a folder."""
    start = f"import sys; sys.path.insert(0, {str(root)!r})"
    code = f"{start}\nfrom refengine.__main__ import main\nmain()"
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        cwd=at,
        capture_output=True,
        text=True,
        check=False,
    )


# --- 7: what pages promise

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
FENCED = re.compile(r"^```(?:sh|yaml|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:refengine|pytest --pyargs) [^`\n]*)`")
DEFAULT = re.compile(
    r"^\| `(--[\w-]+)(?: [A-Z]+)?`(?:, `-\w(?: [A-Z]+)?`)? \|.*\| `?([\w.]+)`? \|$",
    re.MULTILINE,
)


def said(page: Path) -> Iterator[str]:
    """Yield each command of a page, without what shells do with it."""
    text = page.read_text("utf-8")
    lines = [line for each in FENCED.findall(text) for line in each.splitlines()]
    for line in [*lines, *INLINE.findall(text)]:
        for part in re.split(r"&&|\||;| [12]?> ", line):
            found = re.search(r"(?:^|[\s/])(refengine|pytest --pyargs) .*", part)
            if found and "pip install" not in part:
                yield found.group().strip(" /")


def command(name: str) -> Any:
    """Return a command as the library knows it that reads our command lines."""
    return importlib.import_module(COMMANDS[name][0]).app


def unknown(line: str) -> list[str]:
    """Return what in a line no command of ours knows."""
    words = shlex.split(line.replace("…", " ").rstrip("\\"))
    if words[0] == "pytest":
        known = {*_pytest_plugin.OPTIONS, "--pyargs"}
        return [e for e in words if e.startswith("--") and e.split("=")[0] not in known]
    if len(words) < 2 or words[1] in {"COMMAND", "--version", "--help"}:
        return []
    if words[1] not in COMMANDS:
        return [words[1]]
    found, rest = command(words[1]), words[2:]
    while hasattr(found, "commands") and rest and not rest[0].startswith("-"):
        if rest[0] not in found.commands:
            return [rest[0]]
        found, rest = found.commands[rest[0]], rest[1:]
    ways = (
        name for each in found.params for name in (*each.opts, *each.secondary_opts)
    )
    options = {*ways, "--help"}
    return [e for e in rest if e.startswith("-") and e.split("=")[0] not in options]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_trap_7_each_command_on_a_page_is_one_that_there_is(page: Path) -> None:
    assert {line: wrong for line in said(page) if (wrong := unknown(line))} == {}


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("refengine conform reference --example 3", ["--example"]),
        ("refengine judge reference", ["judge"]),
        ("refengine profile tell seed-001", ["tell"]),
        ("pytest --pyargs property_tests --engines reference", ["--engines"]),
    ],
)
def test_trap_7_a_command_that_there_is_not_is_found(line: str, wrong) -> None:
    assert unknown(line) == wrong


def test_trap_7_each_default_on_a_page_is_that_of_the_command() -> None:
    page = (ROOT / "docs/judging-engines.md").read_text("utf-8")
    real = {
        name: each.shown_default
        for each in command("conform").params
        for name in each.opts
    }
    stated = dict(DEFAULT.findall(page))

    assert {"--examples", "--seed", "--timeout", "--jobs"} <= stated.keys()
    words = {"all": "None", "none": "None", "off": "False"}
    assert {name: words.get(text, text) for name, text in stated.items()} == {
        name: str(real[name]) for name in stated
    }


# --- 8: what is in the wheel


def shipped() -> Iterator[Path]:
    for package in SHIPPED:
        for path in sorted((ROOT / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT)


def test_trap_8_no_file_of_a_package_is_kept_from_the_wheel() -> None:
    """The build takes all files of a package but those that git is told to ignore.

    The reference run of the benchmarks is for readers of the repository alone.
    """
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    build = build["tool"]["hatch"]["build"]
    patterns = (ROOT / ".gitignore").read_text("utf-8").split()
    data = [path for path in shipped() if path.suffix != ".py"]
    lost = [
        path
        for path in data
        for part in path.parts
        if any(fnmatch.fnmatch(part, pattern.rstrip("/")) for pattern in patterns)
    ]

    wheel = {
        "only-include": [*SHIPPED, "cassettes/derived"],
        "exclude": ["benchmarks/results"],
        "sources": {"cassettes/derived": "compat/models/derived"},
    }
    assert build == {"targets": {"wheel": wheel}}
    assert lost == []
    assert {path.name for path in data} >= {
        *("contract.toml", "conform.html.j2"),
        *("fixed_worlds.json", "scenarios.json", "unconfirmed.json", "order.json"),
        *("on_purpose.toml", "py.typed"),
    }


def test_trap_8_the_packages_alone_judge_and_report(tmp_path: Path) -> None:
    """As installed: no docs, no tests and no pyproject.toml beside them."""
    site, work = tmp_path / "site", tmp_path / "work"
    work.mkdir()
    for path in shipped():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, site / path)
    shutil.copytree(ROOT / "cassettes/derived", site / "compat/models/derived")
    quick = ("--clause", LAW, "--examples", "0", "--html", "page.html")

    for arguments in (
        ("conform", "reference", *quick),
        ("clause", "explain", "ORD-001"),
        ("mutant", "list", "-k", "ORD-001"),
        ("profile", "diff", "seed-001", "eino-0.9"),
        ("init", "engine"),
    ):
        done = refengine(*arguments, at=work, root=site)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "Conformance" in (work / "page.html").read_text("utf-8")


# --- 11: clocks

CLOCKS = {"time", "datetime", "threading", "signal"}
DECIDING = (
    "judging/world",
    "check",
    "playing",
    "variants",
    "view",
    "reducing",
    "smoke",
)


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def test_trap_11_nothing_that_decides_reads_a_clock() -> None:
    folder = ROOT / "property_tests"
    paths = [*(folder / f"{name}.py" for name in DECIDING), *folder.glob("checks/*.py")]

    assert len(paths) > len(DECIDING) + 10
    assert {path.name for path in paths if imported(path) & CLOCKS} == set()


def slow(milliseconds: int) -> CorpusWorld:
    tools = [{"name": "t", "delay_ms": milliseconds}, {"name": "u"}]
    world = {
        "agent": {"tools": tools, "handlers": [{"wrap_invokable": {}}]},
        "model_script": ["assistant:[c1:t({})][c2:u({})]", "assistant:done"],
        "runs": [{}],
    }
    return CorpusWorld(read_scenario(world), "t", fixed=False)


def test_trap_11_a_year_of_waiting_changes_no_verdict() -> None:
    player = VariantPlayer(ReferenceEngine(SEED_001), SEED_001)
    year = 365 * 24 * 3600 * 1000

    short, long = (judge(player, slow(each), CHECKS) for each in (1, year))

    assert long == short
    assert "CONC-001" in short.decided
    assert short.failed == short.errors == {}


# --- 15: tests of speed

CLOCK = re.compile(r"\b(?:perf_counter|monotonic|process_time|thread_time)(?:_ns)?\b")


def timed(path: Path) -> list[str]:
    """Return the tests of a file that compare what a clock said."""
    return [
        name
        for name, test in named_tests(path).items()
        if any(
            isinstance(node, ast.Assert) and CLOCK.search(ast.unparse(node))
            for node in ast.walk(test)
        )
    ]


def test_trap_15_no_test_and_no_step_of_ci_holds_a_speed() -> None:
    """What takes longer than these allow has stopped, and is not merely slow."""
    found = {name for path in TESTS.rglob("*.py") for name in timed(path)}
    run = (ROOT / ".ci/run").read_text("utf-8")

    assert found <= {
        "test_a_corpus_is_made_in_no_time",
        "test_changed_record_ends_as_documented",
        "test_delays_cost_no_time",
    }
    assert not re.search(r"benchmark-compare|-m benchmarks", run)


# --- 16: the recorder


def test_trap_16_no_older_recorder_is_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wire = map(Requirement, project["optional-dependencies"]["wire"])
    [recorder] = [each for each in wire if each.name == "vcrpy"]

    assert "8.2.1" in recorder.specifier
    assert "8.2.0" not in recorder.specifier

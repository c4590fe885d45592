"""The suite as tests of pytest: ``pytest --pyargs property_tests --engine NAME``."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from compat.engines.capabilities import CAPABILITIES
from compat.engines.importing import installed_engines
from compat.engines.loading import load_engine
from compat.verdicts.conformance import Breakdown, ClauseResult, EngineInfo
from property_tests.dialects.dialects import dialect_of
from property_tests.judging.inputs import ConformRequest
from property_tests.pytest_suite import (
    EngineTests,
    JudgedEngine,
    corpus_text,
    request_of,
)
from property_tests.registry import contract
from tests.backwards import placed
from tests.few_worlds import LAW, judging_begun

ROOT = Path(__file__).parent.parent
SUITE = ["--pyargs", "property_tests"]
ONE = ["--engine-clause", "ORD-001", "--engine-examples", "0"]
QUICK = ["--engine-clause", LAW, "--engine-examples", "0"]
DOOR = "property_tests/test_contract.py::test_door[{}]"
CLAUSE = "property_tests/test_contract.py::test_clause[{}-ORD-001]"
UNDECLARED = {
    "langchain": 22,
    "langgraph": 26,
    "openai-agents": 27,
    "pydantic-ai": 23,
    "strands": 21,
    "reference": 0,
    "reference-adapted": 0,
    "reference-legacy": 10,
}
TWO_HOOKS = {
    "agent": {"handlers": [{"before_model": []}, {"before_model": []}]},
    "runs": [{"input": ["user:a"]}],
}


SLOW = ("anyio", "benchmark", "cacheprovider", "hypothesispytest", "langsmith_plugin")
"""Plugins that start slowly, and change nothing here."""


def run(folder: Path, *arguments: str, before: str = ""):
    """Run pytest in a folder as a user does, after a line of Python of our own."""
    code = f"{before}\nimport sys, pytest\nsys.exit(pytest.main(sys.argv[1:]))"
    plain = [*(f"-pno:{name}" for name in SLOW), "--color=no"]
    env = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    return subprocess.run(
        [sys.executable, "-c", code, *plain, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )


def judged_in_few(folder: Path, engine: str, *more: str):
    """Run the suite on an engine, for one clause and in few worlds."""
    return run(
        folder, *SUITE, "--engine", engine, *ONE, *more, before=judging_begun("ORD")
    )


def outcomes(done) -> dict[str, str]:
    """Return what became of each test, from the short summary (-rA)."""
    rows = (line.split(" - ")[0].split() for line in done.stdout.splitlines())
    return {row[1]: row[0] for row in rows if len(row) == 2 and "::" in row[1]}


def mistake(done) -> str:
    """Return the one line in which a usage error is told."""
    assert done.returncode == 4, done.stdout + done.stderr
    [line] = [each for each in done.stderr.splitlines() if each]
    assert "Traceback" not in done.stdout
    return line


def known(folder: Path, world=TWO_HOOKS, engine="mine") -> str:
    lines = [
        "[[failure]]",
        'clause = "ORD-001"',
        f'engine = "{engine}"',
        'versions = ">=1"',
        'kind = "bug"',
        'reason = "It reads backwards."',
        'issue = "https://example.org/issues/1"',
        f"world = '''{json.dumps(world)}'''",
    ]
    (folder / "known.toml").write_text("\n".join(lines), "utf-8")
    return "known.toml"


# --- what is run


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """Collect the tests of the reference engine, in an empty folder."""
    folder = tmp_path_factory.mktemp("empty")
    return run(folder, *SUITE, "--engine", "reference", "--collect-only", "-q")


def test_each_checked_clause_is_a_test_with_a_stable_name(reference) -> None:
    ids = [each for each in reference.stdout.splitlines() if "::" in each]
    name = "property_tests/test_contract.py::test_clause[reference-{}]"

    assert reference.returncode == 0, reference.stdout
    assert ids == [
        DOOR.format("reference"),
        *(name.format(each.id) for each in contract().checked),
    ]


def test_header_tells_contract_and_corpus(tmp_path: Path) -> None:
    done = run(tmp_path, *SUITE, "--engine", "reference", *QUICK)

    assert done.returncode == 0, done.stdout
    assert (
        f"refengine: contract {contract().version}, 1 of {len(contract().checked)}"
        " checked clauses; fixed cases only: no generated worlds were asked for\n"
    ) in done.stdout
    assert ", profile seed-001: 0 not applicable\n" in done.stdout
    assert "\nKEPT  reference: 1 clause asked\n     1 kept\n" in done.stdout


def test_trap_14_what_our_doors_do_not_declare_is_pinned() -> None:
    """What is not declared is skipped: no such set grows without being seen here.

    Engines behind drivers have a version in their name and are built first, with
    toolchains that are not everywhere.
    """
    undeclared = {
        name: len(set(CAPABILITIES) - load_engine(name).capabilities)
        for name in installed_engines()
        if not dialect_of(name) and "@" not in name
    }

    assert undeclared == UNDECLARED


def test_without_hypothesis_it_is_told_that_no_world_was_generated(monkeypatch) -> None:
    monkeypatch.setattr("property_tests.pytest_suite.find_spec", lambda _: None)

    told = corpus_text(ConformRequest(engines=("mine",), examples=30))

    assert told == (
        "fixed cases only: 30 generated worlds are NOT run, others than the default"
        " ones need Hypothesis (pip install 'hypothesis>=6.150' 'pytest>=8')"
    )
    default = corpus_text(ConformRequest(engines=("mine",)))
    assert default == "fixed cases and 400 generated worlds of seed 0"


# --- what becomes of a clause


def test_a_failure_reads_as_a_report(tmp_path: Path) -> None:
    placed(tmp_path)

    done = judged_in_few(tmp_path, "engines.py:broken", "-rA")

    assert done.returncode == 1
    assert outcomes(done)[CLAUSE.format("engines.py:broken")] == "FAILED"
    for part in (
        "ORD-001 MUST on mine: fail\n",
        contract().clause("ORD-001").sentence,
        "\n  asked     ",
        "\n  expected  [",
        "\n  got       [",
        "\n  observations around it, > decided:\n",
        "\n  the smallest world found:\n",
        "\n  again     refengine conform engines.py:broken --clause ORD-001",
        "\nNOT KEPT  engines.py:broken: 1 of 1 clause is not kept\n",
        "\n     1 failed: ORD-001\n",
        "\nwhat a clause says: refengine clause explain ORD-001\n",
    ):
        assert part in done.stdout


def test_trap_10_a_known_failure_is_expected_by_its_pinned_world(tmp_path) -> None:
    placed(tmp_path)
    listed = ["--engine-known", known(tmp_path)]

    done = judged_in_few(tmp_path, "engines.py:broken", *listed, "-rx")

    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 xfailed" in done.stdout
    assert "It reads backwards. (https://example.org/issues/1)" in done.stdout


def test_a_known_failure_that_is_none_any_more_fails(tmp_path: Path) -> None:
    placed(tmp_path)
    listed = ["--engine-known", known(tmp_path)]

    done = judged_in_few(tmp_path, "engines.py:mended", *listed)

    assert done.returncode == 1
    assert "listed as a known failure (https://example.org/issues/1)" in done.stdout
    assert "but its world no longer fails" in done.stdout


def test_trap_5_a_known_failure_of_nothing_is_a_usage_error(tmp_path: Path) -> None:
    listed = ["--engine-known", known(tmp_path)]

    told = mistake(run(tmp_path, *SUITE, "--engine", "reference", *ONE, *listed))

    assert told.startswith("ERROR: known.toml: entry 1 (ORD-001, mine) matches nothing")


def test_trap_4_not_chosen_is_not_told_as_not_applicable(tmp_path: Path) -> None:
    placed(tmp_path)
    engine = ["--engine", "engines.py:narrow"]

    lacking = run(tmp_path, *SUITE, *engine, *ONE, "-rA")
    unwanted = run(tmp_path, *SUITE, *engine, *ONE, "-k", "not ORD", "--collect-only")

    assert "1 not applicable (ORD-001)\n" in lacking.stdout
    assert "not applicable: the engine does not declare what it needs" in lacking.stdout
    assert "1 skipped" in lacking.stdout
    assert "1 deselected" in unwanted.stdout
    assert "skipped" not in unwanted.stdout


def judged(*results, faults=(), absent=()):
    """Return tests whose one engine was judged so; there is no engine behind it."""
    made = object.__new__(EngineTests)
    info = EngineInfo(engine="mine", profile="seed-001", absent=absent)
    by_id = {each.clause: each for each in results}
    made._judged = {"mine": JudgedEngine(info, by_id, faults)}
    return made


def result(verdict, **more):
    return ClauseResult(
        engine="mine", clause="ORD-001", level="MUST", verdict=verdict, **more
    )


@pytest.mark.parametrize("verdict", ["fail", "blocked", "error"])
def test_what_is_no_pass_fails_and_says_why(verdict) -> None:
    made = judged(result(verdict, reason="it hangs"))

    with pytest.raises(pytest.fail.Exception, match=r"because   it hangs"):
        made.settle("mine", "ORD-001")


def test_a_pass_passes() -> None:
    judged(result("pass", worlds=1)).settle("mine", "ORD-001")
    judged(result("pass", worlds=1)).settle_door("mine")


def test_a_clause_without_a_verdict_fails() -> None:
    fault = Breakdown(engine="mine", whose="engine", text="it was given up")

    with pytest.raises(pytest.fail.Exception, match="engine: it was given up"):
        judged(faults=[fault]).settle("mine", "ORD-001")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            judged(
                result("pass", worlds=1),
                faults=[Breakdown(engine="mine", whose="door", text="no answer")],
            ),
            "door: no answer",
        ),
        (judged(result("pass", worlds=1), absent=["context"]), "declares 'context'"),
        (judged(result("not-applicable")), "nothing was judged"),
        (judged(), "nothing was judged"),
    ],
)
def test_trap_1_a_door_that_is_wrong_or_lets_nothing_run_fails(made, said) -> None:
    with pytest.raises(pytest.fail.Exception, match=said):
        made.settle_door("mine")


# --- what is asked for


def test_trap_1_without_an_engine_it_is_a_usage_error(tmp_path: Path) -> None:
    told = mistake(run(tmp_path, *SUITE))

    assert told == (
        "ERROR: property_tests judges engines: say which one by '--engine NAME'"
        " ('refengine conform --help' tells what a NAME can be)"
    )


def test_trap_1_wherever_the_collection_begins(tmp_path: Path) -> None:
    quiet = ["-c", os.devnull, "--collect-only", "-q", "--import-mode=importlib"]
    skipped = [
        f"--ignore={ROOT / name}" for name in ("tests", "benchmarks", "examples")
    ]

    told = mistake(run(tmp_path, *quiet, *skipped, str(ROOT)))

    assert told.startswith("ERROR: property_tests judges engines: run 'pytest --pyargs")


def test_trap_1_an_engine_without_the_suite_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n", "utf-8")

    told = mistake(run(tmp_path, "--engine", "reference"))

    assert told.endswith("add '--pyargs property_tests'")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "refrence"], "no engine 'refrence' (did you mean 'reference'?)"),
        (["--engine", "nowhere.py:make"], "there is no file nowhere.py"),
        (["--engine", "reference", "--engine-known", "x"], "x: No such file or"),
    ],
)
def test_what_cannot_be_meant_is_told_in_a_line(tmp_path, options, said) -> None:
    assert said in mistake(run(tmp_path, *SUITE, *options))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"engine": None}, "no engine is named"),
        ({"engine": [""]}, "no engine is named"),
        ({"engine": ["a", "a"]}, "'a' is named twice"),
        ({"engine_examples": -1}, "--engine-examples is -1: give 0 or more"),
        ({"engine_clause": ["ORD-1"]}, "no clause matches 'ORD-1'"),
        ({"engine_profile": "seed"}, "no profile 'seed'"),
    ],
)
def test_options_are_checked(given, said) -> None:
    names = ("engine", "clause", "profile", "examples", "seed", "known")
    keys = [name if name == "engine" else f"engine_{name}" for name in names]
    plain = {f"refengine_{key}": None for key in keys} | {"refengine_engine": ["a"]}
    changed = {f"refengine_{key}": value for key, value in given.items()}

    with pytest.raises((pytest.UsageError, LookupError, ValueError), match=said):
        request_of(plain | changed)


# --- beside others


def test_with_xdist_every_engine_stays_on_one_worker(tmp_path: Path) -> None:
    engines = ["--engine", "reference", "--engine", "reference-adapted"]

    done = run(tmp_path, *SUITE, *engines, *QUICK, "-n", "2", "-v")

    places = [line.split() for line in done.stdout.splitlines() if " PASSED " in line]
    by_engine = {}
    for row in places:
        name = row[-1].partition("[")[2].removesuffix("]").removesuffix(f"-{LAW}")
        by_engine.setdefault(name, set()).add(row[0])
    assert done.returncode == 0, done.stdout
    assert len(places) == 4
    assert sorted(by_engine) == ["reference", "reference-adapted"]
    assert sorted(map(sorted, by_engine.values())) == [["[gw0]"], ["[gw1]"]]
    for each in by_engine:
        assert f"\nKEPT  {each}: 1 clause asked\n     1 kept\n" in done.stdout


def test_what_stays_together_is_told_from_the_name_of_a_test() -> None:
    made = object.__new__(EngineTests)
    made.request = request_of(
        {
            f"refengine_{key}": None
            for key in ("engine_clause", "engine_profile", "engine_examples",
                        "engine_seed", "engine_known", "engine_worlds")
        }
        | {"refengine_engine": ["a", "a-b"]}
    )  # fmt: skip

    assert made.scope_of(DOOR.format("a")) == "property_tests[a]"
    assert made.scope_of(CLAUSE.format("a")) == "property_tests[a]"
    assert made.scope_of(CLAUSE.format("a-b")) == "property_tests[a-b]"
    assert made.scope_of("tests/test_x.py::test_y[a]") == "tests/test_x.py::test_y[a]"


OWN_OPTION = 'def pytest_addoption(parser): parser.addoption("--engine", default="x")'
OWN_TEST = """
def test_own(request):
    assert request.config.getoption("--engine") == "postgres"
"""


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """Make a user's folder with packages that are called like ours."""
    for name in ("compat", "property_tests", "benchmarks"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("", "utf-8")
        (tmp_path / name / f"test_{name}.py").write_text("def test_a(): pass\n")
    return tmp_path


AS_MODULE = "import sys; sys.path.insert(0, '')"  # as python -m pytest does


def test_trap_9_a_users_own_packages_are_in_nobodys_way(user: Path) -> None:
    alone = run(user, "-q", before=AS_MODULE)
    named = run(user, "-q", "property_tests", *SUITE, before=AS_MODULE)

    assert alone.stdout.endswith(
        "3 passed in" + alone.stdout.partition("3 passed in")[2]
    )
    assert (alone.returncode, named.returncode) == (0, 0)


def test_trap_9_a_users_own_option_stays_his(user: Path) -> None:
    (user / "conftest.py").write_text(OWN_OPTION, "utf-8")
    (user / "property_tests" / "test_own.py").write_text(OWN_TEST, "utf-8")

    done = run(user, "-q", "property_tests", "--engine", "postgres", before=AS_MODULE)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["compat", "property_tests"])
def test_trap_9_a_shadowed_package_is_told_in_a_line(user: Path, name: str) -> None:
    for other in {"compat", "property_tests"} - {name}:
        (user / other).rename(user / "other")

    told = mistake(run(user, *SUITE, "--engine", "reference", before=AS_MODULE))

    assert told == (
        f"ERROR: --engine needs refengine's package {name!r}, but {user / name} comes"
        " before it on sys.path: rename that, or run pytest from another folder"
    )


def test_our_own_tests_do_not_run_the_suite() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

    assert config["tool"]["pytest"]["ini_options"]["testpaths"] == ["tests"]

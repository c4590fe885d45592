"""What ``refengine init engine`` writes runs as it is."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from compat.cli.init import ENGINES as SKELETONS
from compat.cli.init import engine_files
from compat.engines.loading import load_engine
from property_tests.checks import CHECKS
from property_tests.corpus import fixed_worlds
from property_tests.judging.world import judge
from property_tests.playing import VariantPlayer
from property_tests.probing import probe
from property_tests.smoke import smoke
from tests.commands import refengine
from tests.few_worlds import LAW, judging_begun, judging_in

ROOT = Path(__file__).parent.parent
ENGINES = [name for name, each in SKELETONS.items() if not each.dialect]
DIALECT_ENGINES = [name for name in SKELETONS if name not in ENGINES]
QUICK = ("--clause", "ORD-001", "--examples", "0", "--jobs", "1")
TOLD = {"ERR-031", "ERR-014", "EXT-004", "TOOL-003"}


@pytest.fixture(autouse=True)
def _own_modules(monkeypatch, tmp_path):
    """Forget what a test imported, and where it was found."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = dict(sys.modules)
    yield
    for name in set(sys.modules) - set(before):
        where = getattr(sys.modules[name], "__file__", None) or ""
        if where.startswith(str(tmp_path)):
            del sys.modules[name]


def written(kind: str, folder: Path) -> Path:
    done = refengine("init", "engine", "--for", kind, at=folder)
    assert done.returncode == 0, done.stderr
    return folder / "conformance"


@pytest.mark.parametrize("kind", ENGINES)
def test_every_file_is_written_and_the_next_step_is_told(kind, tmp_path) -> None:
    done = refengine("init", "engine", "mine", "--for", kind, at=tmp_path)

    assert {each.name for each in (tmp_path / "mine").iterdir()} == set(
        engine_files(kind)
    )
    assert done.stdout.endswith(
        f"next: refengine conform mine/{SKELETONS[kind].door}\n"
    )


def test_the_door_is_for_an_async_engine_unless_something_else_is_asked(
    tmp_path,
) -> None:
    assert refengine("init", "engine", at=tmp_path).returncode == 0
    assert (tmp_path / "conformance/loop.py").exists()


def test_nothing_is_overwritten(tmp_path) -> None:
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance/door.py").write_text("mine", "utf-8")
    done = refengine("init", "engine", at=tmp_path)

    assert done.returncode == 2
    assert "is already there: name another folder" in done.stderr
    assert [each.name for each in (tmp_path / "conformance").iterdir()] == ["door.py"]


def test_a_file_is_no_folder_to_write_to(tmp_path) -> None:
    (tmp_path / "f.txt").touch()
    done = refengine("init", "migration", "f.txt", at=tmp_path)

    assert done.returncode == 2
    assert done.stderr == "refengine init: f.txt is a file: name a folder\n"


def test_a_kind_that_there_is_not_is_refused(tmp_path) -> None:
    done = refengine("init", "engine", "--for", "rust", at=tmp_path)

    assert done.returncode == 2
    assert "async" in done.stderr
    assert "langchain" in done.stderr


@pytest.mark.parametrize("kind", ENGINES)
def test_the_door_works_and_declares_nothing_that_it_has_not(kind, tmp_path) -> None:
    loaded = load_engine(f"{written(kind, tmp_path)}/{SKELETONS[kind].door}")

    assert [each.got for each in smoke(loaded) if not each.passed] == []
    assert probe(loaded)[0] == frozenset()


def test_the_middleware_of_a_service_is_in_the_agents_that_are_judged(tmp_path) -> None:
    folder = written("langchain", tmp_path)
    service = (folder / "service.py").read_text("utf-8")
    limit = "from langchain.agents.middleware import ModelCallLimitMiddleware\n"
    stops = "ALWAYS = [ModelCallLimitMiddleware(run_limit=1, exit_behavior='error')]"
    text = limit + service.replace("ALWAYS = []", stops)
    (folder / "service.py").write_text(text, "utf-8")

    results = smoke(load_engine(f"{folder}/door.py:door"))
    failed = [each.name for each in results if not each.passed]
    assert "tools" in failed


@pytest.mark.parametrize("kind", ENGINES)
def test_the_engine_is_judged_at_once(kind, tmp_path) -> None:
    folder = written(kind, tmp_path)
    with judging_in("ORD"):
        done = refengine("conform", SKELETONS[kind].door, *QUICK, at=folder)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_engine_tells_whose_an_error_is_and_what_it_kept(tmp_path) -> None:
    written("async", tmp_path)
    loaded = load_engine(f"{tmp_path}/conformance/door.py:Door")
    checks = [each for each in CHECKS if each.clause in TOLD]
    player = VariantPlayer(loaded.engine, loaded.profile, loaded.capabilities)
    worlds = [each for each in fixed_worlds() if not each.repeat]
    judged = [judge(player, each, checks) for each in worlds]

    assert {clause for each in judged for clause in each.decided} == TOLD
    assert not any(each.failed for each in judged)


LOUD = """
import sys
from door import Door
from {0}.words import WORDS
from {1}.words import WORDS as MORE
from {2}.words import WORDS as MOST

assert WORDS == MORE == MOST
sys.stderr.write(WORDS * 50000)
sys.stdout.write(WORDS * 50000)


class Loud(Door):
    async def build(self, config, on_notice):
        sys.stderr.write(WORDS)
        sys.stdout.write(WORDS)
        return await super().build(config, on_notice)
"""


OURS = ("compat", "property_tests", "benchmarks")


@pytest.mark.parametrize("named", ["loud.py:Loud", "loud:Loud"])
def test_neither_chatter_nor_packages_of_our_names_beside_it_are_in_the_way(
    named, tmp_path
) -> None:
    folder = written("async", tmp_path)
    (folder / "loud.py").write_text(LOUD.format(*OURS), "utf-8")
    for package in OURS:
        (folder / package).mkdir()
        (folder / package / "__init__.py").touch()
        (folder / package / "words.py").write_text("WORDS = 'warning: '", "utf-8")
    asked = ("conform", named, "--clause", LAW, *QUICK[2:])
    done = subprocess.run(
        [sys.executable, "-m", "refengine", *asked],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning: " not in done.stdout + done.stderr


def test_the_test_that_is_written_passes_and_fails_with_the_engine(tmp_path) -> None:
    folder = written("async", tmp_path)
    test = folder / "test_conformance.py"
    quick = test.read_text("utf-8").replace("*chosen]", "*chosen, '--examples', '0']")
    few = judging_begun("ORD") + "from refengine.__main__ import main\nmain()"
    quick = quick.replace('"-m", "refengine"', f'"-c", {few!r}')
    test.write_text(quick, "utf-8")
    plugins = ("-pno:cacheprovider", "-pno:hypothesispytest", "-pno:langsmith_plugin")
    command = [sys.executable, "-m", "pytest", "-q", *plugins, test]

    assert subprocess.run(command, cwd=folder, check=False).returncode == 0
    loop = (folder / "loop.py").read_text("utf-8")
    wrong = loop.replace("in self.handlers:", "in reversed(self.handlers):", 1)
    (folder / "loop.py").write_text(wrong, "utf-8")
    assert subprocess.run(command, cwd=folder, check=False).returncode == 1


@pytest.mark.parametrize("kind", ENGINES)
def test_the_workflow_installs_extras_that_there_are(kind) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    text = engine_files(kind)["conformance.yml"]
    [line] = [each for each in text.splitlines() if "pip" in each]
    extras = line.partition("[")[2].partition("]")[0].split(",")

    assert set(extras) <= set(project["optional-dependencies"])


@pytest.mark.parametrize("kind", DIALECT_ENGINES)
def test_a_door_to_a_dialect_is_short_and_what_it_declares_is_kept(
    kind, tmp_path
) -> None:
    folder = written(kind, tmp_path)
    spoken = ("--dialect", SKELETONS[kind].dialect, "--examples", "40", "--jobs", "1")
    done = refengine("conform", "door.py:Door", *spoken, at=folder)
    lines = (folder / "door.py").read_text("utf-8").splitlines()

    assert done.returncode == 0, done.stdout
    assert "CONFORMANT small" in " ".join(done.stdout.split())
    assert len([each for each in lines if each.strip()]) <= 15


@pytest.mark.parametrize("kind", DIALECT_ENGINES)
def test_the_next_step_of_a_door_to_a_dialect_names_the_dialect(kind, tmp_path) -> None:
    done = refengine("init", "engine", "mine", "--for", kind, at=tmp_path)
    names = {each.name for each in (tmp_path / "mine").iterdir()}

    assert names == set(engine_files(kind))
    asked = f"conform mine/door.py:Door --dialect {SKELETONS[kind].dialect}"
    assert done.stdout.endswith(f"next: refengine {asked}\n")

"""Sides that run with packages of their own: made once, kept, never half-made."""

import fcntl
import io
import json
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from compat.environments.cache import (
    MANIFEST,
    MOVED_BY,
    environments,
    kept,
    remove,
    remove_left,
)
from compat.environments.making import EnvironmentMakingError, tell
from compat.environments.naming import EnvironmentChoiceError, packages_of
from compat.environments.pythons import PythonError, python_named
from tests.commands import refengine
from tests.environment_support import harness_wheels, wheel
from tests.few_worlds import checking_in_few, judging_in

AGENT = """\
import greeting
from refengine import AgentMiddleware

def subject(world):
    return [AgentMiddleware(additional_instruction=greeting.TEXT)]
"""
FAST = ("--examples", "1", "--search-plays", "0", "--sharpness-plays", "0")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of wheels, which is all that can be installed from."""
    folder = tmp_path_factory.mktemp("wheels")
    harness_wheels(folder)
    for version, text in (("1.0", "Hello."), ("1.1", "Hello."), ("2.0", "Bye.")):
        wheel(folder, "greeting", version, f"TEXT = {text!r}\n")
    return folder


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("environments")


@pytest.fixture(autouse=True)
def offline(
    wheels: Path, cached: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Install by pip from those wheels alone, into a cache of the tests' own."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv(MOVED_BY, str(cached))
    plain = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda name, *more: None if name == "uv" else plain(name)
    )
    (tmp_path / "agent.py").write_text(AGENT, "utf-8")
    yield
    assert not [each.name for each in cached.iterdir() if each.name.startswith(".")]


def test_one_code_with_two_versions_shows_what_differs(tmp_path: Path) -> None:
    sides = ("--old-with", "greeting==1.0", "--new-with", "greeting>=2")
    line = ("migrate", "check", "agent.py", *sides, *FAST, "--json", "report.json")

    with checking_in_few():
        done = refengine(*line, at=tmp_path)

    assert (done.returncode, done.stderr) == (1, "")
    assert "INSTRUCTION" in done.stdout
    assert "old → new: greeting 1.0 → 2.0\n" in done.stdout
    assert "old  agent.py, with greeting==1.0" in done.stdout
    assert "new  agent.py, with greeting>=2" in done.stdout
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert report["header"]["versions"] == {"greeting": ["1.0", "2.0"]}


def test_settings_say_what_sides_run_with(tmp_path: Path) -> None:
    """An environment that is there is taken, so that no network is needed."""
    with kept(packages_of(["greeting==1.0"], tmp_path)) as made:
        before = made.folder.stat().st_mtime_ns
    (tmp_path / "requirements.txt").write_text("greeting==1.1\n", "utf-8")
    (tmp_path / "migration.toml").write_text(
        'old = "agent.py"\nold_with = ["greeting==1.0"]\n'
        'new_with = ["requirements.txt"]\n[cases."agent.py"]\nholds = "identical"\n',
        "utf-8",
    )

    with checking_in_few():
        done = refengine("migrate", "check", "--all", ".", *FAST, at=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert made.folder.stat().st_mtime_ns == before
    assert dict(made.packages)["greeting"] == "1.0"


def test_parallel_runs_make_an_environment_once(tmp_path: Path) -> None:
    choice = packages_of(["greeting==1.0", "annotated-types"], tmp_path)

    def used(_: int) -> tuple[Path, int]:
        with kept(choice) as made:
            return made.folder, made.folder.stat().st_ino

    with ThreadPoolExecutor(3) as pool:
        found = set(pool.map(used, range(3)))

    assert len(found) == 1


def test_one_in_use_is_not_removed_and_another_is_made_anew(
    tmp_path: Path, cached: Path
) -> None:
    choice = packages_of(["greeting==1.0"], tmp_path)
    with kept(choice) as made:
        assert not remove(made.folder)
        listed = refengine("env", "list", at=tmp_path).stdout
        assert "greeting==1.0" in listed
        assert made.folder.name in listed

    done = refengine("env", "clean", made.folder.name, at=tmp_path)

    assert (done.returncode, done.stdout) == (0, "1 removed\n")
    assert made.folder.name not in [each.name for each in environments()]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_making_is_told_on_a_terminal_alone(*, is_terminal: bool) -> None:
    class Shown(io.StringIO):
        def isatty(self) -> bool:
            return is_terminal

    shown = Shown()
    tell("langchain==1.5.2", "pip", shown)

    said = "making an environment with langchain==1.5.2, by pip; it is kept\n"
    assert shown.getvalue() == (said if is_terminal else "")


def test_failed_install_is_told_by_its_last_lines_and_leaves_nothing(
    tmp_path: Path, cached: Path
) -> None:
    def there() -> list[Path]:
        return [each for each in sorted(cached.iterdir()) if each.name != "locks"]

    before = there()
    with (
        pytest.raises(EnvironmentMakingError) as caught,
        kept(packages_of(["greeting==9"], tmp_path)),
    ):
        pass

    assert "No matching distribution found for greeting==9" in str(caught.value)
    assert there() == before


def test_what_a_killed_maker_left_is_removed(cached: Path) -> None:
    """But not while its maker holds the lock."""
    left = cached / ".making-0123-x"
    left.mkdir()
    (cached / "locks").mkdir(exist_ok=True)
    with (cached / "locks" / "0123").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        remove_left()
        assert left.exists()

    remove_left()

    assert not left.exists()


def test_existing_environment_is_not_changed_and_must_fit_the_harness(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "mine"
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).parent}\n")
    (folder / "bin" / "python").symlink_to(Path(sys.executable).resolve())

    with pytest.raises(PythonError) as caught, kept(packages_of(["mine"], tmp_path)):
        pass

    assert "it has no pydantic, and a side needs pydantic>=" in str(caught.value)


def test_one_code_with_equal_packages_is_refused(tmp_path: Path) -> None:
    sides = ("--old-with", "greeting==1.0", "--new-with", "greeting<1.1")

    done = refengine("migrate", "check", "agent.py", *sides, *FAST, at=tmp_path)

    assert done.returncode == 2
    assert "are one: the same code with Python" in done.stderr


def test_side_that_cannot_be_imported_there_is_named(tmp_path: Path) -> None:
    sides = ("--old-with", "greeting==1.0", "--new-with", "annotated-types")

    done = refengine("migrate", "check", "agent.py", *sides, *FAST, at=tmp_path)

    assert done.returncode == 2
    assert "new (agent.py, with annotated-types): ModuleNotFoundError" in done.stdout


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["greeting=1"], "give a requirement such as"),
        (["none.txt"], "there is no such file"),
        (["-e ."], "is an option of pip's"),
        (["python3.11", "python3.12"], "is a second Python"),
        (["./empty"], "is a folder without pyvenv.cfg"),
        (["uv.lock"], "neither pip nor uv installs from it"),
    ],
)
def test_what_says_no_environment_is_refused(
    given: list[str], told: str, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "uv.lock").write_text("version = 1\n", "utf-8")

    with pytest.raises(EnvironmentChoiceError, match=told):
        packages_of(given, tmp_path)


def test_package_is_meant_where_a_folder_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "greeting").mkdir()
    (tmp_path / "greeting" / "pyproject.toml").touch()

    assert packages_of(["greeting"], tmp_path).requirements == ("greeting",)
    project = packages_of(["./greeting"], tmp_path).requirements
    assert project == (str(tmp_path / "greeting"),)
    address = "greeting @ https://localhost/greeting-1.0-py3-none-any.whl"
    assert packages_of([address], tmp_path).requirements == (address,)


def test_python_that_is_not_there_is_named() -> None:
    with pytest.raises(PythonError, match=r"python3\.4: there is no such Python"):
        python_named("python3.4")


def test_content_of_files_decides_which_environment_it_is(tmp_path: Path) -> None:
    """A file that another one names counts, and so does the order of nothing."""
    (tmp_path / "more.txt").write_text("greeting==1.0\n", "utf-8")
    (tmp_path / "all.txt").write_text("-r more.txt\n", "utf-8")
    before = packages_of(["all.txt", "a", "b"], tmp_path).content

    assert packages_of(["b", "a", "all.txt"], tmp_path).content == before
    (tmp_path / "more.txt").write_text("greeting==1.1\n", "utf-8")
    assert packages_of(["all.txt", "a", "b"], tmp_path).content != before


@pytest.mark.parametrize(
    "line",
    [
        "./own",
        "-e ./own",
        "--editable=own",
        "own[extra] ; python_version > '3'",
        "own @ file:./own  # ours",
    ],
)
def test_project_that_a_file_names_counts_with_all_it_holds(
    line: str, tmp_path: Path
) -> None:
    source = tmp_path / "own/own.py"
    source.parent.mkdir()
    source.write_text("TEXT = 1\n", "utf-8")
    (tmp_path / "own/pyproject.toml").write_text("[project]\n", "utf-8")
    (tmp_path / "all.txt").write_text(f"greeting==1.0\n{line}\n", "utf-8")
    before = packages_of(["all.txt"], tmp_path).content

    assert packages_of(["all.txt"], tmp_path).content == before
    source.write_text("TEXT = 2\n", "utf-8")
    assert packages_of(["all.txt"], tmp_path).content != before


def test_environment_whose_python_is_gone_is_listed_and_removed(cached: Path) -> None:
    left = cached / "0123456789abcdef"
    left.mkdir()
    facts = {"python": "3.12.1", "made_of": "greeting==1.0", "packages": 9}
    (left / MANIFEST).write_text(json.dumps(facts), "utf-8")

    assert "3.12.1, which is gone" in [each.python for each in environments()]
    assert remove(left)
    assert not left.exists()


def test_first_release_that_changes_a_behaviour_is_found(tmp_path: Path) -> None:
    """Of 1.0, 1.1 and 2.0 it is the last, which is told with the smallest world."""
    ends = ("--from", "1", "--to", "2")
    line = ("agent.py", "--package", "greeting", *ends, "--examples", "1")

    done = refengine("migrate", "bisect", *line, at=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert "1.1: identical\n" in done.stdout
    assert "first bad: 2.0, after 1.1\n" in done.stdout
    assert "INSTRUCTION  " in done.stdout


def test_releases_between_which_nothing_changed_are_told(tmp_path: Path) -> None:
    ends = ("--from", "1.0", "--to", "1.1")
    line = ("agent.py", "--package", "greeting", *ends, "--examples", "1")

    done = refengine("migrate", "bisect", *line, at=tmp_path)

    assert done.returncode == 4
    assert "nothing is worse in 1.1 than in 1.0" in done.stderr


def test_package_without_releases_is_refused(tmp_path: Path) -> None:
    ends = ("--from", "1.0", "--to", "1.1")

    done = refengine(
        "migrate", "bisect", "agent.py", "--package", "nobody", *ends, at=tmp_path
    )

    assert done.returncode == 2
    assert "nobody: no releases are known: ERROR: No matching" in done.stderr


DOOR = """\
from dataclasses import replace
import greeting
from compat.engines.reference import LegacyDoor

class Door(LegacyDoor):
    name = f"reference that says {greeting.TEXT}"

    async def build(self, config, on_notice):
        turned = replace(config, middlewares=config.middlewares[::-1])
        return await super().build(turned, on_notice)
"""
FLOW = """\
import greeting
from compat.engines.flow.reference import FlowDialect

class Door(FlowDialect):
    name = f"reference that says {greeting.TEXT}"
"""
CONFORM = ("conform", "door.py:Door", "--clause", "ORD-001", "--examples", "0")


def test_engine_is_judged_with_packages_of_its_own(tmp_path: Path) -> None:
    """Its door imports them, and the line that plays a failure again has them."""
    (tmp_path / "door.py").write_text(DOOR, "utf-8")

    plain = refengine(*CONFORM, at=tmp_path)
    with judging_in("ORD"):
        line = (*CONFORM, "--with", "greeting==2.0", "--jobs", "1")
        done = refengine(*line, at=tmp_path)

    assert plain.returncode == 2
    assert "No module named 'greeting'" in plain.stderr
    assert (done.returncode, done.stderr) == (1, "")
    assert "NOT CONFORMANT  reference that says Bye." in done.stdout
    again = "refengine conform door.py:Door --clause ORD-001 --examples 0"
    assert f"{again} --with greeting==2.0\n" in done.stdout


def test_door_to_a_dialect_is_judged_with_packages_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "door.py").write_text(FLOW, "utf-8")
    line = ("conform", "door.py:Door", "--dialect", "flow", "--clause", "FLOW-001")

    done = refengine(
        *line, "--examples", "0", "--jobs", "1", "--with", "greeting==2.0", at=tmp_path
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "CONFORMANT  reference that says Bye." in done.stdout


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (("reference", "--with", "greeting==9"), "no environment could be made with"),
        (("reference", "--with", "greeting=1"), "give a requirement such as"),
        (("eino@0.9.13", "--with", "greeting"), "eino@0.9.13 is behind a driver"),
        (("--store", "m:S", "--with", "greeting"), "with what refengine itself runs"),
        (
            ("reference", "--cluster", "2", "--with", "greeting"),
            "workers elsewhere run with",
        ),
    ],
)
def test_packages_that_no_engine_can_run_with_are_refused(
    line: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    done = refengine("conform", *line, at=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr

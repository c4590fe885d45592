"""Children that are copies of a waiting process do what those do that were started."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from compat.migration import subject_process
from compat.migration.check import check, code_of
from compat.migration.judge import Terms
from compat.migration.refs import located, parse_ref
from compat.migration.subject_process import (
    GRAPHS,
    SubjectProcess,
    _frameworks,
    prepare,
)
from compat.migration.subject_runner import CheckOptions
from compat.process import ChildDiedError, ChildProcess, python
from compat.verdicts.exit_codes import NOT_COMPARABLE
from compat.warm import Copied, WarmStarts
from refengine.testing import read_scenario

SERVER = python("refengine.testing.subject_server")
WORLD = read_scenario(
    {"agent": {}, "model_script": ["assistant:a"], "runs": [{"input": ["user:a"]}]}
)
TELLS = """
import os, sys
from refengine import AgentMiddleware

def subject(world):
    depth, frame = 0, sys._getframe()
    while frame:
        depth, frame = depth + 1, frame.f_back
    world.effect("process", {
        "arguments": sys.argv,
        "depth": depth,
        "environment": dict(os.environ),
        "files": sorted(os.listdir("/proc/self/fd")),
        "flags": list(sys.flags),
        "folder": os.getcwd(),
        "leads its session": os.getsid(0) == os.getpid(),
        "order": list({"a", "b", "c", "d", "e"}),
        "path": sys.path,
        "streams": [sys.stdin.encoding, sys.stdout.errors, sys.stdout.line_buffering],
        "threads": len(sys._current_frames()),
    })
    print("told")
    return [AgentMiddleware("x")]
"""


@pytest.fixture
def warm() -> Iterator[WarmStarts]:
    made = WarmStarts()
    yield made
    made.close()


@pytest.fixture
def starts(warm: WarmStarts, monkeypatch: pytest.MonkeyPatch) -> WarmStarts:
    """Have children started by what knows no kind yet."""
    monkeypatch.setattr("compat.process.WARM", warm)
    return warm


def child(*frameworks: str, **more) -> ChildProcess:
    made = ChildProcess(SERVER, frameworks=frameworks, **more)
    made.call("initialize", {"protocol": 1}, 30)
    return made


def is_copy(made: ChildProcess) -> bool:
    made.kill()
    return isinstance(made.process, Copied)


def observed(folder: Path, seed: int) -> tuple[str, object, type]:
    with SubjectProcess(
        parse_ref(f"{folder}/old.py"), "old", hash_seed=seed
    ).waited() as side:
        played = side.play(WORLD)
        return played.jsonl, played.printed, type(side.child.process)


@pytest.mark.usefixtures("starts")
def test_a_copy_finds_all_as_a_process_does_that_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old.py").write_text(TELLS, "utf-8")
    monkeypatch.chdir(tmp_path)

    started, *copies = (observed(tmp_path, 3) for _ in range(3))

    assert [each[2] for each in (started, *copies)] == [
        subprocess.Popen,
        Copied,
        Copied,
    ]
    assert [each[:2] for each in copies] == [started[:2]] * 2


@pytest.mark.usefixtures("starts")
def test_another_hash_seed_is_another_kind(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(TELLS, "utf-8")
    kinds = [observed(tmp_path, seed)[2] for seed in (3, 4, 3, 4)]

    assert kinds == [subprocess.Popen] * 2 + [Copied] * 2


def test_sides_that_depend_on_the_order_of_a_set_are_not_comparable(
    tmp_path: Path, starts: WarmStarts
) -> None:
    text = """
from refengine import AgentMiddleware

def subject(world):
    names = {"read", "write", "search", "delete", "approve"}
    return [AgentMiddleware(additional_instruction=", ".join(names))]
"""
    for name in ("old.py", "new.py"):
        (tmp_path / name).write_text(text, "utf-8")
    old, new = (parse_ref(str(tmp_path / name)) for name in ("old.py", "new.py"))
    how = CheckOptions(examples=1)
    verdict = check(old, new, Terms(), how).verdict

    assert {each.channel for each in verdict.noise} >= {"requests"}
    assert code_of(verdict) == NOT_COMPARABLE
    waiting = [each for each in starts._kinds.values() if each is not None]
    assert len(waiting) == 2  # one for each hash seed


def test_copies_draw_other_random_numbers(tmp_path: Path, starts: WarmStarts) -> None:
    text = TELLS.replace(
        '"arguments": sys.argv', '"drawn": __import__("random").random()'
    )
    (tmp_path / "old.py").write_text(text, "utf-8")
    drawn = [observed(tmp_path, 3)[0] for _ in range(3)]

    assert len(set(drawn)) == len(drawn)
    assert starts._refused == set()


@pytest.mark.usefixtures("starts")
def test_the_folder_and_the_environment_are_those_of_each_copy(
    tmp_path: Path,
) -> None:
    child().kill()
    env = {**os.environ, "PYTEST_CURRENT_TEST": "another"}
    made = child(cwd=tmp_path, env=env)

    process = Path("/proc", str(made.process.pid))
    assert (process / "cwd").readlink() == tmp_path
    assert is_copy(made)


@pytest.mark.usefixtures("starts")
def test_threads_that_start_copies_get_each_its_own(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(40)]
    for each in folders:
        each.mkdir()
    for _ in range(2):
        child().kill()

    def started(folder: Path) -> Path:
        made = child(cwd=folder)
        found = Path("/proc", str(made.process.pid), "cwd").readlink()
        made.kill()
        return found

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(started, folders)) == folders


@pytest.mark.usefixtures("starts")
def test_how_a_copy_ended_is_known() -> None:
    child().kill()
    made = child()
    os.kill(made.process.pid, signal.SIGTERM)

    with pytest.raises(ChildDiedError, match="was killed by SIGTERM"):
        made.call("load", {}, 30)
    assert made.process.returncode == -signal.SIGTERM


@pytest.mark.usefixtures("starts")
def test_a_copy_ends_by_itself_when_it_is_told_to() -> None:
    child().kill()
    made = child()

    made.end()
    assert made.process.returncode == -signal.SIGKILL  # as with all that it started
    assert not Path("/proc", str(made.process.pid)).exists()


@pytest.mark.usefixtures("starts")
@pytest.mark.parametrize(
    "source",
    [
        "import threading; threading.Thread(target=threading.Event().wait).start()",
        "import os; os.write(2, b'hello')",
        "1 / 0",
    ],
)
def test_what_cannot_be_copied_is_started_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    (tmp_path / "framework.py").write_text(source + "\n", "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    assert [is_copy(child("framework")) for _ in range(3)] == [False] * 3


@pytest.mark.usefixtures("starts")
def test_nothing_is_copied_where_a_path_depends_on_the_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", "lib")

    assert [is_copy(child()) for _ in range(2)] == [False] * 2


def test_only_so_many_wait(starts: WarmStarts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compat.warm.MOST", 2)
    for number in range(4):
        for _ in range(2):
            child(env={**os.environ, "KIND": str(number)}).kill()

    waiting = [each for each in starts._kinds.values() if each is not None]
    assert len(waiting) == 2


def test_a_folder_s_own_module_is_not_imported_before_it(tmp_path: Path) -> None:
    pytest.importorskip("langgraph", reason="this Python has only what it needs")
    text = "from langchain.agents import create_agent\nimport langgraph.types\n"
    (tmp_path / "old.py").write_text(text, "utf-8")
    with located(parse_ref(f"{tmp_path}/old.py")) as location:
        stack = ["langgraph.prebuilt", "langchain.agents.middleware", GRAPHS]
        assert _frameworks(location) == stack
        (tmp_path / "langchain.py").touch()
        assert _frameworks(location) == ()


def test_a_check_expects_children_of_both_seeds_whatever_they_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each seed it starts several, so that none imports by itself."""
    expected: list[tuple[str, list[str]]] = []

    def expect(_command: object, env: Mapping[str, str], frameworks: Sequence[str]):
        expected.append((env["PYTHONHASHSEED"], [*frameworks]))

    monkeypatch.setattr(subject_process, "WARM", SimpleNamespace(expect=expect))
    (tmp_path / "old.py").write_text("from refengine import AgentMiddleware\n", "utf-8")

    prepare(parse_ref(f"{tmp_path}/old.py"), [1, 2])

    assert expected == [("1", []), ("2", [])]

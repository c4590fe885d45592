"""Nothing that a check starts outlives it, however the child or the check ends."""

import ast
import fcntl
import os
import re
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from compat.migration.refs import parse_ref
from compat.migration.replies import SideFault
from compat.migration.subject_process import SubjectProcess
from refengine.testing import read_scenario
from refengine.testing.owned import Mark, folder_prefix, own_mark, run

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="nothing bears a mark elsewhere than on Linux"
)

SLEEPER = """
import ctypes, os, resource, signal, subprocess, sys
from refengine import AgentMiddleware

ABOVE = os.getppid()

def sleeper():
    command = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    return subprocess.Popen(command, start_new_session=True, cwd="/", env={}).pid

def subject(world):
    def ends(ctx, state):
        with open(PIDS, "a") as file:
            file.write(f"{sleeper()}\\n")
        ENDS
    return [AgentMiddleware(before_chat_model=ends)]
"""
STARTS = re.compile(
    r"subprocess\.(Popen|run|check_output|check_call|call)|os\.(posix_)?spawn\w*"
    r"|asyncio\.create_subprocess_\w+"
)
TOLD = re.compile(
    r"refengine: ended (a process|\d+ processes) left by a run that was killed"
    r" \(REFENGINE_SWEEP=off leaves them alone\)\n"
)
"""Other tests leave some, too."""
TURN = re.compile(r"unmarked\(\)|\.borne\(\)")
WORLD = read_scenario(
    {"agent": {}, "model_script": ["assistant:a"], "runs": [{"input": ["user:a"]}]}
)
WAYS = {
    "well": "pass",
    "its descriptors closed": "os.closerange(0, 256)",
    "open replaced": "import builtins; builtins.open = None",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "ended": "os._exit(3)",
    "ended by libc": "ctypes.CDLL(None)._exit(0)",
    "its modules gone": "sys.modules.clear()",
    "hanging": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64)); signal.pause()",
}


def _subject(folder: Path, ends: str) -> tuple[Path, Path]:
    """Write a subject that starts a sleeper; return it, and where the pids will be."""
    pids, file = folder / "pids", folder / "mw.py"
    file.write_text(SLEEPER.replace("PIDS", repr(str(pids))).replace("ENDS", ends))
    return file, pids


def _all_ended(pids: Path, within: float = 0) -> bool:
    """Tell whether these have ended within so many seconds each."""
    for pid in pids.read_text().split():
        try:
            process = os.pidfd_open(int(pid))
        except ProcessLookupError:
            continue
        ready, _, _ = select.select([process], (), (), within)
        os.close(process)
        if not ready:
            return False
    return True


@pytest.mark.parametrize("ends", WAYS.values(), ids=WAYS)
def test_a_sleeper_is_gone_with_its_side_however_that_ends(tmp_path, ends) -> None:
    file, pids = _subject(tmp_path, ends)
    side = SubjectProcess(parse_ref(str(file)), "old", timeout=5).waited()
    try:
        side.play(WORLD)
    except SideFault:
        assert ends != "pass"
    side.close()

    assert _all_ended(pids)


def test_a_mark_is_the_limit_that_a_process_has_and_may_not_exceed(tmp_path) -> None:
    mark, code = Mark.new(), "import resource; print(resource.prlimit(0, 10)); input()"
    with mark.borne():
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
    mark.fix(child.pid)

    with child:
        assert child.stdout
        told = child.stdout.readline().decode().strip()
        assert told == f"({mark.value}, {mark.value})"
        assert mark.bearers() == [child.pid]
        assert mark.end_bearers() == []
    assert own_mark() != mark


def test_what_another_thread_starts_meanwhile_does_not_bear_the_mark() -> None:
    mark = Mark.new()
    code = "import resource; print(resource.getrlimit(10)[0])"
    with ThreadPoolExecutor(1) as threads, mark.borne():
        told = threads.submit(run, [sys.executable, "-S", "-c", code])
        wait([told], timeout=0.5)  # as long as it would take, had it not to wait

    assert int(told.result().stdout) != mark.value


def _starts(source: str) -> list[int]:
    """Return the lines that start a process in no turn."""
    calls, in_turn = set[ast.Call](), set[ast.AST]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and STARTS.fullmatch(ast.unparse(node.func)):
            calls.add(node)
        if isinstance(node, ast.With) and TURN.search(
            ", ".join(map(ast.unparse, node.items))
        ):
            in_turn.update(ast.walk(node))
    return [call.lineno for call in calls - in_turn]


def test_all_that_the_harness_starts_takes_its_turn() -> None:
    files = [*Path("compat").rglob("*.py"), Path("refengine/testing/owned.py")]

    assert _starts("subprocess.run(['true'])") == [1]
    assert [
        f"{file}:{line}" for file in files for line in _starts(file.read_text("utf-8"))
    ] == []


OUTLIVES = {
    "hanging without alarms": "signal.signal(signal.SIGALRM, signal.SIG_IGN);"
    " signal.alarm(0); signal.pause()",
    "ending before it looks": "while os.getppid() == ABOVE: pass\n        os._exit(0)",
}


@pytest.mark.usefixtures("sweeps_alone")
@pytest.mark.parametrize("ends", OUTLIVES.values(), ids=OUTLIVES)
def test_what_a_killed_check_leaves_is_ended_or_swept(tmp_path, ends) -> None:
    file, pids = _subject(tmp_path, ends)
    here, new = tmp_path / "tmp", tmp_path / "new.py"
    here.mkdir()
    new.write_text(file.read_text() + "\n")
    check = subprocess.Popen(
        [sys.executable, "-m", "refengine", "migrate", "check", file, new],
        env={**os.environ, "TMPDIR": str(here)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _once(pids.exists, check)
    check.kill()
    check.wait()

    assert _all_ended(pids, within=60)
    assert [each.name[:10] for each in here.iterdir()] == ["refengine-"] * 2
    _swept_in(here)
    assert not list(here.iterdir())


def test_a_program_of_a_killed_check_is_ended(tmp_path) -> None:
    code = f"""
import os, signal, sys
from pathlib import Path
from compat.migration.programs.process import ProgramProcess
sleeper = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
words = [sys.executable, "-S", "-c", sleeper]
program = ProgramProcess(words, Path({str(tmp_path)!r}), os.environ)
Path("pids").write_text(program.line("a turn", 60) or "")
os.kill(os.getpid(), signal.SIGKILL)
"""
    env = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    run([sys.executable, "-c", code], cwd=tmp_path, env=env)

    assert _all_ended(tmp_path / "pids", within=60)


def _once(there, check) -> None:
    """Wait until something is there, while a process runs."""
    while not there():
        assert check.poll() is None
        select.select((), (), (), 0.01)


@pytest.fixture
def sweeps_alone(tmp_path_factory) -> Iterator[None]:
    """Wait for the one other test that sweeps, on whatever worker it is."""
    lock = tmp_path_factory.getbasetemp().parent / "sweeps"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _swept_in(folder: Path, *command: str) -> str:
    """Return what a command tells that sweeps, if it starts processes at all."""
    command = command or ("migrate", "known", "langchain", "1.3", "1.5")
    told = subprocess.run(
        [sys.executable, "-m", "refengine", *command],
        env={**os.environ, "TMPDIR": str(folder), "REFENGINE_SWEEP": "on"},
        capture_output=True,
        check=True,
        text=True,
    )
    return told.stderr


@pytest.mark.usefixtures("sweeps_alone")
def test_processes_of_one_that_is_gone_are_swept_and_told(tmp_path) -> None:
    code = f"""
import subprocess, sys, tempfile
from refengine.testing.owned import Mark, folder_prefix
with Mark.new().borne():
    command = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    apart = {{"start_new_session": True, "cwd": "/", "env": {{}}}}
    null = subprocess.DEVNULL
    made = subprocess.Popen(command, stdout=null, stderr=null, **apart)
tempfile.mkdtemp(prefix=folder_prefix(), dir={str(tmp_path)!r})
print(made.pid)
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    pid = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    (tmp_path / "pids").write_text(pid)
    mine = tempfile.mkdtemp(prefix=folder_prefix(), dir=tmp_path)
    looked_up = _swept_in(tmp_path, "clause", "explain", "ORD-001")
    told = _swept_in(tmp_path)

    assert looked_up == ""
    assert TOLD.fullmatch(told)
    assert _all_ended(tmp_path / "pids")
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        ["pids", Path(mine).name]
    )

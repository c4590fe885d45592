"""Whose fault it is: a subject that takes its process apart is named."""

import ast
import asyncio
import sys
from pathlib import Path

import pytest

from compat.cli.command import command, run
from compat.migration.refs import parse_ref
from compat.migration.replies import SideFault
from compat.migration.subject_process import SubjectProcess
from compat.verdicts.exit_codes import INTERNAL, INTERRUPTED
from refengine.testing import owned, read_scenario
from refengine.testing.isolation.damage import Wholeness

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="processes are taken apart as Linux lets them"
)

SUBJECT = """
import asyncio, builtins, ctypes, os, resource, shutil, signal, sys
from refengine import AgentMiddleware

def subject(world):
    def breaks(ctx, state):
        {breaks}
    return [AgentMiddleware(before_chat_model=breaks)]
"""
WORLD = read_scenario(
    {"agent": {}, "model_script": ["assistant:a"], "runs": [{"input": ["user:a"]}]}
)
WORLDS = 30
"""More than one reads ahead."""
BREAKS = {
    "pipe": (
        "noise()",
        "frame",
        "wrote 'noise' into the harness's own pipe",
    ),
    "folder": (
        "shutil.rmtree(os.getcwd())",
        "damage",
        "it removes the folder that it runs in; then FileNotFoundError",
    ),
    "limits": (
        "open('a', 'w').close(); resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
        "damage",
        "it sets the limit RLIMIT_NOFILE of its process to 3; then OSError",
    ),
    "modules": (
        "sys.modules.clear()",
        "damage",
        "out of sys.modules; then KeyError",
    ),
    "loop": (
        "asyncio.get_event_loop().stop()",
        "damage",
        "it stops the event loop that it runs in; then RuntimeError",
    ),
    "leaks": ("leaks()", "damage", "descriptors open; then OSError"),
    "builtins": (
        "del builtins.len, builtins.str",
        "damage",
        "it removes builtins.len; then NameError",
    ),
    "tasks": (
        "asyncio.get_event_loop().set_task_factory(lambda *a, **k: None)",
        "damage",
        "it sets a task factory for the event loop that it runs in; then AttributeE",
    ),
    "audits": (
        "open('a', 'w').close(); sys.addaudithook(refuses)",
        "damage",
        "it adds an audit hook to its process; then RuntimeError: no (mw.py, line",
    ),
    "reads": ("reads()", "frame", "it reads from the harness's own pipe"),
    "closes": ("os.closerange(3, 256)", "damage", "it closes what it did not open"),
    "covers": (
        "null = os.open(os.devnull, 2); [os.dup2(null, each) for each in range(20)]",
        "damage",
        "it closes what it did not open",
    ),
    "closes and goes on": (
        "os.closerange(3, 256); signal.pause()",
        "damage",
        "it closes what it did not open",
    ),
    "kills itself": (
        "os.kill(os.getpid(), signal.SIGKILL)",
        "killed",
        "died of SIGKILL: it sends SIGKILL to its own process (mw.py, line 7)",
    ),
    "kills its group": (
        "os.killpg(0, signal.SIGTERM)",
        "killed",
        "died of SIGTERM: it sends SIGTERM to its own group of processes (mw.py, line",
    ),
    "another program": (
        "os.execv('/bin/sleep', ['sleep', '60'])",
        "damage",
        "it replaces its process with another program (os.exec) (mw.py, line 7)",
    ),
    "no time": (
        "resource.setrlimit(resource.RLIMIT_CPU, (1, 1)); spins()",
        "killed",
        "it sets the limit RLIMIT_CPU of its process to 1 (mw.py, line 7)",
    ),
    "an alarm": (
        "signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()",
        "killed",
        "died of SIGALRM: a timer that it set ended, and nothing handles the signal",
    ),
    "an own kind": (
        "raise Mine('x')",
        "exit",
        "raised Mine: x (mw.py, line 7), which is no Exception",
    ),
    "generators": (
        "raise GeneratorExit",
        "exit",
        "raised GeneratorExit (mw.py, line 7), which is no Exception",
    ),
    "fork": ("ctypes.CDLL(None).fork()", "fork", "it forks its process"),
}
NOISE = """
class Mine(BaseException):
    pass

def leaks():
    open("a", "w").close()
    try:
        while True:
            os.dup(0)
    except OSError:
        pass

def refuses(event, arguments):
    if event == "os.scandir":
        raise RuntimeError("no")

def reads():
    for each in range(3, 20):
        try:
            os.set_blocking(each, False)
            os.read(each, 10)
        except OSError:
            pass

def hurries():
    for each in range(3, 20):
        try:
            os.set_blocking(each, False)
        except OSError:
            pass

def spins():
    while True:
        pass

def noise():
    for each in range(3, 99):
        try:
            os.write(each, b"noise\\n")
        except OSError:
            pass
"""


def test_running_loop_that_a_subject_unset_is_told() -> None:
    async def asks_for_it() -> str:
        whole = Wholeness.now()
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        try:
            asyncio.get_running_loop()
        except RuntimeError as error:
            return whole.damage(error)
        finally:
            asyncio._set_running_loop(loop)
        return ""

    told = "it unsets the event loop that it runs in"
    assert asyncio.run(asks_for_it()) == told


@pytest.mark.parametrize(("breaks", "kind", "says"), BREAKS.values(), ids=BREAKS)
def test_a_subject_that_takes_its_process_apart_is_told(
    tmp_path: Path, breaks: str, kind: str, says: str
) -> None:
    file = tmp_path / "mw.py"
    file.write_text(SUBJECT.format(breaks=breaks) + NOISE, "utf-8")
    side = SubjectProcess(parse_ref(str(file)), "new").waited()
    try:
        with pytest.raises(SideFault) as caught:
            list(side.play_all([WORLD] * WORLDS))
    finally:
        side.close()

    # Without its modules an interpreter may not even live to say so.
    ended = caught.value.kind == "killed" and "modules" in breaks
    assert ended or (caught.value.kind == kind and says in caught.value.text)
    assert "please report it" not in str(caught.value)


def test_who_tells_descriptors_not_to_wait_is_played_on(tmp_path: Path) -> None:
    file = tmp_path / "mw.py"
    file.write_text(SUBJECT.format(breaks="hurries()") + NOISE, "utf-8")
    side = SubjectProcess(parse_ref(str(file)), "new").waited()
    try:
        played = [len(list(side.play_all([WORLD]))) for _ in range(3)]
    finally:
        side.close()

    assert played == [1, 1, 1]


MENDED = {
    "sys.setrecursionlimit(sys.getrecursionlimit() - 1)": "it sets the recursion limit",
    "json.dumps = json.loads": "it replaces json.dumps",
    "os.stat = None": "it replaces os.stat",
    "del asyncio.sleep": "it removes asyncio.sleep",
    "builtins.isinstance = None": "it replaces builtins.isinstance",
    "sys.meta_path.clear()": "it takes finders out of sys.meta_path",
    "pass": "",
}


@pytest.mark.parametrize(("takes", "says"), MENDED.items(), ids=MENDED)
def test_what_the_harness_needs_is_put_back_and_told(takes: str, says: str) -> None:
    code = f"""
import asyncio, builtins, json, os, sys
from refengine.testing.isolation.damage import Wholeness
whole = Wholeness.now()
{takes}
told, again, now = whole.mend(), whole.mend(), Wholeness.now()
print([told, again, now.names == whole.names and now.finders == whole.finders])
"""
    told = owned.run([sys.executable, "-c", code]).stdout

    first, again, is_as_it_was = ast.literal_eval(told)
    assert first.startswith(says)
    assert bool(first) == bool(says)
    assert again == ""
    assert is_as_it_was


@command()
def _breaks() -> int:
    """Break down as nothing should."""
    raise LookupError("Authorization: Bearer abcdefghijklmnop0123456789")


@command()
def _wrapped() -> int:
    """Be interrupted where Python makes another error of it."""
    raise RuntimeError("error calling __set_name__") from KeyboardInterrupt()


def test_ctrl_c_is_no_error_whatever_it_comes_wrapped_in(capsys) -> None:
    assert run(_wrapped, "wrapped", []) == INTERRUPTED

    assert capsys.readouterr().err == "refengine wrapped: interrupted\n"


def test_an_internal_error_is_no_verdict_and_tells_no_secret(capsys) -> None:
    assert run(_breaks, "breaks", []) == INTERNAL == 70

    told = capsys.readouterr().err
    assert told.endswith(
        "refengine breaks: an error of refengine itself, please report it\n"
    )
    assert "LookupError: Authorization: " in told
    assert "abcdefghijklmnop0123456789" not in told

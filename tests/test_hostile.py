"""Whose fault it is: a subject that takes its process apart is named."""

import sys
from pathlib import Path

import pytest

from compat.cli.command import command, run
from compat.migration.refs import parse_ref
from compat.migration.replies import SideFault
from compat.migration.subject_process import SubjectProcess
from compat.verdicts.exit_codes import INTERNAL
from refengine.testing import read_scenario

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="processes are taken apart as Linux lets them"
)

SUBJECT = """
import asyncio, ctypes, os, resource, shutil, sys
from refengine import AgentMiddleware

def subject(world):
    def breaks(ctx, state):
        {breaks}
    return [AgentMiddleware(before_chat_model=breaks)]
"""
WORLD = read_scenario(
    {"agent": {}, "model_script": ["assistant:a"], "runs": [{"input": ["user:a"]}]}
)
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
    "fork": ("ctypes.CDLL(None).fork()", "fork", "it forks its process"),
}
NOISE = """
def noise():
    for each in range(3, 99):
        try:
            os.write(each, b"noise\\n")
        except OSError:
            pass
"""


@pytest.mark.parametrize(("breaks", "kind", "says"), BREAKS.values(), ids=BREAKS)
def test_a_subject_that_takes_its_process_apart_is_told(
    tmp_path: Path, breaks: str, kind: str, says: str
) -> None:
    file = tmp_path / "mw.py"
    file.write_text(SUBJECT.format(breaks=breaks) + NOISE, "utf-8")
    side = SubjectProcess(parse_ref(str(file)), "new").waited()
    try:
        with pytest.raises(SideFault) as caught:
            list(side.play_all([WORLD] * 3))
    finally:
        side.close()

    # Without its modules an interpreter may not even live to say so.
    ended = caught.value.kind == "killed" and "modules" in breaks
    assert ended or (caught.value.kind == kind and says in caught.value.text)
    assert "please report it" not in str(caught.value)


@command()
def _breaks() -> int:
    """Break down as nothing should."""
    raise LookupError("Authorization: Bearer abcdefghijklmnop0123456789")


def test_an_internal_error_is_no_verdict_and_tells_no_secret(capsys) -> None:
    assert run(_breaks, "breaks", []) == INTERNAL == 70

    told = capsys.readouterr().err
    assert told.endswith(
        "refengine breaks: an error of refengine itself, please report it\n"
    )
    assert "LookupError: Authorization: " in told
    assert "abcdefghijklmnop0123456789" not in told

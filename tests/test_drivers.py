"""Drivers that are programs in Python: what they say, and what they do wrong."""

import asyncio
import gc
import sys
from pathlib import Path

import pytest

from benchmarks.drivers import SessionLostError, driver_rows, measured_driver
from compat.cli.init import driver_files
from compat.drivers.checking import check_driver
from compat.drivers.connection import PATIENCE, DriverProtocolError
from compat.drivers.histories import SeenHistory
from compat.drivers.node_building import find_node
from compat.drivers.remote import RemoteEngine
from compat.drivers.values import decoded, encoded
from compat.engines.load_errors import NotInstalledError
from compat.engines.loading import load_engine
from compat.process import BadFrameError, ChildDiedError
from refengine.messages import Message, ToolCall
from refengine.profile import SEED_001
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import Trace, first_divergence
from tests.commands import refengine

PYTHON = driver_files("python")["driver.py"]
MISDEEDS = {
    "dies": "import os; print('oh', file=sys.stderr, flush=True); os._exit(3)",
    "hangs": "import time; time.sleep(60)",
    "talks nonsense": "print('hello', flush=True)",
    "writes a long line": "print('x' * 100_000_000, flush=True)",
    "writes a deep line": "print('[' * 200_000 + ']' * 200_000, flush=True)",
    "replies to nobody": "PEER.send(id=999, result={})",
    "calls what there is not": "PEER.call('dance', agent=params['agent'])",
}
LATE = {"closes late": "PEER.call('close', agent=params['agent'] - 1, stream=1)"}
TOLD = {
    "dies": "ended with exit status 3 in its call of 'run'; it printed last: oh",
    "hangs": "gave no answer within 1 s in its call of 'run'",
    "talks nonsense": "wrote a line that is not a message: 'hello'",
    "writes a long line": "wrote a line of more than 67108864 bytes",
    "writes a deep line": "wrote a line that is not a message: '[[[[",
    "replies to nobody": "wrote a line that is not a message: ",
    "calls what there is not": "there is no method 'dance'",
}
ANSWERED = "assistant:done"


def driver(folder: Path, source: str = PYTHON) -> list[str]:
    """Write a driver; return the command that starts it."""
    path = folder / "driver.py"
    path.write_text(source, "utf-8")
    return [sys.executable, str(path)]


def misbehaving(folder: Path, misdeed: str) -> list[str]:
    """Write a driver that does it in a run whose input is "bad"."""
    asks = 'if params["messages"][-1]["content"] == "bad": '
    head, does = "def run(params):\n", (MISDEEDS | LATE)[misdeed]
    doing = f"{head}    {asks}exec({does!r}, globals() | locals())\n"
    return driver(folder, PYTHON.replace(head, doing))


def played(engine: RemoteEngine, text: str) -> Trace:
    runs = [{"input": [f"user:{text}"]}]
    scenario = {"agent": {"tools": []}, "model_script": [ANSWERED], "runs": runs}
    return run(play(read_scenario(scenario), engine))


def error_of(trace: Trace) -> str:
    [told] = [each for each in trace.of("event") if each.data["kind"] == "error"]
    return str(told.data["error"])


@pytest.mark.parametrize("misdeed", MISDEEDS)
def test_a_driver_that_does_wrong_fails_its_run_and_no_other(
    tmp_path: Path, misdeed: str
) -> None:
    command = misbehaving(tmp_path, misdeed)
    patience = 1 if misdeed == "hangs" else PATIENCE
    engine = RemoteEngine("mine", lambda: command, patience=patience)

    before = played(engine, "good")
    bad = played(engine, "bad")
    after = played(engine, "good")

    assert TOLD[misdeed] in error_of(bad)
    assert first_divergence(before, after) is None
    assert after.of("run_end")[0].data["status"] == "completed"


def test_a_driver_may_close_a_stream_of_an_agent_that_is_gone(tmp_path: Path) -> None:
    engine = RemoteEngine("mine", lambda: misbehaving(tmp_path, "closes late"))
    played(engine, "well")
    gc.collect()

    trace = played(engine, "bad")

    assert [each.data["status"] for each in trace.of("run_end")] == ["completed"]


def test_a_driver_that_hangs_is_ended_in_real_time_too(tmp_path: Path) -> None:
    command = misbehaving(tmp_path, "hangs")
    engine = RemoteEngine("mine", lambda: command, patience=0.2)
    runs = [{"input": ["user:bad"]}]
    scenario = {"agent": {"tools": []}, "model_script": [ANSWERED], "runs": runs}

    trace = asyncio.run(play(read_scenario(scenario), engine))

    assert "gave no answer within 0.2 s in its call of 'run'" in error_of(trace)


def test_a_tool_may_take_longer_than_a_driver_may_be_silent(tmp_path: Path) -> None:
    command = driver(tmp_path)
    engine = RemoteEngine("mine", lambda: command, patience=0.2)
    slow = {"name": "t", "result": "r", "delay_ms": 500}
    script = ["assistant:[1:t({})]", ANSWERED]
    scenario = {"agent": {"tools": [slow]}, "model_script": script, "runs": [{}]}

    trace = asyncio.run(play(read_scenario(scenario), engine))

    assert trace.of("run_end")[0].data["status"] == "completed"


def test_a_driver_of_another_protocol_is_refused(tmp_path: Path) -> None:
    command = driver(tmp_path, PYTHON.replace('"protocol": 2', '"protocol": 7'))

    with pytest.raises(DriverProtocolError, match="protocol 7, but 2 is spoken here"):
        RemoteEngine("mine", lambda: command)


def test_a_driver_that_ends_at_once_is_refused_with_its_last_words() -> None:
    command = [sys.executable, "-c", "raise SystemExit('no engine here')"]

    with pytest.raises(ChildDiedError, match=r"status 1 .*: no engine here"):
        RemoteEngine("mine", lambda: command)


def test_a_program_that_is_no_driver_is_refused() -> None:
    command = [sys.executable, "-c", "print('Hello')"]

    with pytest.raises(BadFrameError, match="not a message: 'Hello'"):
        RemoteEngine("mine", lambda: command)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "\udc80",
        "x\ud83d",
        "\U0010ffff",
        "\U0010ffffdc80",
        "\ud83d\ude00",
        "😀",
    ],
)
def test_any_text_comes_back_as_it_was(text: str) -> None:
    assert decoded(encoded({"text": text})) == {"text": text}


def test_half_of_a_pair_is_valid_unicode_on_the_wire() -> None:
    assert encoded({"text": "\udc80"}).decode() == '{"text":"\U0010ffffdc80"}\n'


def test_the_driver_that_init_writes_passes_its_check(tmp_path: Path) -> None:
    found = list(check_driver(driver(tmp_path), patience=10))

    assert [each for each in found if each.found == "FAILED"] == []
    assert len([each for each in found if each.found == "ok"]) >= 10


def test_the_check_of_a_driver_says_what_fails(tmp_path: Path) -> None:
    wrong = PYTHON.replace('kind="unknown_tool"', 'kind="else"')

    found = check_driver(driver(tmp_path, wrong), patience=10)

    assert [each.function for each in found if each.found == "FAILED"] == [
        "errors have a kind"
    ]


def test_an_engine_is_named_by_the_command_of_its_driver(tmp_path: Path) -> None:
    command = " ".join(driver(tmp_path))

    loaded = load_engine(f"cmd:{command}")

    assert (loaded.version, loaded.profile.name) == ("0.1", "seed-001")


def test_without_node_a_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(NotInstalledError) as caught:
        load_engine("langchain-js@1")

    assert "needs Node.js 20 or newer with npm, which is not installed: put both" in (
        str(caught.value)
    )


def test_an_old_node_is_told_by_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("node", "npm"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho v18.0.0 x64\n", "utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(
        NotInstalledError, match=r"installed \(Node.js v18.0.0 x64 is\)"
    ):
        load_engine("ai-sdk@5")


def test_a_node_is_asked_for_its_version_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("node", "npm"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho >>{tmp_path}/starts\necho v20.0.0 x64\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    found = [find_node("ai-sdk@5") for _ in range(3)]

    assert found == [(str(tmp_path / "node"), str(tmp_path / "npm"))] * 3
    assert len((tmp_path / "starts").read_text("utf-8").splitlines()) == 1


def test_a_small_driver_does_as_the_reference_does(tmp_path: Path) -> None:
    command = driver(tmp_path)
    handler = {
        "id": "H",
        "before_model": [{"op": "append", "msg": "user:more"}],
        "wrap_invokable": {"prefix_result": "1>"},
    }
    scenario = read_scenario(
        {
            "agent": {
                "instruction": "B",
                "tools": [{"name": "t", "result": "<u+dc80>"}],
                "handlers": [handler, {**handler, "id": "I"}],
            },
            "model_script": ["assistant:[1:t({})]", ANSWERED],
            "runs": [{"input": ["user:hi"]}],
        }
    )

    theirs = run(play(scenario, RemoteEngine("mine", lambda: command)))
    ours = run(play(scenario, ReferenceEngine(SEED_001)))

    assert first_divergence(theirs, ours) is None
    assert len(ours) == 24


def test_the_command_writes_a_driver_and_checks_it(tmp_path: Path) -> None:
    folder = tmp_path / "mine"

    written = refengine("init", "driver", str(folder), at=tmp_path)
    command = f"{sys.executable} {folder}/driver.py"
    checked = refengine("driver", "check", command, at=tmp_path)

    assert written.returncode == 0
    assert checked.returncode == 0
    assert "ok           settle" in checked.stdout


def test_what_goes_through_a_driver_is_measured(tmp_path: Path) -> None:
    command = driver(tmp_path)
    engine = RemoteEngine("mine", lambda: command)

    rows = driver_rows()

    found = [measured_driver(row, engine, 1, 2) for row in rows[:2]]

    assert [each.row.least for each in found] == [None, 500]
    assert all(each.per_core > 0 and each.per_second > 0 for each in found)
    with pytest.raises(SessionLostError, match="does not end as completed on mine"):
        measured_driver(rows[2], engine, 1, 2)


@pytest.mark.parametrize(
    ("left_behind", "kept"),
    [
        ([], ["ra", "rb"]),
        ([Message("user", "more")], ["more", "ra", "rb"]),
        ([Message("tool", "mine", tool_call_id="a")], ["mine", "rb"]),
        (
            [Message("tool", each, tool_call_id=each) for each in ("a", "b")],
            ["a", "b"],
        ),
    ],
    ids=["nothing", "a-message", "a-result", "all-results"],
)
def test_results_follow_what_hooks_left_behind_the_calls_once(
    left_behind: list[Message], kept: list[str]
) -> None:
    asked = [Message("user", "hi")]
    calls = (ToolCall("a", "t", "{}"), ToolCall("b", "t", "{}"))
    answer = Message("assistant", "", calls)
    seen = SeenHistory(asked, has_instruction=False)
    seen.ask(asked)
    seen.tell(answer)
    with seen.hook([*asked, answer], after=True) as left:
        left([*asked, answer, *left_behind])
    for each in calls:
        seen.tell(Message("tool", f"r{each.id}", tool_call_id=each.id))

    ended = seen.ended()

    assert [each.content for each in ended.messages] == ["hi", "", *kept]


def test_what_is_kept_of_an_answer_is_what_the_engine_says_behind_all_hooks() -> None:
    asked, answer = Message("user", "hi"), Message("assistant", "4111")
    seen = SeenHistory([asked], has_instruction=False)
    seen.ask([asked])
    seen.tell(answer)
    with seen.hook([asked, answer], after=True) as left:
        left([asked, answer])  # a neighbour's, before the last hook of the subject

    ended = seen.ended(Message("assistant", "[card]"))

    assert [each.content for each in ended.messages] == ["hi", "[card]"]


def test_a_history_that_hooks_have_emptied_leaves_no_answer() -> None:
    seen = SeenHistory([Message("user", "hi")], has_instruction=False)
    seen.ask([Message("user", "hi")])
    seen.tell(Message("assistant", "bye"))
    with seen.hook([], after=True) as left:
        left([])

    assert seen.ended().answer is None
    assert seen.ended(Message("assistant", "its own")).answer is not None

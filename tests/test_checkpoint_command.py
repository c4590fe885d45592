"""refengine checkpoint show|verify: what is kept, in lines and as JSON."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from compat.cli.main import main
from compat.state.contents import contents, kept
from compat.state.shown import printable, resume_line, run_lines
from refengine.interrupts import Address, Pending
from refengine.messages import Message, ToolCall
from refengine.resume.checkpoint import Entry, Point, Saved, Splice, Start, Step
from refengine.state import Checkpoints, SqliteStore
from refengine.state.codec import encode_step
from refengine.state.values import Types

START = Start("main", "seed-001", streaming=False, given=1, has_first=True)
CALL = ToolCall("c1", "deploy", '{"to":"prod"}')
APPROVE = Address(("main",), 1, "tool", "approve", "deploy", "c1")
DELETE = Address(("main",), 1, "tool", "delete", "delete", "c2")


@dataclass(frozen=True)
class Plan:
    goal: str


def plans():
    types = Types()
    types.register_dataclass("plan", Plan)
    return types


GIVEN = (Message("system", "be"), Message("user", "hi\x1b[31m\n", extra={"a": [1]}))
WAITING = (
    Step(0, 1, Splice(0, GIVEN), Point(), start=START),
    Step(
        1,
        1,
        Splice(2, (Message("assistant", "\ud800", (CALL,)),)),
        Point("tools", ctx={"who": "Ada"}, entries=(Entry("tool", "approve"), None)),
        {"plan": Plan("win"), "pair": (1, 2)},
        (Pending(APPROVE, {"ask": "now?"}),),
    ),
)
ENDED = (
    Step(0, 1, Splice(0, GIVEN), Point(), start=START),
    Step(1, 1, Splice(2, ()), Point("end", status="completed")),
)
LISTED = """\
'ended'  completed, phase end, iteration 1, 2 messages, 2 steps
't 1'    interrupted, phase tools, iteration 1, 3 messages, 2 steps
  waits at main 1 tool approve deploy(c1): {"ask": "now?"}
store.db: 2 runs
"""
SHOWN = """\
run 't 1' of agent 'main', profile seed-001, invoked
messages: 3 (the caller gave 1)
  0  system:be
  1  user:hi\\x1b[31m\\n  extra={'a': (1,)}
  2  assistant:<u+d800>[c1:deploy({"to":"prod"})]
run-local values: 2
  'plan': Opaque(name='plan', version=1, text='{"goal": "win"}')
  'pair': (1, 2)
context values: 1
  'who': 'Ada'
stands: interrupted, phase tools, iteration 1, attempt 1, after 2 steps
  0  tool approve: interrupted
  1  not begun
waits for: 1 answer
  main 1 tool approve deploy(c1): {"ask": "now?"}
go on: agent.resume('t 1', {'main 1 tool approve deploy(c1)': answer})
"""


def fill(path, **runs):
    async def write():
        async with SqliteStore(path) as store:
            for key, steps in runs.items():
                for step in steps:
                    await Checkpoints(store, plans()).write(key, step)

    asyncio.run(write())


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Make a store of two runs in the working directory."""
    monkeypatch.chdir(tmp_path)
    fill("store.db", **{"t 1": WAITING, "ended": ENDED})
    return tmp_path / "store.db"


def records(steps=WAITING):
    return [encode_step(each, plans()) for each in steps]


def broken(path, statement, *values):
    db = sqlite3.connect(path)
    db.execute(statement, values)
    db.commit()
    db.close()


def run(command, file, key, *, as_json):
    """Run a command in this process, and return its exit code."""
    words = [*([] if key is None else [key]), *(["--as-json"] if as_json else [])]
    with pytest.raises(SystemExit) as left:
        main(["checkpoint", command, str(file), *words])
    return left.value.code


show, verify = partial(run, "show"), partial(run, "verify")


def refengine(*arguments, cwd, **set_to) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "refengine", "checkpoint", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ | set_to,
    )


def asked(function, path, key=None, *, capsys):
    """Return the code and the JSON of a command."""
    code = function(path, key, as_json=True)
    return code, json.loads(capsys.readouterr().out)


def test_runs_are_listed_with_what_they_wait_for(store) -> None:
    done = refengine("show", "store.db", cwd=store.parent)

    assert (done.returncode, done.stdout, done.stderr) == (0, LISTED, "")
    assert [each.name for each in store.parent.iterdir()] == ["store.db"]


def test_a_run_is_shown_with_the_line_that_resumes_it(store, capsys) -> None:
    assert show(store, "t 1", as_json=False) == 0
    assert capsys.readouterr().out == SHOWN


def test_a_run_that_ended_is_not_resumed(store, capsys) -> None:
    assert show(store, "ended", as_json=False) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("go on: it has ended")


def test_several_answers_are_told_apart_in_the_line_that_resumes() -> None:
    pending = tuple(Pending(each, None) for each in (APPROVE, DELETE))
    steps = [*WAITING, Step(2, 1, Splice(3, ()), Point("tools"), pending=pending)]
    saved = kept("k", records(steps)).saved

    assert saved is not None
    assert resume_line("k", saved) == (
        "agent.resume('k', {'main 1 tool approve deploy(c1)': answer1,"
        " 'main 1 tool delete delete(c2)': answer2})"
    )


def test_a_run_under_way_is_resumed_by_its_key_alone() -> None:
    saved = kept("k", records(WAITING[:1])).saved

    assert saved is not None
    assert resume_line("k", saved) == "agent.resume('k')"


def test_json_says_of_a_run_what_is_kept_of_it(store, capsys) -> None:
    code, form = asked(show, store, "t 1", capsys=capsys)

    assert code == 0
    assert form["state"] == "interrupted"
    assert form["messages"][1]["extra"] == {"a": [1]}
    assert form["messages"][2]["content"] == "\ud800"
    assert form["messages"][2]["tool_calls"][0]["name"] == "deploy"
    assert form["locals"]["plan"]["$data"] == {"goal": "win"}
    assert form["context"] == {"who": "Ada"}
    assert form["pending"] == [{"address": str(APPROVE), "payload": {"ask": "now?"}}]
    assert form["resume"].startswith("agent.resume('t 1', ")


def test_json_lists_runs(store, capsys) -> None:
    code, form = asked(show, store, capsys=capsys)

    assert code == 0
    assert [each["key"] for each in form["runs"]] == ["ended", "t 1"]
    assert form["faults"] == []


def test_a_store_that_is_whole_is_told_with_its_counts(store, capsys) -> None:
    assert verify(store, None, as_json=False) == 0
    assert capsys.readouterr().out == f"{store}: 2 runs, 4 records: all is whole\n"


def test_a_file_of_records_is_one_run(tmp_path, capsys) -> None:
    path = tmp_path / "golden.ckpt"
    path.write_bytes(b"".join(records()))

    assert verify(path, None, as_json=False) == 0
    assert show(path, "golden", as_json=False) == 0
    assert "go on: put these records into a store" in capsys.readouterr().out


def test_a_file_may_hold_a_part_of_a_run(tmp_path, capsys) -> None:
    path = tmp_path / "part.ckpt"
    path.write_bytes(records()[1])

    assert verify(path, None, as_json=False) == 0
    assert show(path, None, as_json=False) == 0
    assert show(path, "part", as_json=False) == 0
    said = capsys.readouterr().out
    assert "'part'  a part of a run, steps 1 to 1\n" in said
    assert "step 1: phase tools, iteration 1, keeps 2 messages and adds 1\n" in said
    assert "  waits at main 1 tool approve deploy(c1): " in said


def test_json_says_what_each_step_of_a_part_changes(tmp_path, capsys) -> None:
    path = tmp_path / "part.ckpt"
    path.write_bytes(records()[1])

    code, form = asked(show, path, "part", capsys=capsys)

    (step,) = form["part"]
    assert (code, step["step"], step["keep"]) == (0, 1, 2)
    assert step["locals"]["pair"]["$data"] == [1, 2]
    assert step["pending"][0]["address"] == str(APPROVE)


def test_every_golden_file_is_whole_and_shown(capsys) -> None:
    files = sorted((Path(__file__).parent / "golden" / "checkpoints").rglob("*.ckpt"))

    assert files
    for each in files:
        assert (each, verify(each, None, as_json=False)) == (each, 0)
        assert show(each, each.stem, as_json=False) == 0
        assert show(each, each.stem, as_json=True) == 0


def changed(record):
    return record.replace(b"deploy", b"DEPLOY", 1)


def faults_of(path):
    return [(each.key, each.seq, each.kind) for each in contents(path).all_faults]


def test_a_changed_record_is_named_by_key_and_number(store, capsys) -> None:
    broken(
        store,
        "UPDATE records SET record = ? WHERE key = 't 1' AND seq = 1",
        changed(records()[1]),
    )

    assert verify(store, None, as_json=False) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("'t 1' record 1: DamagedCheckpointError: ")
    assert first.endswith("take a copy from before, or delete the run under that key")
    assert last.endswith("2 runs, 4 records: 1 fault")


def test_every_fault_is_named_not_only_the_first(tmp_path) -> None:
    fill(tmp_path / "store.db", a=WAITING, b=WAITING)
    broken(tmp_path / "store.db", "UPDATE records SET record = ?", b"nothing")

    assert faults_of(tmp_path / "store.db") == [
        (key, seq, "ForeignFileError") for key in "ab" for seq in (0, 1)
    ]


def test_a_run_that_cannot_be_read_hides_no_other(store, capsys) -> None:
    broken(store, "DELETE FROM records WHERE key = 't 1' AND seq = 0")

    assert show(store, None, as_json=False) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("'ended'  completed")
    assert lines[1] == "'t 1'    cannot be read"
    assert "key 't 1' has no record 0" in lines[-1]


def test_json_of_a_run_that_cannot_be_read_says_why(store, capsys) -> None:
    broken(store, "DELETE FROM records WHERE key = 't 1' AND seq = 0")

    code, form = asked(show, store, "t 1", capsys=capsys)

    assert (code, form["key"]) == (1, "t 1")
    assert form["faults"][0]["kind"] == "StoreDamagedError"


def test_a_whole_record_in_the_wrong_place_is_a_fault(store, capsys) -> None:
    broken(
        store,
        "UPDATE records SET record = ? WHERE key = 't 1' AND seq = 1",
        records()[0],
    )

    code, form = asked(verify, store, "t 1", capsys=capsys)

    assert code == 1
    assert {each["kind"] for each in form["faults"]} == {"BadRowError"}
    assert form["faults"][0]["what"].startswith("it says it is number 0: ")
    assert (form["runs"], form["records"]) == (1, 2)


def test_a_broken_file_is_told_as_far_as_it_can_be_read(store, capsys) -> None:
    content = bytearray(store.read_bytes())
    content[4096:8192] = b"\xa5" * 4096
    store.write_bytes(content)

    assert verify(store, None, as_json=False) == 1
    assert "the file: StoreDamagedError: " in capsys.readouterr().out


@pytest.mark.parametrize("cut", [10, 300, -1])
def test_a_cut_record_in_a_file_is_named(tmp_path, cut) -> None:
    path = tmp_path / "run.ckpt"
    first, second = records()
    path.write_bytes(first + second[:cut])

    assert faults_of(path) == [("run", 1, "TruncatedCheckpointError")]
    assert contents(path).runs[0].saved is None


def test_a_file_of_one_cut_record_is_a_fault_and_no_mistake(tmp_path) -> None:
    path = tmp_path / "run.ckpt"
    path.write_bytes(records()[0][:-20])

    assert faults_of(path) == [("run", 0, "TruncatedCheckpointError")]


@pytest.mark.parametrize("function", [show, verify])
@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("as_json", [False, True])
def test_an_empty_file_holds_nothing(tmp_path, function, key, as_json, capsys) -> None:
    path = tmp_path / "empty"
    path.touch()

    assert function(path, key, as_json=as_json) == 4
    assert capsys.readouterr().out


@pytest.mark.parametrize("function", [show, verify])
@pytest.mark.parametrize("key", [None, "k"])
def test_a_store_without_runs_holds_nothing(tmp_path, function, key) -> None:
    asyncio.run(emptied(tmp_path / "store.db"))

    assert function(tmp_path / "store.db", key, as_json=False) == 4


async def emptied(path):
    async with SqliteStore(path) as store:
        assert list(await store.keys()) == []


@pytest.mark.parametrize("command", ["show", "verify"])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.db"], "nowhere.db: No such file"),
        (["."], "this is not a plain file"),
        (["text"], "text: this is neither SQLite nor records"),
        (["text", "t 1"], "text: this is neither SQLite nor records"),
        (["store.db", "t1"], "no checkpoint 't1': did you mean 't 1'?"),
    ],
)
def test_a_mistake_is_told_in_a_line(store, command, arguments, says, capsys) -> None:
    (store.parent / "text").write_text("text")
    path, *key = arguments
    function = {"show": show, "verify": verify}[command]
    code = function(store.parent / path, *(key or [None]), as_json=False)

    told = capsys.readouterr()
    assert (code, told.out) == (2, "")
    assert told.err.startswith(f"refengine checkpoint {command}: ")
    assert says in told.err
    assert told.err.count("\n") == 1


def test_a_database_without_tables_is_left_as_it_is(tmp_path) -> None:
    path = tmp_path / "some.db"
    broken(path, "CREATE TABLE passing (x)")
    broken(path, "DROP TABLE passing")
    before = path.read_bytes()

    assert verify(path, None, as_json=False) == 2
    assert path.read_bytes() == before


def test_a_store_that_is_in_use_is_shown(store, capsys) -> None:
    async def play():
        async with SqliteStore(store) as used:
            await used.append("new", 0, records()[0])
            return await asyncio.to_thread(show, store, "new", as_json=False)

    assert asyncio.run(play()) == 0
    assert "1 step" in capsys.readouterr().out


def test_no_text_of_a_file_reaches_a_terminal_as_it_is(tmp_path, capsys) -> None:
    start = replace(START, agent="a\x1b[2J", profile="p\x1b[2J")
    end = Step(1, 1, Splice(2, ()), Point("end", status="s\x1b[2J"))
    fill(tmp_path / "store.db", **{"k\x1b": [replace(ENDED[0], start=start), end]})

    for key in (None, "k\x1b"):
        assert show(tmp_path / "store.db", key, as_json=False) == 0
        assert "\x1b" not in capsys.readouterr().out


def test_what_a_terminal_has_no_letters_for_is_escaped(tmp_path) -> None:
    fill(tmp_path / "store.db", **{"k ä": ENDED})

    done = refengine("show", "store.db", cwd=tmp_path, PYTHONIOENCODING="ascii")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("'k \\xe4'  completed")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ä 🜂", "plain ä 🜂"),
        ("\x1b[2J\r\n\t\0", "\\x1b[2J\\r\\n\\t\\x00"),
        ("\u202egpj\u200b", "\\u202egpj\\u200b"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_a_terminal_would_act_on_is_escaped(text, shown) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("entry", "how"),
    [
        (Entry("tool", "t", done=True, answers=("yes",)), "done"),
        (Entry("tool", "t"), "interrupted"),
        (Entry("tool", "t", waiting=Pending(APPROVE, "?")), "interrupted"),
        (Entry("tool", "t", answers=("yes",)), "answered, not ended"),
        (
            Entry(
                "wrap_invokable_tool_call",
                "t",
                answers=("yes",),
                inner=(Entry("tool", "t", waiting=Pending(APPROVE, "?")),),
            ),
            "interrupted",
        ),
    ],
)
def test_a_call_says_how_far_it_is(entry: Entry, how: str) -> None:
    saved = Saved(START, 1, 1, (), {}, Point("tools", entries=(entry,)), (), ())
    lines = [*run_lines("k", saved, is_store=True)]

    assert [each.split(": ")[1] for each in lines if each.startswith("  0  ")] == [how]

"""Children and how they are called: what they answer, ask for, and do wrong."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from compat import process
from compat.process import (
    BadFrameError,
    ChildClosedError,
    ChildDiedError,
    ChildHungError,
    ChildProcess,
    LongFrameError,
    move,
    python,
)
from refengine.testing.child import FAILED, NO_METHOD, PROTOCOL, CallError

ROOT = str(Path(__file__).parent.parent)

SERVED = f"""
import os, sys, time
sys.path.insert(0, {ROOT!r})
from refengine.testing.child import CallError, Connection

def echo(params):
    return params

def fail(params):
    raise CallError("it failed", {{"kind": "so"}}, 7)

def both(params):
    "Call the parent, which may call again, and return what it said."
    if params["depth"] == 0:
        return []
    return [params["depth"], *connection.call("down", {{"depth": params["depth"] - 1}})]

def ask(params):
    try:
        return connection.call(params["method"], {{}})
    except CallError as error:
        return [error.code, error.message, error.data]

def show(params):
    print(params["text"])

def sleep(params):
    time.sleep(params["seconds"])

def work(params):
    while time.process_time() < params["until"]:
        pass
    return time.process_time()

def leave(params):
    print("last words", flush=True)
    os._exit(params["code"])

def write(params):
    os.write(connection._replies, params["line"].encode())
    time.sleep(60)

names = (echo, fail, both, ask, show, sleep, work, leave, write)
connection = Connection({{each.__name__: each for each in names}})
connection.serve()
print("served", file=sys.stderr)
"""

RAW = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    event = {"method": "event", "params": {"n": call["id"]}}
    print(json.dumps({"jsonrpc": "2.0", **event}))
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": call}), flush=True)
"""


@pytest.fixture
def started():
    """Return a function that starts a child; each is ended."""
    children = []

    def start(code=SERVED, **how):
        child = ChildProcess([sys.executable, "-P", "-c", code], **how)
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()


@pytest.fixture
def child(started):
    made = started()
    made.wait(made.initialize(30.0))
    return made


def test_child_answers_with_the_version_of_the_protocol(started):
    child = started()
    call = child.initialize(30.0)
    child.wait(call)

    assert call.result == {"protocol": PROTOCOL}


def test_call_returns_what_the_function_does(child):
    assert child.call("echo", {"text": "ä\n\ud800", "n": 1.5}, 30.0) == {
        "text": "ä\n\ud800",
        "n": 1.5,
    }


def test_error_of_a_function_has_code_message_and_data(child):
    with pytest.raises(CallError) as caught:
        child.call("fail", {}, 30.0)

    error = caught.value
    assert (error.code, error.message, error.data) == (7, "it failed", {"kind": "so"})


def test_method_that_is_not_there_is_an_error_and_no_end(child):
    with pytest.raises(CallError, match="there is no method 'sing'") as caught:
        child.call("sing", {}, 30.0)

    assert caught.value.code == NO_METHOD
    assert child.call("echo", {}, 30.0) == {}


def test_calls_sent_ahead_are_answered_in_order(child):
    calls = [child.start("echo", {"n": n}, 30.0, n) for n in range(3_000)]
    child.wait(calls[-1])

    assert [call.result["n"] for call in calls] == [call.label for call in calls]


def test_several_children_are_moved_together(started):
    children = [started() for _ in range(3)]
    text = "x" * 300_000
    calls = [each.start("echo", {"text": text}, 30.0) for each in children * 2]
    while any(call.reply is None for call in calls):
        move(children)

    assert {call.result["text"] for call in calls} == {text}


def test_calls_nest_both_ways(started):
    def down(params):
        return child.call("both", params, 30.0)

    child = started(functions={"down": down})

    assert child.call("both", {"depth": 5}, 30.0) == [5, 4, 3, 2, 1]


def test_error_of_ours_reaches_the_child(started):
    def refuse(params):
        raise CallError("not now", {"kind": "busy"})

    child = started(functions={"refuse": refuse})

    assert child.call("ask", {"method": "refuse"}, 30.0) == [
        FAILED,
        "not now",
        {"kind": "busy"},
    ]
    assert child.call("ask", {"method": "sing"}, 30.0)[0] == NO_METHOD


def test_time_of_our_functions_is_not_the_childs(started):
    def slow(params):
        time.sleep(1.5)

    child = started(functions={"slow": slow})
    child.wait(child.initialize(30.0))

    assert child.call("ask", {"method": "slow"}, 1.0) is None


def test_notification_gets_no_reply(started):
    seen = []
    child = started(RAW, functions={"event": lambda params: seen.append(params["n"])})

    assert child.call("anything", {"a": 1}, 30.0) == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "anything",
        "params": {"a": 1},
    }
    assert child.call("more", {}, 30.0)["id"] == 2
    assert seen == [1, 2]


def test_what_is_printed_is_no_reply_and_belongs_to_its_call(child):
    calls = [
        child.start("show", {"text": text}, 30.0) for text in ('{"id": 2}', "", "c\nd")
    ]
    child.wait(calls[-1])

    assert [call.printed.lines for call in calls] == [('{"id": 2}',), ("",), ("c", "d")]


def test_log_may_be_a_file(started):
    with tempfile.TemporaryFile() as log:
        child = started(log=log)
        child.call("show", {"text": "first\nlast"}, 30.0)
        with pytest.raises(ChildDiedError) as caught:
            child.call("leave", {"code": 3}, 30.0)

        assert caught.value.last_line == "last words"
        assert log.seek(0) == 0
        assert log.read() == b"first\nlast\nlast words\n"


# What goes wrong


def test_child_that_ends_says_how_and_what_it_printed_last(child):
    with pytest.raises(ChildDiedError) as caught:
        child.call("leave", {"code": 3}, 30.0)

    error = caught.value
    assert error.call is not None
    assert (error.status, error.call.method) == (3, "leave")
    assert str(error) == (
        "the process ended with exit status 3 in its call of 'leave';"
        " it printed last: last words"
    )


def test_child_that_is_killed_says_by_what(child):
    os.kill(child.process.pid, signal.SIGKILL)
    with pytest.raises(ChildDiedError, match="was killed by SIGKILL"):
        child.call("echo", {}, 30.0)
    with pytest.raises(ChildDiedError, match="was killed by SIGKILL"):
        child.call("echo", {}, 30.0)


def test_child_that_hangs_is_ended(child):
    first = child.start("echo", {}, 30.0)
    slow = child.start("sleep", {"seconds": 60}, 0.3)
    child.start("echo", {}, 30.0)
    with pytest.raises(ChildHungError, match=r"gave no answer within 0\.3 s") as caught:
        child.wait(slow)

    assert first.result == {}
    assert caught.value.call is slow
    assert child.process.returncode == -signal.SIGKILL


@pytest.fixture
def busy(child):
    """Have three others on the one processor that the child has."""
    code = "while True: pass"
    others = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    one = {min(os.sched_getaffinity(0))}
    for each in (child, *others):
        os.sched_setaffinity(getattr(each, "process", each).pid, one)
    yield child
    for each in others:
        each.kill()
        each.wait()


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(),
    reason="nobody counts here what a process waited",
)
def test_what_a_call_waits_for_a_processor_is_not_counted(busy):
    spent = busy.call("work", {"until": 0.0}, 30.0)
    before = process.queued(busy.process.pid)
    busy.call("work", {"until": spent + 0.6}, 1.0)

    assert process.queued(busy.process.pid) > before  # it was in others' way
    with pytest.raises(ChildHungError, match=r"gave no answer within 0\.5 s"):
        busy.call("work", {"until": 1e9}, 0.5)


@pytest.mark.parametrize(
    "line",
    [
        "hello\n",
        "[]\n",
        '{"jsonrpc": "2.0", "id": 99, "result": 1}\n',
        '{"jsonrpc": "2.0", "id": 2}\n',
        '{"jsonrpc": "2.0", "id": 2, "error": "so"}\n',
        "[" * 100_000 + "\n",
        "\xff\n",
    ],
)
def test_line_that_is_no_message_is_named(child, line):
    with pytest.raises(BadFrameError) as caught:
        child.call("write", {"line": line}, 30.0)

    assert caught.value.frame == line.removesuffix("\n").encode()
    assert "wrote a line that is not a message: " in str(caught.value)
    assert len(str(caught.value)) < 200


def test_line_that_is_too_long_is_not_kept(child, monkeypatch):
    monkeypatch.setattr(process, "LONGEST", 100_000)
    with pytest.raises(LongFrameError, match="a line of more than 100000 bytes"):
        child.call("write", {"line": "x" * 200_000}, 30.0)


def test_result_that_is_no_json_ends_the_child_with_a_traceback(started):
    code = SERVED.replace("return params\n", "return {1j}\n", 1)
    child = started(code)
    with pytest.raises(ChildDiedError, match="TypeError: Object of type set"):
        child.call("echo", {}, 30.0)


# Ends


def test_child_ends_by_itself_when_it_is_let(child):
    assert child.end(grace=10.0) == 0
    assert child.last_line == "served"
    with pytest.raises(ChildClosedError, match="was ended"):
        child.call("echo", {}, 30.0)


def test_child_that_goes_on_is_ended(started):
    child = started("import time; time.sleep(60)")

    assert child.end(grace=0.1) == -signal.SIGKILL


def test_shutdown_is_a_call_like_others(started):
    code = "import sys; print(*sys.stdin, file=sys.stderr)"
    child = started(code)
    child.end(grace=10.0)

    assert json.loads(child.last_line)["method"] == "shutdown"


@pytest.mark.parametrize(
    "name", ["refengine.py", "json.py", "subject_server.py", "testing.py"]
)
def test_our_packages_are_found_whatever_the_path_holds(tmp_path, name):
    (tmp_path / name).write_text("raise AssertionError")
    path = os.pathsep.join((str(tmp_path), "")) if name != "json.py" else ""
    env = {**os.environ, "PYTHONPATH": path}
    main = "refengine.testing.subject_server"
    child = ChildProcess(python(main), cwd=tmp_path, env=env)
    try:
        child.wait(child.initialize(30.0))
        with pytest.raises(CallError) as caught:
            child.call("play", {}, 30.0)
    finally:
        child.kill()

    assert caught.value.data == {"kind": "harness"}


def test_module_is_found_in_its_package_and_not_next_to_it(tmp_path):
    """Our packages may stand in a folder with others, as in site-packages."""
    (tmp_path / "compat").mkdir()
    (tmp_path / "compat" / "child.py").write_text("def main(): print('ours')")
    (tmp_path / "refengine.py").touch()
    (tmp_path / "child.py").write_text("raise AssertionError")
    command = [*python("compat.child")]
    command[command.index(ROOT)] = str(tmp_path)

    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "ours\n"

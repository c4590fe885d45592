"""Subjects in child processes: what they may do, and what is told when they do not."""

import inspect
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from compat import process
from compat.migration.refs import parse_ref
from compat.migration.replies import SideFault
from compat.migration.subject_process import SubjectProcess, play_together
from refengine.testing import Scenario
from refengine.testing.loading import OwnLoader
from refengine.testing.probes import Branches

PLAYED = """
from refengine import AgentMiddleware
from refengine.testing.subjects import intends

def kind():
    return [AgentMiddleware(additional_instruction="Be kind.")]
"""


def world(instruction: str = "Be brief.", turns: int = 1) -> Scenario:
    """Return a world whose instruction tells a subject what to do."""
    runs = [{"input": ("user:hi",)} for _ in range(turns)]
    agent = {"instruction": instruction}
    data = {"agent": agent, "model_script": ("assistant:ok",), "runs": tuple(runs)}
    return Scenario.model_validate(data)


def written(folder: Path, body: str, name: str = "mw.py", head: str = PLAYED) -> Path:
    path = folder / name
    path.write_text(head + textwrap.dedent(body), "utf-8")
    return path


def started(folder: Path, body: str, **how: object) -> SubjectProcess:
    """Start a side whose subject is the function ``subject`` of that source."""
    ref = parse_ref(str(written(folder, body)))
    return SubjectProcess(ref, "old", **how).waited()


def fault_in(folder: Path, body: str, *, timeout: float = 10) -> SideFault:
    """Return the fault of playing world 7, in which the subject does ``body``."""
    lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    source = f"def subject(world):\n{lines}\n    return kind()\n"
    with (
        started(folder, source, timeout=timeout) as side,
        pytest.raises(SideFault) as caught,
    ):
        side.play(world(), 7)
    return caught.value


def fault_at_import(folder: Path, body: str, **how: float) -> SideFault:
    source = f"{textwrap.dedent(body)}\ndef subject(world): return kind()\n"
    with pytest.raises(SideFault) as caught:
        started(folder, source, **how)
    return caught.value


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended, or is about to be reaped by somebody else."""
    end = time.monotonic() + 2
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2]
        except FileNotFoundError:
            return True
        if state.split()[0] in "ZX":
            return True
    return False


def descriptors() -> set[str]:
    """Return the numbers of what is open in this process."""
    return {each.name for each in Path("/proc/self/fd").iterdir()}


FINE = "def subject(world): return kind()"


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SubjectProcess]:
    """Return a side that does what the instruction of the world says, in Python."""
    body = """
    import os, subprocess, sys
    count = 0

    @intends("the model is asked once a run")
    def once(trace):
        return len(trace.of("model_request")) == len(trace.of("run_start"))

    def subject(world):
        global count
        count += 1
        exec(world.instruction)
        return kind()
    """
    with started(tmp_path_factory.mktemp("talker"), body) as side:
        yield side


# What a subject may do


def test_trace_and_hooks_come_back(talker):
    played = talker.play(world("pass"))

    assert played.trace.of("model_request")
    assert played.hooks == {"middlewares[0].additional_instruction": 1}


@pytest.mark.parametrize(
    "code",
    [
        "print('y' * 200_000)",
        "os.write(1, b'y' * 200_001)",
        "sys.stderr.write('y' * 200_001)",
        "os.system('head -c 200001 /dev/zero | tr \"\\\\0\" y')",
        "subprocess.run([sys.executable, '-c', 'print(200_000 * \"y\")'], check=True)",
    ],
)
def test_printing_is_counted_and_harms_nothing(talker, code):
    printed = talker.play(world(code)).printed

    assert printed.size == 200_001
    assert printed.lines[0].startswith("yyy")


def test_what_is_printed_belongs_to_its_world(talker):
    codes = ["print('a')", "pass", "print('c'); print('d')"]
    played = list(talker.play_all(world(code) for code in codes))

    assert [each.printed.lines for each in played] == [("a",), (), ("c", "d")]


def test_lone_surrogate_can_be_printed(talker):
    assert talker.play(world("print(chr(0xd83d))")).printed.lines == ("\\ud83d",)


def test_input_is_empty(talker):
    code = "assert sys.stdin.read() == '' == subprocess.getoutput('cat')"

    assert talker.play(world(code)).trace


def test_program_started_with_preexec_fn_is_no_fork(talker):
    code = "subprocess.run(['true'], preexec_fn=os.getpid, check=True)"

    assert talker.play(world(code)).trace


def test_closed_stdout_harms_nothing(tmp_path):
    body = """
    import sys, os
    def subject(world):
        sys.stdout.close()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        return kind()
    """
    with started(tmp_path, body) as side:
        assert len(list(side.play_all([world(), world()]))) == 2


def test_large_worlds_and_traces_pass_through_the_pipes(talker):
    big = [world(f"#{'x' * 300_000}") for _ in range(3)]

    assert [len(each.jsonl) > 300_000 for each in talker.play_all(big)] == [True] * 3


def test_intended_effects_are_checked(talker):
    jsonl = talker.play(world("pass")).jsonl

    assert talker.loaded.intents == ("the model is asked once a run",)
    assert talker.broken_intents(jsonl) == []
    assert talker.broken_intents(jsonl.replace("run_start", "run_end")) == [
        "the model is asked once a run"
    ]


def test_each_side_has_modules_of_its_own(tmp_path):
    body = """
    count = 0
    def subject(world):
        global count
        count += 1
        world.effect("count", count)
        return kind()
    """
    ref = parse_ref(str(written(tmp_path, body)))
    with SubjectProcess(ref, "old") as old, SubjectProcess(ref, "new") as new:
        old.play(world())
        (pair,) = play_together([old, new], [world()])

    counts = [each.trace.of("effect")[0].data["data"] for each in pair]
    assert counts == [2, 1]


def test_neighbours_are_found_and_belong_to_the_subject(tmp_path):
    written(tmp_path, "", name="helper.py")
    body = "import json, helper, refengine\nfrom helper import kind\n" + FINE
    with SubjectProcess(
        parse_ref(str(written(tmp_path, body, head=""))), "old"
    ).waited() as side:
        assert side.loaded.folder.name == "folder"  # a copy of it
        assert side.loaded.files == ("mw.py", "helper.py")


def test_module_is_found_from_the_working_directory(tmp_path):
    (tmp_path / "compat").mkdir()
    (tmp_path / "compat" / "__init__.py").touch()
    written(tmp_path / "compat", FINE, name="ours.py")
    ref = parse_ref("compat.ours:subject", cwd=tmp_path)
    with SubjectProcess(ref, "new").waited() as side:
        assert side.play(world()).trace
        assert side.loaded.files == ("compat/ours.py", "compat/__init__.py")


def test_file_may_be_called_like_a_module_in_use(tmp_path):
    with SubjectProcess(
        parse_ref(str(written(tmp_path, FINE, "typing.py"))), "old"
    ).waited() as it:
        assert it.play(world()).trace


def test_nothing_is_left_in_the_folder(tmp_path):
    written(tmp_path, "", name="helper.py", head="")
    body = """
    import helper, os, subprocess, sys
    here = os.path.dirname(__file__)
    subprocess.run([sys.executable, "-c", "import helper"], cwd=here, check=True)
    def subject(world): return kind()
    """
    with started(tmp_path, body) as side:
        side.play(world())

    assert {each.name for each in tmp_path.iterdir()} == {"mw.py", "helper.py"}


def test_child_needs_no_command_line_and_no_strategies():
    code = "import refengine.testing.subject_server, sys; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert not {"hypothesis", "click", "rich", "compat"} & set(out.stdout.split())


# What it may not do


@pytest.mark.parametrize(
    "code",
    [
        "import select; select.select([], [], [], 60)",
        "while True: pass",
        "import signal; signal.signal(15, signal.SIG_IGN)\nwhile True: pass",
        "import threading; threading.Event().wait()",
        "while True: print('y' * 1000)",
    ],
)
def test_hang_is_told_with_its_line_and_ended(tmp_path, code):
    fault = fault_in(tmp_path, code, timeout=1)

    assert (fault.kind, fault.world) == ("timeout", 7)
    assert fault.text.startswith("did not end within 1 s (mw.py, line ")


def test_hang_at_import_is_ended(tmp_path):
    body = "import time\ntime.sleep(60)"
    fault = fault_at_import(tmp_path, body, import_timeout=4)

    assert str(fault) == (
        f"old ({tmp_path / 'mw.py'}): was not imported within 4 s (mw.py, line 8);"
        " make it end, or allow it more time"
    )


def test_world_is_named_though_others_wait_behind_it(tmp_path):
    body = """
    def subject(world):
        while world.instruction == "hang": pass
        return kind()
    """
    worlds = [world(), world("hang"), world(), world()]
    with started(tmp_path, body, timeout=2) as side:
        playing = side.play_all(worlds, first=1)

        assert next(playing).trace
        with pytest.raises(SideFault) as caught:
            next(playing)
        assert caught.value.world == 2
        assert not side.alive


def test_side_that_is_over_says_why_again(tmp_path):
    with started(tmp_path, FINE) as side:
        os.kill(side.child.process.pid, signal.SIGKILL)
        with pytest.raises(SideFault, match="died of SIGKILL"):
            side.play(world())
        with pytest.raises(SideFault, match="died of SIGKILL"):
            side.play(world())


@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        ("raise SystemExit(3)", "exit", "raised SystemExit: 3 (mw.py, line 8)"),
        ("raise KeyboardInterrupt", "exit", "KeyboardInterrupt"),
        ("import os; os._exit(3)", "ended", "ended with exit status 3"),
        ("import os; os._exit(0)", "ended", "ended with exit status 0"),
        ("import os; os.kill(os.getpid(), 9)", "killed", "died of SIGKILL"),
        ("import os; os.kill(os.getpid(), 11)", "killed", "SIGSEGV (mw.py, line 8)"),
        ("return 3", "wrong-result", "subject(world) returned 3"),
        ("import os; os.fork()", "fork", "it forks"),
        ("world.effect('x', object())", "effect", "world.effect('x', ...)"),
    ],
)
def test_fault_in_a_world_is_told(tmp_path, code, kind, text):
    fault = fault_in(tmp_path, code)

    assert (fault.kind, fault.world) == (kind, 7)
    assert text in fault.text


def test_world_in_which_a_subject_raises_is_played_and_outside_its_domain(tmp_path):
    body = "def subject(world):\n    raise ValueError('so')\n"

    with started(tmp_path, body) as side:
        played = side.play(world())

    assert played.unbuilt == "ValueError: so (mw.py, line 8)"
    assert played.refused == f"subject(world) raised {played.unbuilt}"
    assert [each.kind for each in played.trace] == ["build_error"]


def test_what_takes_too_long_a_line_to_tell_is_the_subjects(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "LONGEST", 100_000)

    fault = fault_in(tmp_path, "world.effect('x', 'y' * 200_000)")

    assert (fault.kind, fault.world) == ("large", 7)
    assert fault.text == "to tell what it does takes more than 100,000 bytes"
    assert str(fault).endswith("; make its texts, results and errors shorter")


def test_subject_that_never_stops_asking_is_told(tmp_path):
    code = """
    from refengine import Interrupt, with_before_model_rewrite_history
    def ask(ctx, messages):
        raise Interrupt("more?")
    return [with_before_model_rewrite_history(ask)]
    """
    fault = fault_in(tmp_path, code)

    assert (fault.kind, fault.world) == ("endless", 7)
    assert "more than 50 times, and asks 'more?' again" in fault.text


def test_forked_copy_ends_at_once(tmp_path):
    code = """
    import multiprocessing
    import pathlib
    left = pathlib.Path(__file__).with_name("left")
    it = multiprocessing.get_context("fork").Process(target=left.touch)
    it.start()
    it.join()
    """
    fault = fault_in(tmp_path, code)

    assert fault.kind == "fork"
    assert not (tmp_path / "left").exists()


def test_fault_of_one_world_does_not_end_the_side(tmp_path):
    body = """
    def subject(world):
        if world.instruction == "bad": world.effect("x", object())
        return kind()
    """
    with started(tmp_path, body) as side:
        with pytest.raises(SideFault):
            list(side.play_all([world("bad"), world(), world()]))

        assert side.play(world()).trace


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("1 / 0", "import", "ZeroDivisionError: division by zero (mw.py, line 7)"),
        ("import nowhere", "import", "No module named 'nowhere' (mw.py, line 7)"),
        ("def f(:", "syntax", "SyntaxError: invalid syntax (mw.py, line 7)"),
        ("return 3", "syntax", "'return' outside function (mw.py, line 7)"),
        ("raise SystemExit", "exit", "SystemExit"),
        ("import os; os._exit(4)", "ended", "exit status 4"),
        ("import os; os.fork()", "fork", "it forks"),
    ],
)
def test_fault_at_import_is_told(tmp_path, body, kind, text):
    fault = fault_at_import(tmp_path, body)

    assert (fault.kind, fault.world) == (kind, None)
    assert text in fault.text


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("mw.py:subjekt", "missing-name", "has no 'subjekt': did you mean 'subject'?"),
        ("mw.py:LIMIT", "not-callable", "'LIMIT' is of type int"),
        ("mww:subject", "missing-file", "no module 'mww'; did you mean 'mw'?"),
        ("mw.x:subject", "missing-file", "no module 'mw.x'"),
    ],
)
def test_wrong_reference_is_told(tmp_path, name, kind, text):
    written(tmp_path, f"LIMIT = 3\n{FINE}")
    with pytest.raises(SideFault) as caught:
        SubjectProcess(parse_ref(name, cwd=tmp_path), "new").waited()

    assert caught.value.kind == kind
    assert text in str(caught.value)


def test_file_of_a_package_is_told_its_name_as_a_module(tmp_path):
    (tmp_path / "pack").mkdir()
    written(tmp_path / "pack", "from . import other\n" + FINE)
    with pytest.raises(SideFault, match=r"as a module: pack\.mw:subject"):
        SubjectProcess(parse_ref("pack/mw.py", cwd=tmp_path), "new").waited()


def test_raising_predicate_is_a_fault(tmp_path):
    body = f"@intends('good')\ndef good(trace): return trace[99]\n{FINE}"
    with (
        started(tmp_path, body) as side,
        pytest.raises(SideFault, match="'good': IndexError"),
    ):
        side.broken_intents("")


# Endings


def test_what_a_subject_started_ends_with_it(tmp_path):
    body = """
    import subprocess
    def subject(world):
        world.effect("pid", subprocess.Popen(["sleep", "60"]).pid)
        return kind()
    """
    with started(tmp_path, body) as side:
        effects = side.play(world()).trace.of("effect")
        [pid] = [e.data["data"] for e in effects if e.data["name"] == "pid"]
        child = side.child.process.pid

        assert Path(f"/proc/{pid}").exists()
    assert is_gone(pid)
    assert not Path(f"/proc/{child}").exists()


def test_clean_up_of_the_subject_runs(tmp_path):
    body = "import atexit, pathlib\n" + FINE
    body += f"\natexit.register(pathlib.Path({str(tmp_path / 'left')!r}).touch)"
    with started(tmp_path, body):
        pass

    assert (tmp_path / "left").exists()


def test_no_descriptor_is_left_open(tmp_path):
    ref = parse_ref(str(written(tmp_path, FINE)))
    for _ in range(2):  # what is warm from the second child on stays open
        SubjectProcess(ref, "old").waited().close()
    before = descriptors()
    SubjectProcess(ref, "old").waited().close()
    with pytest.raises(SideFault):
        SubjectProcess(parse_ref(f"{tmp_path / 'mw.py'}:nobody"), "old").waited()

    assert descriptors() == before


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_child_that_hangs_ends_with_its_parent(tmp_path, end):
    written(tmp_path, "def subject(world):\n    while True: pass")
    code = f"""
import os, threading
from compat.migration.refs import parse_ref
from compat.migration.subject_process import SubjectProcess
from refengine.testing import parse_scenario
side = SubjectProcess(parse_ref("mw.py"), "old").waited()
print(side.child.process.pid, flush=True)
threading.Timer(0.1, os.kill, (os.getpid(), {int(end)})).start()
side.play(parse_scenario({world().model_dump_json(exclude_defaults=True)!r}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
    )

    assert is_gone(int(done.stdout))


# Hash seeds


def order(folder: Path, hash_seed: int) -> list[Any]:
    """Return the order in which a child with that seed goes through a set of texts."""
    body = """
    def subject(world):
        for each in {"a", "b", "c", "d", "e", "f", "g", "h"}:
            world.effect("each", each)
        return kind()
    """
    with started(folder, body, hash_seed=hash_seed) as side:
        return [each.data["data"] for each in side.play(world()).trace.of("effect")]


def test_hash_seed_decides_the_order_of_a_set_of_texts(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    first, again, other = (order(tmp_path, seed) for seed in (0, 0, 1))

    assert first == again
    assert sorted(first) == sorted(other)
    assert first != other


def test_hash_seed_of_the_environment_is_kept_only_for_seed_0(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    kept, same, other = (order(tmp_path, seed) for seed in (0, 1, 2))

    assert kept == same
    assert kept != other


# Branches


def test_arms_are_told_and_those_taken_counted(tmp_path):
    body = """
    LIMIT = 3 if kind else 4
    def subject(world):
        if len(world.instruction) > LIMIT:
            return kind()
        return [*kind()]
    """
    with started(tmp_path, body) as side:
        short, long = side.play_all([world(""), world("Be brief.")])
        arms = {arm.id: arm for arm in side.loaded.arms}

    yes, no = arms
    assert [arms[yes].text, arms[no].text] == [
        "if len(world.instruction) > LIMIT: true",
        "if len(world.instruction) > LIMIT: false",
    ]
    assert (arms[yes].file, arms[yes].line) == ("mw.py", 10)
    assert (short.arms, long.arms) == ({no}, {yes})


def test_module_imported_in_a_world_brings_its_arms(tmp_path):
    written(tmp_path, "def f(x): return 1 if x else 2", name="late.py", head="")
    body = """
    def subject(world):
        from late import f
        f(world)
        return kind()
    """
    with started(tmp_path, body) as side:
        assert side.loaded.arms == ()
        (taken,) = side.play(world()).arms
        assert [arm.text for arm in side.loaded.arms if arm.id == taken] == [
            "… if x: true"
        ]
        assert side.loaded.files == ("mw.py", "late.py")


SNIPPETS = """
from __future__ import annotations
'''A module.'''
import asyncio

def ways(a, b: int if 1 else 2 = 1):
    '''Say which way.'''
    if a and not b or a == 3:
        return "first"
    elif (c := a) and b:
        return "second", c
    elif a is None: return 1 / 0
    return a or b, a and b, a if b else not a

def loops(a, b):
    seen = []
    for x in range(a or 0):
        if x == b: break
        for y in (): seen.append(y)
        else: seen.append(x)
    else:
        seen.append("else")
    while b and b > 0:
        b -= 1
        if b % 2: continue
        seen.append(b)
    odd = {x: y for x in seen for y in [x] if y}
    return seen, [x for x in seen if x if x != 2], odd

def named(a, b):
    for x in range(2): pass
    return locals()

def caught(a, b):
    try:
        return a / b
    except (ZeroDivisionError, NameError) as error:
        return str(error)
    except TypeError:
        raise ValueError("no") from None
    finally:
        a = b

def matched(a, b):
    match a:
        case 0 if b: return "zero"
        case int() | str(): return a
        case [x, *rest] if rest or x: return rest
    match b:
        case 1: return "one"
        case other: return other

class Odd:
    asked = 0
    for name in (1, 2): pass
    def __bool__(self):
        type(self).asked += 1
        return self.asked % 3 == 0

def asked(a, b):
    Odd.asked = 0
    odd = Odd()
    got = odd and odd or odd
    if odd or odd and not odd: got = [got, Odd.asked]
    return type(got).__name__, Odd.asked, [1 for _ in range(4) if odd or odd]

def waits(a, b):
    async def tick(x):
        await asyncio.sleep(0)
        return x
    async def ticks():
        for x in (a, b):
            yield await tick(x)
    async def main():
        got = [x async for x in ticks() if await tick(x) or x is None]
        async for x in ticks():
            if await tick(x) and not await tick(b): got.append(x)
        return got, (await tick(a) if await tick(b) else await tick(1))
    return asyncio.run(main())

def yields(a, b):
    def inner():
        got = (yield 1) or (yield 2)
        while got and (yield got): got = None
        return got
    it = inner()
    out = [next(it)]
    try:
        while True: out.append(it.send(a))
    except StopIteration as stop:
        return out, stop.value

chosen = (lambda a, b=(1 if Odd else 2): [b if a else a, lambda: b or a][0])
"""
NAMES = [
    "ways",
    "loops",
    "named",
    "caught",
    "matched",
    "asked",
    "waits",
    "yields",
    "chosen",
]
VALUES = (None, 0, 1, 3, "", "x", [], [0], [1, 2])


def both(path: Path) -> tuple[ModuleType, ModuleType, Branches]:
    """Return the module of that file, plain and with probes."""
    branches = Branches()
    branches.install()
    plain, probed = ModuleType("m"), ModuleType("m")
    exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), vars(plain))  # noqa: S102  # as an import does it
    exec(OwnLoader("m", str(path), "m.py", branches).get_code("m"), vars(probed))  # noqa: S102  # as an import does it
    return plain, probed, branches


def outcome(module: ModuleType, name: str, a: object, b: object) -> object:
    """Return what a call gives, or what it raises and through which lines."""
    try:
        return getattr(module, name)(a, b)
    except Exception as error:  # noqa: BLE001  # it is the outcome
        lines = []
        at = error.__traceback__
        while at is not None:
            place = list(at.tb_frame.f_code.co_positions())[at.tb_lasti // 2]
            lines.append((at.tb_frame.f_code.co_name, place))
            at = at.tb_next
        return type(error), str(error), lines[1:]


@pytest.mark.parametrize("name", NAMES)
def test_code_with_probes_means_the_same(tmp_path, name):
    plain, probed, _ = both(written(tmp_path, SNIPPETS, "m.py", head=""))

    for a, b in itertools.product(VALUES, VALUES):
        assert outcome(probed, name, a, b) == outcome(plain, name, a, b), (a, b)


def test_code_with_probes_looks_the_same(tmp_path):
    plain, probed, _ = both(written(tmp_path, SNIPPETS, "m.py", head=""))

    for name in NAMES[:-1]:
        ours, theirs = getattr(probed, name), getattr(plain, name)
        assert inspect.getsource(ours) == inspect.getsource(theirs)
        assert ours.__doc__ == theirs.__doc__
        assert ours.__annotations__ == theirs.__annotations__
    assert vars(probed).keys() == vars(plain).keys()
    assert vars(probed.Odd).keys() == vars(plain.Odd).keys()
    assert probed.__doc__ == plain.__doc__


@pytest.mark.parametrize(
    ("call", "taken"),
    [
        ("ways(3, 1)", "… or a == 3: reached"),
        ("ways(1, 0)", "a and (not b) or …: true"),
        ("ways(0, 0)", "a and …: false"),
        ("loops(0, 0)", "for x in range(a or 0): not entered"),
        ("caught(1, 0)", "except (ZeroDivisionError, NameError): entered"),
        ("matched(None, 1)", "match a: no case"),
        ("chosen(0)", "… if a: false"),
    ],
)
def test_arm_that_was_taken_is_told(tmp_path, call, taken):
    _, probed, branches = both(written(tmp_path, SNIPPETS, "m.py", head=""))
    eval(call, vars(probed))  # noqa: S307  # one of the calls above

    assert taken in {arm.text for arm in branches.arms if arm.id in branches.taken}


def test_file_that_cannot_be_instrumented_is_imported_plainly(tmp_path):
    deep = " ".join(["x = 1"] + ["+ 1"] * 900)
    body = f"def subject(world):\n    {deep}\n    return kind() if world else []\n"
    with started(tmp_path, body) as side:
        assert side.play(world()).trace
        assert side.loaded.arms == ()

"""The child that measures: real ones, with what a user's file may do to them."""

import asyncio
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from benchmarks import child, making
from benchmarks.making import Maker
from benchmarks.measurer import ChildLostError, Measurer
from benchmarks.noops import Rewriter
from benchmarks.plan import subject_rows
from benchmarks.rows import NotMeasuredError, answer, cost, memory_of, taken
from benchmarks.specs import Effort, Setting, SideSpec, TurnsReply
from benchmarks.subject import NO_HOOK, Subjects
from compat.engines.importing import GENERIC
from compat.process import python

EFFORT = Effort(sets=3, rounds=2, seconds=0.0001)
MINE = SideSpec("subject", Setting(NO_HOOK, n=1))
EMPTY = SideSpec("engine", Setting("wrap_model_call", n=0))
BEFORE = "def before_model_rewrite_history(self, ctx, messages):"
HANDLER = f"""
class Mine:
    name = "mine"
    {BEFORE}
        return ctx, messages

def subject(world):
    return [Mine()]
"""


@pytest.fixture(autouse=True)
def _own_modules(monkeypatch, tmp_path):
    """Forget the user's modules of a test, which others call by the same names."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name, module in list(sys.modules.items()):
        if str(tmp_path) in str(getattr(module, "__file__", None)):
            del sys.modules[name]


@pytest.fixture
def measurer():
    with Measurer(limit=30.0) as made:
        yield made


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a subject's file and names the subject."""

    def write(text, name="mine.py"):
        (tmp_path / name).write_text(dedent(text))
        return f"{tmp_path / name}:subject"

    return write


def hook(body, before=""):
    """Return a file whose only handler does this in its hook."""
    return f"""
import os, sys, time
{before}
class Mine:
    name = "mine"
    {BEFORE}
        {body}
        return ctx, messages

def subject(world):
    return [Mine()]
"""


def refused(measurer, *named):
    reply = measurer.load(*(*named, None)[:2])
    assert set(reply) == {"wrong"}
    return reply["wrong"]


def turned(measurer, *sides):
    found = taken(measurer, sides or (MINE, EMPTY), EFFORT)
    assert isinstance(found, TurnsReply), found
    return found


class TestGoodSubject:
    def test_is_loaded_and_measured(self, measurer, file):
        loaded = measurer.load(file(HANDLER), None)
        found = turned(measurer)

        assert loaded == {"names": ["handlers[0] mine"], "waits": False}
        assert found.refused == {}
        assert [len(rounds) for rounds in found.series] == [EFFORT.rounds] * 3
        assert all(
            took > 0 for rounds in found.series for one in rounds for took in one
        )

    def test_has_a_row_for_the_whole_and_for_each_part(self, measurer, file):
        text = HANDLER.replace("[Mine()]", "[Mine(), Mine()]")
        names = measurer.load(file(text), file(HANDLER, "old.py"))["names"]
        rows = list(subject_rows(names, against=True))
        found = [cost(measurer, row, EFFORT, 0.01) for row in rows]

        assert [row.blocked for row in found] == [None] * 6
        assert [each.floor for each in found[0].compared] == ["no handlers", "against"]
        assert [each.floor for each in found[-1].compared] == ["without it"]
        # That of the others would be the whole subject's.
        assert [row.memory is not None for row in found] == [True] * 4 + [False] * 2

    def test_has_hooks_that_are_measured_by_themselves(self, measurer, file):
        measurer.load(file(HANDLER), None)
        request = {"do": "probe", "side": MINE.to_json(), "effort": EFFORT.to_json()}
        [[where, name, like, clocks]] = answer(measurer, request)["hooks"]

        assert (where, name, like) == (
            "handlers[0] mine",
            "before_model_rewrite_history",
            "plain",
        )
        assert [calls for calls, _ in clocks] == [2] * EFFORT.sets

    def test_may_print_what_it_likes(self, measurer, file):
        loud = hook("print('{}'); sys.stderr.write('[]\\n'); os.write(1, b'{}\\n')")
        measurer.load(file(loud), None)

        assert turned(measurer).refused == {}

    def test_may_be_a_configuration_with_tools_of_its_own(self, measurer, file):
        text = f"""
            from dataclasses import replace
            from benchmarks.parts import EchoTool
            {dedent(HANDLER).replace(chr(10), chr(10) + " " * 12)}
            def subject(world):
                config = world.config(handlers=[Mine()], instruction="Be brief.")
                tools = [*world.tools, EchoTool("of-its-own")]
                return replace(config, tools_config=replace(
                    config.tools_config, tools=tools))
        """
        loaded = measurer.load(file(text), None)

        assert loaded["names"] == ["handlers[0] mine"]
        assert turned(measurer).refused == {}

    def test_may_mix_structs_and_handlers_of_equal_names(self, measurer, file):
        text = f"""
            from refengine import AgentMiddleware
            {dedent(HANDLER).replace(chr(10), chr(10) + " " * 12)}
            def subject(world):
                return [Mine(), AgentMiddleware(additional_instruction="x"), Mine()]
        """
        names = measurer.load(file(text), None)["names"]
        every = [
            SideSpec("subject", Setting(NO_HOOK, n=3), without=at) for at in range(3)
        ]

        assert names == ["middlewares[0]", "handlers[0] mine", "handlers[1] mine"]
        assert turned(measurer, *every).refused == {}

    def test_may_have_a_name_that_is_no_unicode(self, measurer, file):
        text = HANDLER.replace('"mine"', r'"a\ud800b"')

        assert measurer.load(file(text), None)["names"] == ["handlers[0] a?b"]

    def test_is_run_streamed_over_long_histories_and_in_copies(self, measurer, file):
        measurer.load(file(HANDLER), None)
        settings = [
            SideSpec("subject", Setting(NO_HOOK, stream=True)),
            SideSpec("subject", Setting(NO_HOOK, history=1_000)),
            SideSpec("subject", Setting(NO_HOOK), copies=200),
        ]

        assert turned(measurer, *settings).refused == {}

    def test_that_prepares_itself_before_the_agent_is_measured(self, measurer, file):
        text = f"""
            class Mine:
                name = "mine"
                def before_agent(self, ctx, config):
                    self.ready = True
                    return ctx
                {BEFORE}
                    assert self.ready
                    return ctx, messages
            def subject(world):
                return [Mine()]
        """
        measurer.load(file(text), None)

        assert turned(measurer).refused == {}

    def test_that_keeps_growing_is_measured(self, measurer, file):
        text = hook("self.kept = [*getattr(self, 'kept', []), *messages]")
        measurer.load(file(text), None)
        memory = memory_of(measurer, MINE)

        assert turned(measurer).refused == {}
        assert memory is not None
        assert memory.left > 0


class TestSubjectThatWaits:
    def test_is_seen_by_its_waiting(self, measurer, file):
        text = """
            import asyncio
            class Mine:
                name = "mine"
                async def before_model_rewrite_history(self, ctx, messages):
                    await asyncio.sleep(0.002)
                    return ctx, messages
            def subject(world):
                return [Mine()]
        """

        assert measurer.load(file(text), None)["waits"] is True
        assert turned(measurer).refused == {}

    def test_or_has_another_thread_work_is_seen_too(self, measurer, file):
        text = """
            import asyncio, time
            class Mine:
                name = "mine"
                async def after_agent(self, ctx, messages):
                    await asyncio.to_thread(time.sleep, 0.002)
                    return ctx
            def subject(world):
                return [Mine()]
        """

        assert measurer.load(file(HANDLER), file(text, "old.py"))["waits"] is True

    def test_is_remembered_by_the_server(self, monkeypatch, file):
        async def waiting(maker, side):
            return side.maker == "against"

        monkeypatch.setattr(child, "_waits", waiting)
        server = child.Server()
        both = {"subject": file(HANDLER), "against": file(HANDLER, "old.py")}
        reply = server.functions["load"](both)

        assert reply == {"names": ["handlers[0] mine"], "waits": True}
        assert server._maker.subjects.waits is True

    @pytest.mark.parametrize(
        ("waits", "sides", "clock"),
        [
            (True, [MINE, EMPTY], making.WALL),
            (True, [EMPTY, EMPTY], making.CLOCK),
            (False, [MINE, EMPTY], making.CLOCK),
        ],
    )
    def test_is_timed_by_the_wall_with_what_it_is_compared_with(
        self, monkeypatch, waits, sides, clock
    ):
        clocks = []

        async def seen(made, rounds, seconds, clock):
            clocks.append(clock)
            return [(1.0, 1.0)] * rounds

        subjects = Subjects({"subject": ("mine", lambda world: [Rewriter(0)])}, waits)
        monkeypatch.setattr(making, "turns", seen)
        asyncio.run(child._turned(Maker(subjects), sides, EFFORT))

        assert clocks == [clock] * EFFORT.sets


class TestSlowSubject:
    def test_gets_fewer_rounds_once_it_was_seen_to_be_slow(self, monkeypatch):
        rounds, now = [], [0.0]

        async def slow(made, number, seconds, clock):
            rounds.append(number)
            now[0] += 10.0 * number
            return [(1.0,)] * number

        monkeypatch.setattr(making, "turns", slow)
        monkeypatch.setattr(making, "WALL", lambda: now[0])
        effort = Effort(sets=3, rounds=8, seconds=0.1)
        asyncio.run(child._turned(Maker(Subjects({})), [EMPTY], effort))

        assert rounds == [8, 2, 2]


class TestOwnPackages:
    def test_of_generic_names_are_found_by_the_users_modules(
        self, measurer, file, tmp_path
    ):
        for name in ("benchmarks", "compat"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text(f"MINE = 'my {name}'\n")
            (tmp_path / name / "parts.py").write_text("WORD = 'mine'\n")
        text = f"""
            import benchmarks, compat
            from benchmarks.parts import WORD
            {dedent(HANDLER).replace(chr(10), chr(10) + " " * 12)}
            Mine.name = " ".join((benchmarks.MINE, compat.MINE, WORD))
        """
        names = measurer.load(file(text), None)["names"]

        assert names == ["handlers[0] my benchmarks my compat mine"]
        assert turned(measurer).refused == {}
        assert memory_of(measurer, MINE) is not None

    def test_stand_in_the_working_directory_too(self, file, tmp_path, monkeypatch):
        (tmp_path / "benchmarks.py").write_text("raise AssertionError\n")
        (tmp_path / "refengine.py").write_text("raise AssertionError\n")
        monkeypatch.chdir(tmp_path)
        with Measurer() as measurer:
            loaded = measurer.load(file(HANDLER), None)

            assert loaded["names"] == ["handlers[0] mine"]
            assert turned(measurer).refused == {}

    def test_neighbours_of_a_file_are_found(self, measurer, file):
        file("WORD = 'next door'\n", "door.py")
        text = f"from door import WORD\n{HANDLER}\nMine.name = WORD\n"

        assert measurer.load(file(text), None)["names"] == ["handlers[0] next door"]


class TestRefusedSubject:
    @pytest.mark.parametrize(
        ("body", "why"),
        [
            ("return []", "there is nothing in it to measure"),
            ("return None", "returned NoneType: that is not a list"),
            ("return 'abc'", "returned str: that is not a list"),
            ("yield", "returned generator: that is not a list"),
            ("raise ValueError('no key')", "ValueError: no key (mine.py, line 4)"),
            ("return [object()]", "has no name"),
            ("return [type('A', (), {'name': 'a'})()]", "has no hook"),
            ("return world.config()", "there is nothing in it to measure"),
            ("input()", "EOFError"),
            ("raise ValueError('\\ud800')", "ValueError: ? (mine.py"),
        ],
    )
    def test_says_why_and_which_it_is(self, measurer, file, body, why):
        named = file(f"\n\ndef subject(world):\n    {body}\n")
        text = refused(measurer, named)

        assert text.startswith(f"{named}: ")
        assert why in text

    def test_that_is_like_a_graph_says_where_graphs_are_measured(self, measurer, file):
        text = """
            class Graph:
                def invoke(self): ...
                ainvoke = stream = astream = get_graph = get_state = invoke
            def subject(world):
                return Graph()
        """

        assert "a graph runs in its framework" in refused(measurer, file(text))

    def test_with_another_model_says_so(self, measurer, file):
        text = """
            from benchmarks.parts import CannedModel
            def subject(world):
                return world.config(model=CannedModel())
        """

        assert "its model is not world.model" in refused(measurer, file(text))

    def test_with_a_name_that_raises_says_so(self, measurer, file):
        text = HANDLER.replace('name = "mine"', "name = property(lambda self: 1 / 0)")
        named = file(text)

        assert refused(measurer, named).startswith(f"{named}: ZeroDivisionError")

    def test_is_that_of_against_too(self, measurer, file):
        old = file("def subject(world):\n    return []\n", "old.py")
        text = refused(measurer, file(HANDLER), old)

        assert text.startswith(f"{old}: ")

    def test_with_a_module_that_raises_says_where(self, measurer, file):
        assert "(mine.py, line 1)" in refused(measurer, file("1 / 0\n"))

    def test_with_a_module_that_exits_says_so(self, measurer, file):
        assert "SystemExit" in refused(measurer, file("import sys\nsys.exit(3)\n"))

    def test_that_is_not_there_is_told_with_what_is(self, measurer, file):
        named = file(HANDLER).replace(":subject", ":subjekt")

        assert "subject" in refused(measurer, named)


class TestRefusedSide:
    def test_of_a_hook_that_raises_is_told_and_the_others_are_measured(
        self, measurer, file
    ):
        measurer.load(file(hook("raise ValueError('no disk')")), None)
        found = turned(measurer)

        assert found.positions == (1,)
        assert "no disk" in found.refused[0][1]

    def test_of_equal_objects_cannot_be_copied(self, measurer, file):
        text = HANDLER.replace("[Mine()]", "ONE") + "\nONE = [Mine()]\n"
        measurer.load(file(text), None)
        found = turned(measurer, MINE, SideSpec("subject", Setting(NO_HOOK), copies=2))

        assert found.positions == (0,)
        assert "is the same object at positions 0 and 1" in found.refused[1][1]

    def test_of_a_cache_says_that_the_tool_did_not_run(self, measurer, file):
        text = """
            class Mine:
                name = "mine"
                kept = None
                async def wrap_invokable_tool_call(self, ctx, input, next):
                    self.kept = self.kept or await next(ctx, input)
                    return self.kept
            def subject(world):
                return [Mine()]
        """
        measurer.load(file(text), None)
        why = "the tool ran 0 times in run 2, and 1 are right"
        request = {"do": "probe", "side": MINE.to_json(), "effort": EFFORT.to_json()}

        assert turned(measurer).refused == {0: (None, why)}
        assert memory_of(measurer, MINE) is None
        with pytest.raises(NotMeasuredError, match=why):
            answer(measurer, request)

    def test_that_raises_later_on_blocks_the_row(self, measurer, file):
        # Loading it and trying it make 12 calls, measuring it 18 and more.
        later = hook("CALLS.append(1); assert len(CALLS) < 20, 'enough'", "CALLS = []")
        measurer.load(file(later), None)
        found = taken(measurer, (MINE, EMPTY), EFFORT)

        assert not isinstance(found, TurnsReply)
        assert "enough" in found.why


class TestLostChild:
    def test_says_how_it_ended_and_what_it_printed_last(self, measurer, file):
        measurer.load(file(HANDLER), None)
        lost = file(hook("print('bye', flush=True); os._exit(7)"), "lost.py")

        with pytest.raises(ChildLostError) as caught:
            measurer.load(lost, None)

        assert str(caught.value) == (
            "while it was to load the subject, the process ended with code 7;"
            " it printed last: bye"
        )

    def test_in_a_measurement_blocks_that_row_and_no_other(
        self, measurer, file, tmp_path
    ):
        # Its subject ends the process once the file is there.
        mark = tmp_path / "mark"
        text = hook(f"if os.path.exists({str(mark)!r}): sys.exit(5)")
        measurer.load(file(text), None)
        mark.touch()
        row = next(subject_rows(["handlers[0] mine"], against=False))
        first = cost(measurer, row, EFFORT, 0.01)
        mark.unlink()
        second = cost(measurer, row, EFFORT, 0.01)

        assert first.blocked is not None
        assert first.blocked.why == (
            "while it was to measure times, the process ended with code 5"
        )
        assert second.blocked is None
        assert second.compared

    def test_whose_subject_cannot_be_loaded_again_says_so(self, measurer, file):
        named = file(HANDLER)
        measurer.load(named, None)
        Path(named.partition(":")[0]).write_text("1 / 0\n")
        measurer._end()

        for _ in range(2):
            with pytest.raises(NotMeasuredError, match="ZeroDivisionError"):
                answer(measurer, {"do": "memory", "side": MINE.to_json()})

    def test_that_hangs_is_given_up_and_the_next_one_answers_its_own_request(
        self, file, tmp_path
    ):
        mark = tmp_path / "mark"
        text = hook(f"while os.path.exists({str(mark)!r}): time.sleep(0.01)")
        with Measurer(limit=5.0) as measurer:
            measurer.load(file(text), None)
            mark.touch()
            measurer._limit = 0.2
            hung = taken(measurer, (MINE,), EFFORT)
            again = taken(measurer, (MINE,), EFFORT)  # hangs where it is loaded
            mark.unlink()
            measurer._limit = 30.0
            found = turned(measurer, MINE)

        why = "the process gave no answer within 0.2 s"
        assert not isinstance(hung, TurnsReply)
        assert hung.why == f"while it was to measure times, {why}"
        assert not isinstance(again, TurnsReply)
        assert again.why == f"while it was to load the subject, {why}"
        assert found.refused == {}


class TestEnd:
    def test_of_the_measurer_is_that_of_the_child(self, file):
        with Measurer() as measurer:
            measurer.load(file(HANDLER), None)
            assert measurer._child is not None
            process = measurer._child.process.process
            assert isinstance(process, subprocess.Popen)
            assert process.poll() is None

        assert process.returncode is not None

    def test_comes_with_an_exception_too(self, file):
        processes = []

        def interrupted():
            with Measurer() as measurer:
                measurer.load(file(HANDLER), None)
                assert measurer._child is not None
                processes.append(measurer._child.process.process)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()

        assert processes[0].returncode is not None

    def test_of_a_parent_that_is_gone_is_that_of_the_child(self):
        process = subprocess.Popen(
            python("benchmarks.child", *GENERIC),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()  # as the system does with what a process had open

        assert process.wait(30) == 0
        assert process.stdout.read(1) == b""
        process.stdout.close()

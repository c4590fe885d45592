"""What makes judging fast changes no verdict: kept loops, kept readings, glances."""

import asyncio
import gc
import json
import signal
import weakref
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.verdicts.exit_codes import DIFFERS, OK
from property_tests import speed
from property_tests.agreeing import agree
from property_tests.check import Check, Decision
from property_tests.checks import CHECKS, comparing
from property_tests.corpus import SuiteCorpus, fixed_worlds
from property_tests.judging.inputs import MadeCorpus
from property_tests.judging.worker import EngineWorker
from property_tests.judging.world import decide, looking, looks_at, variants_of
from property_tests.playing import VariantPlayer
from property_tests.remembering import Rereadable
from refengine import Message, MessageChunk, ToolCall
from refengine.messages import History
from refengine.profile import profile
from refengine.testing import clock
from refengine.testing.doors import ReferenceEngine
from refengine.testing.trace import Observation, difference, to_json

QUICK = settings(deadline=None, derandomize=True, database=None, max_examples=200)
SEEN: ContextVar[str] = ContextVar("seen", default="nothing")
WORLDS = tuple(fixed_worlds())


@pytest.mark.parametrize(
    ("engine", "right"), [("reference", True), ("reference-legacy", False)]
)
def test_no_reference_is_asked_beside_the_reference(engine: str, right: bool) -> None:
    about = {"engine": engine, "profile": None, "clauses": ()}

    assert EngineWorker(about).load({})["right"] is right


async def running_loop():
    """Return the loop that it runs on, and its time."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(1)
    return loop, loop.time()


def after(leave):
    """Return the loop in which something was left, and that of who comes next."""
    loops = clock.Loops()

    async def first():
        await leave()
        return asyncio.get_running_loop()

    left = loops.run(first())
    found, at = loops.run(running_loop())
    assert at == 1
    return left, found


def test_a_loop_that_was_left_clean_is_used_again_from_0_seconds():
    left, found = after(lambda: asyncio.sleep(5))
    assert found is left


def test_a_context_variable_that_a_session_sets_is_not_seen_by_the_next():
    async def sets():
        SEEN.set("something")

    async def reads():
        return SEEN.get()

    loops = clock.Loops()
    loops.run(sets())
    assert loops.run(reads()) == "nothing"
    assert SEEN.get() == "nothing"


def test_a_task_that_still_waits_is_cancelled_and_its_loop_not_used_again():
    came = []

    async def waits():
        try:
            await asyncio.sleep(0.5)
            came.append("woken")
        except asyncio.CancelledError:
            came.append("cancelled")
            raise

    kept = []

    async def leave():
        kept.append(asyncio.create_task(waits()))
        await asyncio.sleep(0)

    left, found = after(leave)
    assert found is not left
    assert left.is_closed()
    assert came == ["cancelled"]


def test_a_timer_that_is_left_never_rings_in_another_session():
    rung = []

    async def leave():
        asyncio.get_running_loop().call_later(0.5, rung.append, "rung")

    left, found = after(leave)
    assert found is not left
    assert rung == []


def test_a_generator_that_is_left_open_is_closed_before_the_next_session():
    ended = []

    async def numbers():
        try:
            yield 1
            yield 2
        finally:
            ended.append("closed")

    kept = []

    async def leave():
        kept.append(numbers())
        await anext(kept[0])

    left, found = after(leave)
    assert found is not left
    assert ended == ["closed"]


def test_a_loop_that_had_a_thread_is_not_used_again():
    async def leave():
        await asyncio.get_running_loop().run_in_executor(None, int)

    left, found = after(leave)
    assert found is not left


def test_a_loop_of_which_something_was_set_is_not_used_again():
    async def leave():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda *_: None)

    left, found = after(leave)
    assert found is not left


def test_a_loop_that_is_never_idle_still_handles_its_signals():
    async def waits():
        came = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, came.set)
        signal.raise_signal(signal.SIGUSR1)
        for _ in range(1_000):
            await asyncio.sleep(0)
            if came.is_set():
                return True
        return False

    assert clock.run(waits())


def test_what_a_session_raises_is_raised_and_leaves_the_loop_as_it_was():
    loops = clock.Loops()

    async def fails():
        raise ValueError("no")

    first, _ = loops.run(running_loop())
    with pytest.raises(ValueError, match="no"):
        loops.run(fails())
    assert loops.run(running_loop()) == (first, 1)


def test_nothing_is_run_within_a_running_loop():
    loops = clock.Loops()

    async def within():
        with pytest.raises(RuntimeError, match="running event loop"):
            loops.run(asyncio.sleep(0))

    clock.run(within())


def test_loops_are_closed_with_their_owner():
    loops = clock.Loops()
    loop, _ = loops.run(running_loop())
    gone = weakref.ref(loops)
    del loops
    gc.collect()
    assert gone() is None
    assert loop.is_closed()


def test_a_reading_is_done_once_and_only_as_far_as_somebody_looks():
    done = []

    def read():
        for number in range(3):
            done.append(number)
            yield number

    kept = Rereadable(read())
    assert next(iter(kept)) == 0
    assert done == [0]
    assert [list(kept), list(kept)] == [[0, 1, 2], [0, 1, 2]]
    assert done == [0, 1, 2]


def test_two_who_read_at_once_see_the_same():
    kept = Rereadable(iter("abc"))
    assert list(zip(kept, kept, strict=True)) == [("a", "a"), ("b", "b"), ("c", "c")]


def test_a_reading_that_breaks_off_does_so_for_everybody_who_comes_so_far():
    def read():
        yield 1
        raise KeyError("hook")

    kept = Rereadable(read())
    for _ in range(2):
        assert next(iter(kept)) == 1
        with pytest.raises(KeyError, match="hook"):
            list(kept)


texts = st.sampled_from(["", "a", "b", "1"])
scalars = st.none() | st.booleans() | st.sampled_from([0, 1, 0.0, -0.0, 1.0]) | texts
values = st.recursive(
    scalars,
    lambda part: (
        st.lists(part, max_size=2)
        | st.tuples(part)
        | st.dictionaries(texts, part, max_size=2)
    ),
    max_leaves=4,
)
calls = st.builds(ToolCall, texts, texts, texts)
messages = st.builds(
    Message,
    st.sampled_from(["user", "tool"]),
    texts,
    st.lists(calls, max_size=1).map(tuple),
    st.none() | texts,
    st.none() | texts,
    extra=st.dictionaries(texts, values, max_size=1),
)
chunks = st.builds(MessageChunk, texts, id=st.none() | texts)
observed = (
    values
    | messages
    | chunks
    | st.lists(messages, max_size=2).map(History)
    | st.lists(messages, max_size=2).map(tuple)
    | st.dictionaries(texts, messages | values, max_size=2)
)


@QUICK
@given(observed, observed)
def test_what_agrees_at_a_glance_is_written_out_the_same(ours, theirs):
    if agree(ours, theirs):
        assert difference(to_json(ours), to_json(theirs)) is None


@QUICK
@given(observed)
def test_a_copy_agrees_at_a_glance_unless_a_number_has_a_point(value):
    pointed = any(isinstance(each, float) for each in leaves(to_json(value)))
    assert agree(value, deepcopy(value)) or pointed


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return [value]
    return [each for part in value for each in leaves(part)]


@pytest.mark.parametrize(("ours", "theirs"), [(1, True), (1, 1.0), (0, False)])
def test_numbers_of_other_types_do_not_agree(ours, theirs):
    for wrap in (lambda x: x, lambda x: [x], lambda x: {"a": x}):
        assert not agree(wrap(ours), wrap(theirs))
    extra = [Message("user", extra={"a": each}) for each in (ours, theirs)]
    assert not agree(*extra)


def test_keys_that_are_no_texts_do_not_agree_at_a_glance():
    assert not agree({1: "a"}, {True: "a"})


def test_what_cannot_be_written_out_never_agrees():
    thing = object()
    assert not agree(thing, thing)
    assert not agree([thing], [thing])


SAMPLE = WORLDS[::15]


@pytest.mark.parametrize("name", ["seed-001", "eino-0.9"])
def test_a_glance_decides_as_writing_everything_out_does(monkeypatch, name):
    under = profile(name)
    player = VariantPlayer(ReferenceEngine(under), under)
    for entry in SAMPLE:
        chosen = [each for each in looking(CHECKS, entry) if each.variants]
        case = player.case(entry.scenario, variants_of(chosen, entry))
        glanced = decide(case, chosen)
        with monkeypatch.context() as patch:
            patch.setattr(comparing, "_plainly", lambda *_: False)
            case = player.case(entry.scenario, variants_of(chosen, entry))
            assert decide(case, chosen) == glanced


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "effect"},
        {"run": 2},
        {"call_id": "c2"},
        {"data": {"a": True, "b": "x"}},
        {"data": {"a": 1}},
    ],
)
def test_two_lists_that_differ_in_one_thing_are_not_alike(other):
    seen = Observation("tool_end", 1, 7, {"a": 1, "b": "x"}, "c1")
    same, changed = replace(seen, seq=8), replace(seen, seq=8, **other)
    assert comparing.alike("something", [seen], [same]).holds
    decision = comparing.alike("something", [seen], [changed])
    assert not decision.holds
    assert decision.at == changed
    assert not comparing.alike("something", [seen], [same, same]).holds


def test_what_a_change_leaves_out_may_differ():
    seen = Observation("tool_end", 1, 7, {"a": 1, "b": "x"}, "c1")
    other = Observation("tool_end", 3, 8, {"a": 2, "b": "x"}, "c1")
    extra = Observation("warning", 1, 9, {})
    change = comparing.Change(
        lambda kind, _: kind == "warning", lambda _: frozenset("a"), lambda _: 0
    )
    assert comparing.alike("it", [seen], [other, extra], change=change).holds
    assert not comparing.alike("it", [seen], [other]).holds


def test_the_checks_that_look_are_those_that_would_be_asked_one_by_one():
    for entry in WORLDS:
        assert looking(CHECKS, entry) == [e for e in CHECKS if looks_at(e, entry)]


def test_generated_worlds_share_the_variants_and_fixed_cases_have_all():
    fixed = next(each for each in WORLDS if each.fixed and not each.only)
    everything = set(variants_of(CHECKS, fixed))
    lots = [set(variants_of(CHECKS, replace(fixed, lot=lot))) for lot in range(3)]
    assert everything == {name for each in CHECKS for name in each.variants}
    assert set.union(*lots) == everything
    assert all(lot < everything for lot in lots)
    for check in CHECKS:
        assert any(lot.issuperset(check.variants) for lot in lots), check.clause


@pytest.fixture
def small(monkeypatch):
    """Let the speed be measured on three worlds, one kept for a family."""
    worlds = (*WORLDS[:2], next(each for each in WORLDS if each.only))
    monkeypatch.setattr(
        speed, "make_corpus", lambda *_: MadeCorpus(SuiteCorpus(worlds, 0))
    )
    monkeypatch.setattr(speed, "settle", lambda: None)


def test_the_speed_command_tells_rate_phases_and_the_bar(small, capsys, tmp_path):
    path = tmp_path / "speed.json"
    assert speed.main(["--rounds", "2", "--json", str(path)]) == OK
    said = capsys.readouterr().out
    assert "3 worlds (3 fixed), 2 of them judged by all" in said
    for word in ("a second a core", "playing", "viewing", "checks", "sessions a world"):
        assert word in said
    data = json.loads(path.read_text("utf-8"))
    [bar] = data["bars"]
    assert bar["limit"] == 1
    assert bar["ratio"] == 2000 / data["rate"]
    assert bar["holds"] is (bar["ratio"] <= bar["limit"])
    assert len(data["rounds"]) == 2


def test_the_speed_of_a_suite_that_judges_wrongly_is_not_told(
    small, monkeypatch, capsys
):
    def wrong(case):
        yield Decision("something", 1, 2, case.played.trace[0])

    monkeypatch.setattr(speed, "CHECKS", (Check(clause="ORD-001", decide=wrong),))
    assert speed.main(["--rounds", "1"]) == DIFFERS
    said = capsys.readouterr().out
    assert "ORD-001 is decided against the reference engine: no speed is told" in said
    assert "a second a core" not in said


def test_the_speed_command_refuses_no_rounds(capsys):
    with pytest.raises(SystemExit) as ended:
        speed.main(["--rounds", "0"])
    assert ended.value.code == 2
    assert "give a number of at least 1" in capsys.readouterr().err

"""Laws of the stream loop: LOOP-COMPAT, the fold of parts, and what never happens."""

import logging
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.adapters.errors import OwnRoundsError
from compat.adapters.loops import loop_of as loop_of_linear
from compat.dialects.stream_loop import (
    LinearProcessor,
    PartsTracker,
    ToolOutput,
    folded,
)
from compat.dialects.stream_loop.parts import OPEN, PROGRESS
from compat.dialects.stream_loop.profile import LOOP_PROFILES, loop_profile
from refengine.messages import MessageChunk, ToolCallChunk
from refengine.testing.clock import Ids, run
from tests.loop_support import Gives, Streams, Told, linear_of, loop_of, quiet

FEW = settings(max_examples=30, deadline=None, derandomize=True, database=None)
SAFE = loop_profile("loop-safe")
PROFILES = pytest.mark.parametrize("profile", LOOP_PROFILES, ids=lambda each: each.name)

# Worlds: what a model streams and what tools give

TEXTS = st.text("ab ", max_size=4)
NAMES = st.sampled_from(["f", "g", "slow", "broken", "missing"])
ERRORS = st.sampled_from([ValueError("v"), TimeoutError("t"), OSError()])


@st.composite
def pieces(draw: st.DrawFn) -> list[object]:
    """Return a stream: texts, and pieces of up to three calls mixed among them."""
    indices = draw(st.lists(st.sampled_from([0, 1, 2, None]), max_size=7))
    seen: set[int] = set()
    stream: list[object] = []
    for at, index in enumerate(indices):
        stream.extend(draw(st.lists(TEXTS, max_size=2)))
        arguments = draw(TEXTS)
        if index is None or index not in seen:
            given_id = draw(st.sampled_from([f"c{at}", ""]))
            stream.append(ToolCallChunk(index, given_id, draw(NAMES), arguments))
        else:
            stream.append(ToolCallChunk(index, "", "", arguments))
        seen |= set() if index is None else {index}
    stream.extend(draw(st.lists(TEXTS, max_size=2)))
    return stream


@st.composite
def broken(draw: st.DrawFn) -> list[object]:
    """Return a stream that ends in an error anywhere, or does not."""
    stream = draw(pieces())
    if draw(st.booleans()):
        return stream
    at = draw(st.integers(0, len(stream)))
    return [*stream[:at], draw(ERRORS)]


def tools(*, follow_up: object = False) -> list[Any]:
    return [
        Gives("f", ToolOutput({"k": [1, None]}, follow_up)),
        Gives("g", "text"),
        Gives("slow", ToolOutput(2.5, follow_up), seconds=3),
        Gives("broken", RuntimeError("no")),
    ]


class Keeping(logging.Handler):
    """Keeps the fields of records."""

    def __init__(self, records: list[Any]) -> None:
        super().__init__()
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(vars(record)["loop"])


def played(make, stream, profile, *, given_tools=None, raising=()) -> Any:
    """Return all that can be seen of a call: requests, facts, runs of tools, the end.

    Records are without their clock, which stands for both.
    """
    model, told = Streams(stream), Told(raising=raising)
    used = tools() if given_tools is None else given_tools
    records: list[Any] = []
    handler = Keeping(records)
    logger = quiet()
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        left = run(ending(make(model, profile=profile), told, used))
    finally:
        logger.removeHandler(handler)
    runs = [(each.info.name, each.arguments, each.ended) for each in used]
    return model.requests, comparable(told), runs, records, left, model.closed


def comparable(told: Told) -> list[Any]:
    """Return the facts with errors, which are equal to nothing, by their text."""
    return [(name, repr(fact)) for name, fact in told.facts]


async def ending(processor, told, used) -> str:
    try:
        return repr(
            await processor.process_input("in", tools=used, callbacks=told.callbacks)
        )
    except Exception as error:  # noqa: BLE001  # it is part of the trace
        return repr(error)


@PROFILES
@FEW
@given(stream=broken(), raising=st.sampled_from([(), ("on_chunk",), ("on_end",)]))
def test_without_a_follow_up_both_forms_leave_the_same_trace(
    profile, stream, raising
) -> None:
    """LOOP-COMPAT."""
    linear, loop = (
        played(make, stream, profile, raising=raising) for make in (linear_of, loop_of)
    )

    assert linear == loop


class Marking(LinearProcessor):
    """A linear processor with a step of its own."""

    async def execute_tool_call(self, call, params) -> Any:
        found = await super().execute_tool_call(call, params)
        return replace(found, result=f"<{found.result}>")


@PROFILES
@pytest.mark.parametrize("kind", [LinearProcessor, Marking])
@settings(FEW, max_examples=15)
@given(stream=broken())
def test_an_adapted_linear_processor_does_what_it_did(kind, profile, stream) -> None:
    def linear(model, **options) -> Any:
        return kind(model, new_id=Ids("made"), logger=quiet(), **options)

    def adapted(model, **options) -> Any:
        return loop_of_linear(linear(model, **options))

    assert played(linear, stream, profile) == played(adapted, stream, profile)


def test_an_adapted_processor_with_steps_of_its_own_loops() -> None:
    model = Streams([ToolCallChunk(None, "c", "f", "")])
    loop = loop_of_linear(Marking(model))
    run(loop.process_input("in", tools=tools(follow_up=True)))

    assert len(model.requests) == 2
    assert loop_of_linear(loop) is loop


class OwnRounds(LinearProcessor):
    """A linear processor that runs its round in a way of its own."""

    async def process_rounds(self, params) -> Any:
        return await super().process_rounds(params)


def test_a_processor_with_rounds_of_its_own_is_refused_by_name() -> None:
    with pytest.raises(OwnRoundsError, match="OwnRounds overrides process_rounds"):
        loop_of_linear(OwnRounds(Streams()))


@PROFILES
def test_a_follow_up_tells_the_two_forms_apart(profile) -> None:
    stream = [ToolCallChunk(None, "c", "f", "")]

    linear, loop = (
        played(make, stream, profile, given_tools=tools(follow_up=True))
        for make in (linear_of, loop_of)
    )

    assert (len(linear[0]), len(loop[0])) == (1, 2)


# Parts


@PROFILES
@FEW
@given(stream=broken(), asks=st.booleans())
def test_the_events_fold_to_each_snapshot(profile, stream, asks) -> None:
    told = Told()
    run(ending(loop_of(Streams(stream), profile=profile), told, tools(follow_up=asks)))
    events = told.of("on_part_event")
    snapshots = told.of("on_parts_change")

    assert len(events) == len(snapshots)
    assert [folded(events[: n + 1]) for n in range(len(events))] == snapshots
    assert told.result.parts == folded(events)


@PROFILES
@FEW
@given(stream=broken())
def test_a_part_keeps_its_place_grows_and_goes_forward(profile, stream) -> None:
    told = Told()
    run(ending(loop_of(Streams(stream), profile=profile), told, tools(follow_up=True)))

    for before, after in pairwise(told.of("on_parts_change")):
        assert len(before) <= len(after)
        for old, new in zip(before, after, strict=False):
            assert (old.id, old.place, old.kind) == (new.id, new.place, new.kind)
            assert new.text.startswith(old.text)
            assert old.state == new.state or PROGRESS[old.state] < PROGRESS[new.state]


@FEW
@given(stream=broken(), asks=st.booleans())
def test_nothing_is_left_open_however_it_ends(stream, asks) -> None:
    told = Told()
    run(ending(loop_of(Streams(stream)), told, tools(follow_up=asks)))

    assert not [each for each in told.result.parts if each.state in OPEN]


def test_a_part_is_left_open_where_a_profile_leaves_it() -> None:
    told = Told()
    stream = ["a", ValueError()]
    run(ending(loop_of(Streams(stream), profile="loop-adr"), told, []))

    assert [each.state for each in told.result.parts] == ["streaming"]


@FEW
@given(stream=pieces())
def test_the_chunks_of_a_round_are_its_text(stream) -> None:
    told = Told()
    run(ending(linear_of(Streams(stream)), told, tools()))

    assert "".join(told.of("on_chunk")) == told.result.text


def cut(draw: st.DrawFn, stream: list[object]) -> list[object]:
    """Return the stream in other chunks: texts and arguments cut, neighbours joined."""
    found: list[object] = []
    for each in stream:
        text = each if isinstance(each, str) else None
        if isinstance(each, ToolCallChunk) and each.index is not None:
            at = draw(st.integers(0, len(each.arguments)))
            found.append(
                ToolCallChunk(each.index, each.id, each.name, each.arguments[:at])
            )
            found.append(ToolCallChunk(each.index, "", "", each.arguments[at:]))
        elif text is None:
            found.append(each)
        else:
            at = draw(st.integers(0, len(text)))
            found.extend((text[:at], text[at:]))
    return joined(found) if draw(st.booleans()) else found


def joined(stream: list[object]) -> list[object]:
    """Return the stream with texts in a row, and the pieces behind, in one."""
    found: list[object] = []
    for is_text, some in groupby(stream, lambda each: isinstance(each, str)):
        if is_text:
            found.append(MessageChunk("".join(str(each) for each in some)))
        else:
            held = tuple(each for each in some if isinstance(each, ToolCallChunk))
            last = found.pop() if found else MessageChunk()
            assert isinstance(last, MessageChunk)
            found.append(MessageChunk(last.content, held))
    return found


@st.composite
def cuts(draw: st.DrawFn) -> tuple[list[object], list[object]]:
    stream = draw(pieces())
    return stream, cut(draw, stream)


@FEW
@given(both=cuts())
def test_other_chunks_of_one_stream_make_the_same_parts(both) -> None:
    results = []
    for stream in both:
        told = Told()
        run(ending(linear_of(Streams(stream)), told, tools()))
        results.append((told.result.parts, told.result.history))

    assert results[0] == results[1]


@FEW
@given(stream=pieces())
def test_pieces_come_before_their_call_and_calls_before_results(stream) -> None:
    told = Told("on_chunk", "on_part_event", "on_tool_call", "on_tool_result")
    run(ending(linear_of(Streams(stream)), told, tools()))
    names = told.names
    first_result = names.index("on_tool_result") if "on_tool_result" in names else None

    assert first_result is None or "on_chunk" not in names[first_result:]
    assert first_result is None or "on_tool_call" not in names[first_result:]
    ids = [each.id for each in told.of("on_tool_call")]
    assert sorted(ids) == sorted(each.call_id for each in told.of("on_tool_result"))
    assert call_changes_are_in_order(told)


def call_changes_are_in_order(told: Told) -> bool:
    """Tell whether each call's part goes forward from its pieces to its end."""
    changes: dict[str, list[int]] = {}
    for event in told.of("on_part_event"):
        if event.kind == "tool_call":
            changes.setdefault(event.id, []).append(PROGRESS[event.state])
    return all(each == sorted(each) for each in changes.values())


def test_interleaved_arguments_go_to_the_right_part() -> None:
    tracker = PartsTracker()
    for index, text in ((0, "a"), (1, "x"), (0, "b"), (1, "y"), (0, "c")):
        list(tracker.add_piece(ToolCallChunk(index, f"c{index}", "f", text), str))

    assert [each.text for each in tracker.snapshot] == ["abc", "xy"]
    assert [each.id for each in tracker.calls] == ["c0", "c1"]


def test_a_snapshot_stays_what_it_was() -> None:
    tracker = PartsTracker()
    list(tracker.add_text("a"))
    early = tracker.snapshot
    list(tracker.add_text("b"))
    list(tracker.add_piece(ToolCallChunk(0, "c", "f", "{}"), str))

    assert [(each.text, each.state) for each in early] == [("a", "streaming")]
    assert [each.text for each in tracker.snapshot] == ["ab", "{}"]


def test_without_a_listener_no_snapshot_is_made(monkeypatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(PartsTracker, "snapshot", property(made.append))

    run(linear_of(Streams(["a", "b"])).process_input("in"))

    assert len(made) == 1  # the one in the result

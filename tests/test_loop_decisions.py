"""The decisions of the stream loop, each beside what the record's sketch does."""

import asyncio
import logging
import math
from typing import Any

import pytest

from compat.dialects.stream_loop import (
    Limits,
    LoopProcessor,
    ResponseCallbacks,
    loop_profile,
)
from compat.dialects.stream_loop.errors import (
    EmptyPromptWarning,
    IterationLimitError,
    LimitValueError,
    LoopToolMissingError,
    ResultTooLongError,
    ToolCancelledError,
    ToolOutputError,
    ToolTimedOutError,
)
from compat.dialects.stream_loop.loop import LIMIT_TEXT
from compat.dialects.stream_loop.parts import OPEN
from compat.dialects.stream_loop.results import json_text
from refengine.messages import Message
from refengine.postures import choosing
from refengine.stream import StreamReader
from refengine.testing.clock import run
from refengine.tools import ToolInfo
from tests.loop_support import Gives, Streams, Told, again, call, loop_of, piece
from tests.support import each

SAFE, ADR = map(loop_profile, ("loop-safe", "loop-adr"))


def played(*script: Any, tools: Any = (), **options: Any) -> Any:
    """Return the result of ``in``, the model, and all that was told."""
    limit = {"max_iterations": options.pop("most")} if "most" in options else {}
    raising = options.pop("raising", ())
    model, told = Streams(*script), Told(raising=raising)
    processor = loop_of(model, **options)
    given = processor.process_input(
        "in", tools=tools, callbacks=told.callbacks, **limit
    )
    return run(given), model, told


def breaking(*script: Any, tools: Any = (), **options: Any) -> Any:
    """Return what came out of a call that fails, and all that was told."""
    told = Told(raising=options.pop("raising", ()))
    processor = loop_of(Streams(*script), **options)
    with pytest.raises(BaseException) as caught:  # noqa: PT011  # which one is returned
        run(processor.process_input("in", tools=tools, callbacks=told.callbacks))
    return caught.value, told


# How many rounds


@pytest.mark.parametrize("given", [0, -1, math.nan, True, 2.0, "3"])
def test_a_limit_that_is_no_whole_number_from_1_on_is_refused(given) -> None:
    with pytest.raises(IterationLimitError):
        played(most=given)


@pytest.mark.parametrize(
    ("given", "rounds"), [(0, 3), (math.nan, 3), (None, 3), (2.5, 3), (-1, 0), (1, 1)]
)
def test_in_the_sketch_what_is_falsy_means_3_and_a_negative_number_none(
    given, rounds
) -> None:
    asks = [[call("f")]] * 5
    result, model, _ = played(
        *asks, tools=[Gives("f", again())], most=given, profile=ADR
    )

    assert len(model.requests) == rounds
    assert (result.text, result.status) == (LIMIT_TEXT, "max_iterations")


# Which result asks, and what


@pytest.mark.parametrize(
    ("option", "prompts"),
    [("any", ["1", "2"]), ("first_only", ["1"]), ("last_only", None)],
)
def test_any_result_may_ask_and_prompts_stand_in_the_order_of_calls(
    option, prompts
) -> None:
    tools = [Gives("f", again(1), seconds=9), Gives("g", again(2)), Gives("h")]
    profile = choosing(SAFE, "follow_up", option)
    stream = [call("f"), call("g", call_id="c2"), call("h", call_id="c3")]
    _, model, _ = played(stream, tools=tools, profile=profile)

    expected = prompts and "\n".join(f"基于以下结果继续: {one}" for one in prompts)
    assert model.asked[1:] == ([expected] if expected else [])


class Empty(LoopProcessor):
    """Asks for another round with nothing to say."""

    def build_next_prompt(self, result) -> str:
        return ""


@pytest.mark.parametrize(("profile", "rounds"), [(SAFE, 1), (ADR, 3)])
def test_an_empty_prompt_ends_the_loop_with_a_warning(profile, rounds) -> None:
    model = Streams(*[[call("f")]] * 4)
    given = Empty(model, profile=profile).process_input(
        "in", tools=[Gives("f", again())]
    )
    if profile is SAFE:
        with pytest.warns(EmptyPromptWarning):
            result = run(given)
        assert result.status == "completed"
    else:
        run(given)
    assert len(model.requests) == rounds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None]}, '{"b":1,"a":[true,null]}'),
        ("继续 \n\u2028", '"继续 \\n\u2028"'),
        ("\ud800", '"\\ud800"'),
        (math.nan, "null"),
        (-math.inf, "null"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.25e25, "1.25e+25"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-9, "1.5e-9"),
        (123456.789, "123456.789"),
        (0.05, "0.05"),
    ],
)
def test_json_has_the_bytes_of_json_stringify(value, text) -> None:
    assert json_text(value) == text


# Tools


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        (Gives("f", ValueError("no")), ValueError),
        (Gives("g"), LoopToolMissingError),
        (Gives("f", 7), ToolOutputError),
        (Gives("f", asyncio.CancelledError()), ToolCancelledError),
        (Gives("f", seconds=9), ToolTimedOutError),
        (Gives("f", "long" * 9), ResultTooLongError),
    ],
)
def test_a_failing_tool_is_its_result_or_comes_out_in_the_sketch(tool, kind) -> None:
    limits = Limits(tool_seconds=5, result_chars=20)
    result, model, told = played([call("f")], tools=[tool], limits=limits)
    error, _ = breaking([call("f")], tools=[tool], limits=limits, profile=ADR)

    [found] = told.of("on_tool_result")
    assert type(found.error) is kind is type(error)
    assert [each.state for each in result.parts] == ["error", "error"]
    assert (result.status, len(model.requests)) == ("completed", 1)
    assert result.history[-1].content.startswith(f"{kind.__name__}: ")


@pytest.mark.parametrize(
    "given",
    [
        {"round_seconds": 0},
        {"tool_seconds": math.nan},
        {"tool_seconds": math.inf},
        {"calls_per_round": True},
        {"argument_chars": 1.5},
        {"result_chars": "9"},
    ],
)
def test_a_limit_that_nothing_could_be_held_to_is_refused(given) -> None:
    with pytest.raises(LimitValueError):
        Limits(**given)


def test_a_call_without_an_id_is_given_one() -> None:
    stream = [piece("{}", index=0, name="f"), piece("{}", index=1, name="f")]
    result, _, _ = played(stream, tools=[Gives("f")])

    assert [each.id for each in result.history[1].tool_calls] == ["made-1", "made-2"]
    assert [each.tool_call_id for each in result.history[2:]] == ["made-1", "made-2"]


# Endings


def test_time_that_is_up_during_a_tool_cancels_the_tool() -> None:
    tool = Gives("f", seconds=9)
    result, _, _ = played([call("f")], tools=[tool], limits=Limits(round_seconds=5))

    assert result.status == "timed_out"
    assert tool.ended == ["cancelled"]
    assert [each.state for each in result.parts] == ["error"]


def test_a_time_out_of_the_model_itself_is_an_error() -> None:
    error, told = breaking([TimeoutError("vendor")], limits=Limits(round_seconds=5))

    assert (str(error), told.result.status) == ("vendor", "error")


@pytest.mark.parametrize("seconds", range(1, 12, 2))
def test_cancelled_at_any_point_nothing_is_left_open_or_running(seconds) -> None:
    tool, told = Gives("f", again(), seconds=2), Told()
    model = Streams([2, "a", 2, piece("{}", name="f"), 2], [2, "b"])

    async def left() -> None:
        async with asyncio.timeout(seconds):
            await loop_of(model).process_input(
                "in", tools=[tool], callbacks=told.callbacks
            )

    if seconds < 10:
        with pytest.raises(TimeoutError):
            run(left())
        assert told.result.status == "cancelled"
    else:
        run(left())
        assert told.result.status == "completed"
    assert not [each for each in told.result.parts if each.state in OPEN]
    assert model.closed == len(model.requests)
    assert len(tool.ended) == len(tool.arguments)


# Callbacks


def test_callbacks_may_be_async() -> None:
    heard: list[str] = []

    async def on_chunk(text: str) -> None:
        await asyncio.sleep(1)
        heard.append(text)

    callbacks = ResponseCallbacks(on_chunk=on_chunk)
    run(loop_of(Streams(["a", "b"])).process_input("in", callbacks=callbacks))

    assert heard == ["a", "b"]


# Steps and records


class Shouting(LoopProcessor):
    """Overrides steps as a user may."""

    async def execute_tool_call(self, call, params) -> Any:
        found = await super().execute_tool_call(call, params)
        return type(found)(call_id=call.id, name=call.name, result="LOUD")

    def should_continue(self, result) -> bool:
        return result.result == "LOUD" and result.name == "f"


def test_a_step_that_is_overridden_counts() -> None:
    model = Streams([call("f")])
    run(Shouting(model).process_input("in", tools=[Gives("f")]))

    assert model.requests[1][-2:] == (
        Message("tool", "LOUD", tool_call_id="c1", name="f"),
        Message("user", '基于以下结果继续: "LOUD"'),
    )


class Records(logging.Handler):
    """Keeps the fields of records."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append((record.levelname, vars(record)["loop"]))


def test_records_have_round_call_and_seconds() -> None:
    logger, records = logging.getLogger("tests.records"), Records()
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(records)
    tools = [Gives("f", seconds=2), Gives("g", ValueError(), seconds=1)]
    stream = [call("f"), call("g", call_id="c2")]
    run(LoopProcessor(Streams(stream), logger=logger).process_input("in", tools=tools))
    logger.removeHandler(records)

    first, second = (
        {"round": 1, "call_id": f"c{n}", "name": "fg"[n - 1]} for n in (1, 2)
    )
    assert records.kept == [
        ("INFO", {"event": "round_started", "round": 1}),
        ("INFO", {"event": "call_started", **first}),
        ("INFO", {"event": "call_started", **second}),
        (
            "WARNING",
            {"event": "call_ended", **second, "error": "ValueError", "seconds": 1.0},
        ),
        ("INFO", {"event": "call_ended", **first, "seconds": 2.0}),
        ("INFO", {"event": "round_ended", "round": 1, "seconds": 2.0}),
        ("INFO", {"event": "loop_ended", "round": 1, "status": "completed"}),
    ]


class Piecewise:
    """A tool that streams its result and has no other way."""

    def __init__(self) -> None:
        self.info = ToolInfo("f")

    async def stream(self, ctx, arguments, options) -> StreamReader[str]:
        return StreamReader(each("ab"))


def test_a_tool_that_streams_is_read_to_its_end() -> None:
    result, _, _ = played([call("f")], tools=[Piecewise()])

    assert result.history[-1].content == "ab"

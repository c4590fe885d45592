"""Worlds: the scripted model, recording tools, the clock, the notation, traces."""

import asyncio
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refengine.context import Context
from refengine.messages import Message, ToolCall, join_chunks
from refengine.profile import SEED_001
from refengine.testing import (
    Ids,
    NotationError,
    Observation,
    Recorder,
    RecordingTool,
    ReferenceEngine,
    ScenarioError,
    ScriptedError,
    ScriptedModel,
    ToolSpec,
    Trace,
    UnexpectedCallError,
    UnplayedError,
    first_divergence,
    parse_message,
    parse_scenario,
    play,
    read_scenario,
    run,
    show_message,
)
from refengine.testing.notation import decoded, encoded, pieces_of, show_chunk
from refengine.testing.scenario import ModelChunks, ModelFailure
from refengine.testing.strategies import texts, tool_names
from refengine.tools import NO_OPTIONS
from tests.support import read

HERE = Context()
searching = settings(max_examples=200, deadline=None, derandomize=True, database=None)


async def ask(model: ScriptedModel) -> Message:
    return await model.invoke(HERE, [Message("user", "hi")], [], NO_OPTIONS)


async def ask_streaming(model: ScriptedModel) -> list[str]:
    reader = await model.stream(HERE, [Message("user", "hi")], [], NO_OPTIONS)
    return [show_chunk(chunk) for chunk in await read(reader)]


def test_scripted_model_answers_call_by_call():
    model = ScriptedModel(["assistant:one", "assistant:[c:t({})]"])

    assert run(ask(model)) == Message("assistant", "one")
    assert run(ask(model)) == Message("assistant", "", (ToolCall("c", "t", "{}"),))
    model.assert_played()


def test_scripted_model_fails_on_an_unexpected_call():
    model = ScriptedModel(["assistant:one"])
    run(ask(model))

    with pytest.raises(UnexpectedCallError) as caught:
        run(ask(model))
    assert str(caught.value) == "model call 2, but the script has 1 answers"
    assert caught.value.call == 2


def test_scripted_model_tells_what_was_left_unplayed():
    model = ScriptedModel(["assistant:one", "assistant:two", ModelFailure(error="e")])
    run(ask(model))

    with pytest.raises(UnplayedError, match="2 answers were not played") as caught:
        model.assert_played()
    assert caught.value.left == ("assistant:two", ModelFailure(error="e"))
    assert model.unplayed == caught.value.left


@pytest.mark.parametrize(
    ("at_end", "answer"), [("exhausted", "EXHAUSTED"), ("repeat_last", "one")]
)
def test_scripted_model_may_go_on_past_its_end(at_end: Any, answer: str):
    model = ScriptedModel(["assistant:one"], at_end=at_end)
    run(ask(model))

    assert run(ask(model)).content == answer


def test_an_empty_script_has_no_last_answer_to_repeat():
    with pytest.raises(UnexpectedCallError, match="the script has 0 answers"):
        run(ask(ScriptedModel([], at_end="repeat_last")))


def test_scripted_model_fails_where_its_script_says_so():
    model = ScriptedModel([ModelFailure(error="down"), ModelFailure(error="down")])

    with pytest.raises(ScriptedError, match=r"^down$"):
        run(ask(model))
    with pytest.raises(ScriptedError, match=r"^down$"):
        run(ask_streaming(model))


def test_scripted_model_streams_a_plain_answer_word_by_word():
    model = ScriptedModel(["assistant:one two  three[c:t({})]"])

    assert run(ask_streaming(model)) == [
        "assistant:one ",
        "assistant:two ",
        "assistant: ",
        "assistant:three[c:t({})]",
    ]


def test_scripted_model_streams_the_chunks_of_its_script():
    chunks = ModelChunks(chunks=("assistant:o", "assistant:ne"))
    model = ScriptedModel([chunks, chunks])

    assert run(ask_streaming(model)) == ["assistant:o", "assistant:ne"]
    assert run(ask(model)) == Message("assistant", "one")


def test_scripted_stream_fails_after_its_chunks():
    recorder = Recorder()
    broken = ModelChunks(chunks=("assistant:o",), stream_error="cut off")
    model = ScriptedModel([broken], recorder=recorder)

    with pytest.raises(ScriptedError, match=r"^cut off$"):
        run(ask_streaming(model))
    assert [each.kind for each in recorder.trace()] == [
        "model_request",
        "model_chunk",
        "model_error",
        "stream_close",
    ]


def recorded(spec: ToolSpec, mode: str) -> list[tuple[str, Any]]:
    """Call a tool once in that mode; return what it put down."""

    async def call() -> None:
        tool: Any = RecordingTool(spec, recorder=recorder)
        if mode == "invoke":
            await tool.invoke(HERE, "{}", NO_OPTIONS)
        else:
            await read(await tool.stream(HERE, "{}", NO_OPTIONS))

    recorder = Recorder()
    run(call())
    return [(each.kind, dict(each.data)) for each in recorder.trace()]


@pytest.mark.parametrize(
    ("kind", "methods"),
    [
        ("invokable", ["invoke"]),
        ("streamable", ["stream"]),
        ("both", ["invoke", "stream"]),
    ],
)
def test_recording_tool_has_the_methods_of_its_kind(kind: Any, methods: list[str]):
    tool = RecordingTool(ToolSpec(name="t", kind=kind))

    assert [m for m in ("invoke", "stream") if hasattr(tool, m)] == methods


@pytest.mark.parametrize("kind", ["invokable", "both"])
def test_invoked_tool_records_its_execution(kind: Any):
    (started, start), end = recorded(
        ToolSpec(name="t", kind=kind, result="got <args>"), "invoke"
    )

    assert started == "tool_start"
    assert (start["name"], start["arguments"], start["mode"]) == ("t", "{}", "invoke")
    assert end == ("tool_end", {"result": "got {}"})


@pytest.mark.parametrize("kind", ["streamable", "both"])
def test_streamed_tool_records_each_chunk(kind: Any):
    spec = ToolSpec(name="t", kind=kind, result="whole", chunks=("a", "b"))
    start, *rest = recorded(spec, "stream")

    assert (start[0], start[1]["mode"]) == ("tool_start", "stream")
    assert rest == [
        ("tool_chunk", {"chunk": "a"}),
        ("tool_chunk", {"chunk": "b"}),
        ("tool_end", {"result": "ab"}),
        ("stream_close", {"of": "tool"}),
    ]


def test_streamed_tool_without_chunks_gives_its_result_as_one():
    spec = ToolSpec(name="t", kind="streamable", result="<args>")

    assert ("tool_chunk", {"chunk": "{}"}) in recorded(spec, "stream")


@pytest.mark.parametrize("kind", ["streamable", "both"])
@pytest.mark.parametrize(
    ("fails", "status", "result"), [(None, "completed", ""), ("no", "error", None)]
)
def test_tool_may_stream_nothing(
    kind: str, fails: str | None, status: str, result: str | None
) -> None:
    tool = {
        "name": "t",
        "kind": kind,
        "result": "r",
        "chunks": [],
        "stream_error": fails,
    }
    world = read_scenario(
        {
            "agent": {"tools": [tool]},
            "model_script": ["assistant:[c1:t({})]", "assistant:done"],
            "runs": [{"input": ["user:hi"], "streaming": True}],
        }
    )
    seen = run(play(world, ReferenceEngine(SEED_001)))
    told = world.model_dump(mode="json", exclude_defaults=True)

    assert not seen.of("tool_chunk")
    assert len(seen.of("stream_close")) == 3 - bool(fails)
    assert [each.data["result"] for each in seen.of("tool_end")] == (
        [] if result is None else [result]
    )
    assert seen.of("run_end")[0].data["status"] == status
    assert read_scenario(told) == world


def test_failing_tool_records_its_error():
    recorder = Recorder()
    tool: Any = RecordingTool(ToolSpec(name="t", error="no"), recorder=recorder)

    with pytest.raises(ScriptedError, match=r"^no$"):
        run(tool.invoke(HERE, "{}", NO_OPTIONS))
    assert [each.kind for each in recorder.trace()] == ["tool_start", "tool_error"]


def test_tool_that_may_run_once_fails_the_second_time():
    tool: Any = RecordingTool(ToolSpec(name="t", at_most_once=True))
    run(tool.invoke(HERE, "{}", NO_OPTIONS))

    with pytest.raises(ScriptedError, match="t was executed twice"):
        run(tool.invoke(HERE, "{}", NO_OPTIONS))
    assert tool.executions == 2


def slow(*delays: int) -> dict[str, Any]:
    """Return a scenario in which one answer calls tools that take so long."""
    names = [f"t{at}" for at in range(len(delays))]
    calls = "".join(f"[c{at}:{name}({{}})]" for at, name in enumerate(names))
    tools = [
        {"name": name, "delay_ms": delay}
        for name, delay in zip(names, delays, strict=True)
    ]
    return {
        "agent": {"tools": tools},
        "model_script": [f"assistant:{calls}", "assistant:done"],
        "runs": [{"input": ["user:go"]}],
    }


def ended(scenario: dict[str, Any]) -> list[str | None]:
    trace = run(play(read_scenario(scenario), ReferenceEngine(SEED_001)))
    return [each.call_id for each in trace.of("tool_end")]


def test_delays_order_tools_that_run_at_once():
    assert ended(slow(30, 10, 20)) == ["c1", "c2", "c0"]


def test_delays_cost_no_time():
    started = time.monotonic()
    ended(slow(3_600_000, 7_200_000))

    assert time.monotonic() - started < 60


def test_virtual_clock_moves_to_the_next_timer():
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        times = [loop.time()]
        for seconds in (1, 60):
            await asyncio.sleep(seconds)
            times.append(loop.time())
        return times

    assert run(main()) == pytest.approx([0, 1, 61])


def test_time_outs_obey_the_virtual_clock():
    async def main() -> None:
        async with asyncio.timeout(10):
            await asyncio.sleep(11)

    with pytest.raises(TimeoutError):
        run(main())


def test_ids_count_and_start_anew_for_each_source():
    calls, others = Ids("call"), Ids()

    assert [calls(), calls(), others()] == ["call-1", "call-2", "id-1"]


ids = tool_names() | st.just("")
arguments = st.sampled_from(["{}", '{"a":"(b) c]"}', "x)", "line\nline\n", "[a:b(c"])
calls = st.lists(st.builds(ToolCall, ids, tool_names(), arguments), max_size=3)
plain = st.builds(Message, st.sampled_from(["system", "user"]), texts())
said = st.builds(Message, st.just("assistant"), texts(), calls.map(tuple))
results = st.builds(
    lambda text, call: Message("tool", text, tool_call_id=call), texts(), ids
)


@searching
@given(plain | said | results)
def test_a_message_is_read_back_as_it_was_written(message: Message):
    assert parse_message(show_message(message)) == message


marred = st.text(st.sampled_from("a🦜é<>u+\ud83d\ude00"), max_size=8)
broken = st.builds(ToolCall, ids, tool_names(), marred)


@searching
@given(st.builds(Message, st.just("assistant"), marred, st.tuples(broken)))
def test_a_lone_surrogate_is_read_back_as_it_was_written(message: Message):
    written = show_message(message)

    assert written.encode().decode() == written
    assert parse_message(written) == message


def test_only_lone_surrogates_have_a_place():
    assert parse_message("user:<u+d83d>").content == "\ud83d"
    assert parse_message("user:<u+0041>").content == "<u+0041>"
    assert encoded("\ud83d 🦜") == "<u+d83d> 🦜"
    assert decoded(encoded("\udfff\ud800")) == "\udfff\ud800"


def test_results_chunks_and_streams_may_hold_lone_surrogates():
    tool = {"name": "t", "kind": "both", "result": "<u+d83d>", "chunks": ["<u+d83d>"]}
    scenario = read_scenario(
        {
            "agent": {"tools": [tool]},
            "model_script": [
                "assistant:[1:t(<u+de00>)]",
                {"chunks": ["assistant:<u+d83d>", "assistant:<u+de00>"]},
            ]
            * 2,
            "runs": [{"input": ["user:hi"]}, {"input": ["user:hi"], "streaming": True}],
        }
    )
    trace = run(play(scenario, ReferenceEngine(SEED_001)))

    assert [each.data["arguments"] for each in trace.of("tool_start")] == ["\ude00"] * 2
    assert [each.data["result"] for each in trace.of("tool_end")] == ["\ud83d"] * 2
    assert trace.to_jsonl().isascii()


@searching
@given(said)
def test_the_pieces_of_a_message_are_the_message(message: Message):
    pieces = pieces_of(message)

    assert join_chunks(pieces) == message
    assert not any(piece.tool_calls for piece in pieces[:-1])


@pytest.mark.parametrize("text", ["", "user", "robot:hi", "tool:hi", "tool(a:hi"])
def test_what_is_no_message_is_told_with_what_would_be(text: str):
    with pytest.raises(NotationError) as caught:
        parse_message(text)
    assert str(caught.value) == (
        f"{text!r} is not a message: write 'user:text',"
        " 'assistant:text[id:tool(args)]' or 'tool(id):text'"
    )


RUNS = [{"input": ["user:hi"]}]
ADDED = {"op": "append_tools", "tools": [{"name": "t", "agent": 1}]}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (
            {"agent": {"instructions": "x"}, "runs": RUNS},
            (
                "agent.instructions = 'x': there is no such field; allowed here:"
                " handlers, instruction, max_iterations, middlewares, name, output_key,"
                " retry, return_directly, sequential, tool_call_middlewares, tools,"
                " unknown_tools_handler"
            ),
        ),
        (
            {"agent": {"handlers": [{"wrap_model": {"recrod": "x"}}]}, "runs": RUNS},
            (
                "agent.handlers.0.wrap_model.recrod = 'x': there is no such field;"
                " allowed here: append_input, ask, clear_options, concat_stream,"
                " error, hide_on_call, hide_tools, interrupt, map_output,"
                " options_on_call, prefix_user_input, record, record_factory,"
                " set_content, set_options"
            ),
        ),
        (
            {
                "agent": {
                    "handlers": [{"before_model": [{"op": "keep_last", "m": 1}]}]
                },
                "runs": RUNS,
            },
            (
                "agent.handlers.0.before_model.0.keep_last.m = 1: there is no such"
                " field; allowed here: n, on_call, op"
            ),
        ),
        (
            {"agent": {"tools": [{"name": "t", "kind": "any"}]}, "runs": RUNS},
            (
                "agent.tools.0.kind = 'any': Input should be 'invokable', 'streamable'"
                " or 'both'"
            ),
        ),
        (
            {"agent": {}, "runs": [{"input": ["robot:hi"]}]},
            (
                "runs.0.input.0 = 'robot:hi': 'robot:hi' is not a message:"
                " write 'user:text', 'assistant:text[id:tool(args)]' or 'tool(id):text'"
            ),
        ),
        (
            {"agent": {"max_iterations": "3"}, "runs": RUNS},
            "agent.max_iterations = '3': Input should be a valid integer",
        ),
        ({"agent": {}, "runs": None}, "runs = None: Input should be a valid array"),
        (
            {"runs": RUNS},
            (
                "top level = {'runs': [{'input': ['user:hi']}]}: give"
                " either 'agent' or a non-empty list 'agents'"
            ),
        ),
        (
            {"agent": {}, "runs": [{"agent": 1}]},
            (
                "top level = {'agent': {}, 'runs': [{'agent': 1}]}:"
                " runs[0].agent=1: there is no such agent"
            ),
        ),
        (
            {"agent": {"handlers": [{"before_agent": [ADDED]}]}, "runs": [{}]},
            (
                "top level = {'agent': {'handlers': [{'before_agent': [{'op':"
                " 'append_...: tool 't', agent=1: there is no such agent"
            ),
        ),
    ],
    ids=[
        *("field", "wrap", "op", "option", "message", "type", "missing", "agent"),
        *("run", "tool"),
    ],
)
def test_a_wrong_scenario_is_told_by_path_value_and_what_is_allowed(
    data: object, problem: str
):
    with pytest.raises(ScenarioError) as caught:
        read_scenario(data, "world.json")
    missing, *rest = [line.strip() for line in str(caught.value).splitlines()]

    assert missing == "world.json is not a scenario:"
    assert problem in rest


def test_a_scenario_that_is_no_json_is_told_as_such():
    with pytest.raises(ScenarioError, match="Invalid JSON") as raised:
        parse_scenario(b'{"a": ', "world.json")

    assert "b'" not in str(raised.value)


def test_of_many_problems_five_are_told():
    data = {"agent": {}, "runs": [{"inputs": at} for at in range(7)]}

    with pytest.raises(ScenarioError) as caught:
        read_scenario(data)
    assert len(caught.value.problems) == 7
    assert str(caught.value).splitlines()[-1] == "  and 2 more"
    assert len(str(caught.value).splitlines()) == 7


@pytest.mark.parametrize(
    ("left", "right", "told"),
    [
        ([], [], None),
        ([{"a": [1, "x"]}], [{"a": [1, "x"]}], None),
        ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}], None),
        ([1], [1.0], "observation 0: 1 ≠ 1.0"),
        ([1], [True], "observation 0: 1 ≠ true"),
        ([1.0], [True], "observation 0: 1.0 ≠ true"),
        ([0], [False], "observation 0: 0 ≠ false"),
        ([0.0], [-0.0], "observation 0: 0.0 ≠ -0.0"),
        (["1"], [1], 'observation 0: "1" ≠ 1'),
        ([None], [""], 'observation 0: null ≠ ""'),
        (
            [{"a": {"b": [1, 2]}}],
            [{"a": {"b": [1, 3]}}],
            "observation 0 .a.b[1]: 2 ≠ 3",
        ),
        ([{"a": 1}], [{}], "observation 0 .a: 1 ≠ (nothing)"),
        ([[1]], [[1, 2]], "observation 0 [1]: (nothing) ≠ 2"),
        (["a"], ["a", "b"], 'observation 1: (nothing) ≠ "b"'),
        (["a", "b"], ["a"], 'observation 1: "b" ≠ (nothing)'),
        ([{"b": 1, "a": 1}], [{"b": 2, "a": 2}], "observation 0 .a: 1 ≠ 2"),
    ],
)
def test_the_first_divergence_is_told(
    left: list[Any], right: list[Any], told: str | None
):
    found = first_divergence(left, right)

    assert (None if found is None else str(found)) == told


def test_the_order_of_concurrent_calls_is_no_divergence():
    answer = Message("assistant", "", (ToolCall("a", "t", ""), ToolCall("b", "t", "")))
    said = Observation("model_response", 1, 0, {"message": answer})
    first = [Observation("tool_start", 1, 1, {"name": "t"}, call) for call in "ab"]

    assert first_divergence(Trace([said, *first]), Trace([said, *first[::-1]])) is None
    assert str(
        first_divergence(Trace([said, *first]), Trace([said, first[0]]))
    ).startswith("observation 2: {")


def test_a_trace_is_one_canonical_line_an_observation():
    message = Message("user", "é")
    trace = Trace([Observation("run_start", 1, 0, {"messages": [message], "a": 1})])

    assert trace.to_jsonl() == (
        '{"call_id":null,"data":{"a":1,"messages":[{"content":"\\u00e9","role":"user"}]},'
        '"kind":"run_start","run":1,"seq":0}\n'
    )


def test_a_line_of_another_kind_is_refused():
    line = {"kind": "gossip", "run": 1, "seq": 0, "call_id": None, "data": {}}

    with pytest.raises(ValueError, match="'gossip' is not a kind of observation"):
        Trace.from_jsonl(json.dumps(line))


def test_what_cannot_be_written_is_refused():
    trace = Trace([Observation("effect", 1, 0, {"at": object()})])

    with pytest.raises(TypeError, match="object cannot stand in an observation"):
        trace.to_jsonl()


def test_an_unexpected_call_ends_the_run_as_the_model_s_error():
    scenario = read_scenario({**slow(), "script_end": "fail", "model_script": []})
    trace = run(play(scenario, ReferenceEngine(SEED_001)))
    [event] = trace.of("event")

    assert event.data["error"] == {
        "point": "model",
        "text": "model call 1, but the script has 0 answers",
        "is": "model call 1, but the script has 0 answers",
    }


def test_virtual_clock_goes_on_after_years():
    async def waiting():
        for seconds in (2.0**25, 1e-3, 1e9, 0.5):
            await asyncio.sleep(seconds)
        return asyncio.get_running_loop().time()

    assert run(waiting()) >= 2.0**25 + 1e9


def test_virtual_time_waits_for_what_a_thread_does() -> None:
    done: list[str] = []

    def slow() -> None:
        for _ in range(200_000):
            pass
        done.append("thread")

    async def timer() -> None:
        await asyncio.sleep(3600)
        done.append("timer")

    async def main() -> float:
        other = asyncio.create_task(timer())
        await asyncio.to_thread(slow)
        before = asyncio.get_running_loop().time()
        await other
        return before

    assert run(main()) == 0.0
    assert done == ["thread", "timer"]


def test_thread_that_raises_is_told_to_who_waits() -> None:
    with pytest.raises(ZeroDivisionError):
        run(asyncio.to_thread(lambda: 1 / 0))


def test_time_passes_between_the_chunks_of_a_stream_where_a_scenario_says_so():
    chunked = {"chunks": ["assistant:a ", "assistant:b"], "chunk_ms": 20}
    scenario = read_scenario(
        {
            "agent": {},
            "model_script": [chunked, "assistant:done"],
            "runs": [{"input": ["user:hi"], "streaming": True}] * 2,
        }
    )

    trace = run(play(scenario, ReferenceEngine(SEED_001)))

    given = [each.data["time"] for each in trace.of("model_chunk") if each.run == 1]
    had = [each.data["times"] for each in trace.of("event")]
    assert given == [0.0, 0.02]
    assert had == [[0.0, 0.0, 0.0, 0.02], [0.0, 0.0, 0.0]]

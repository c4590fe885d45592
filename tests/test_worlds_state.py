"""Worlds whose runs are interrupted, resumed, cancelled or asked again."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from refengine.messages import Message
from refengine.profile import EINO_0_8, EINO_0_9, SEED_001
from refengine.testing import (
    Recorder,
    ReferenceEngine,
    ScenarioError,
    Trace,
    play,
    read_scenario,
    run,
)
from refengine.testing.channels import Seen, project
from refengine.testing.doors import KeepsNothingError
from refengine.testing.recorder import NeverCancelledError
from refengine.testing.strategies.variants import distributes

CALL = "assistant:[1:t({})]"
BOTH = "assistant:[1:t({})][2:u({})]"
ASK = [{"op": "ask", "payload": "may I?"}]
FIRST = {"input": ["user:hi"], "checkpoint": "c"}
GO_ON = {"resume": "c"}


def played(
    agent: Any,
    *runs: Any,
    script: Any = (CALL, "assistant:done"),
    under: Any = SEED_001,
    rebuild: bool = False,
) -> Trace:
    """Play runs of an agent; its name is A."""
    data = {
        "agent": {"name": "A", **agent},
        "model_script": list(script),
        "runs": list(runs),
    }
    return run(play(read_scenario(data), ReferenceEngine(under), rebuild=rebuild))


def tool(name: str = "t", **more: Any) -> dict[str, Any]:
    return {"name": name, "result": f"r{name}", **more}


def statuses(trace: Trace) -> list[Any]:
    return [each.data["status"] for each in trace.of("run_end")]


def said(trace: Trace) -> list[Any]:
    return [e.data["message"] for e in trace.of("event") if "message" in e.data]


def noted(trace: Trace, key: str) -> list[Any]:
    """Return what entries put down under a key, in order."""
    told: list[Any] = [each.data["data"] for each in trace.of("effect")]
    return [each[key] for each in told if key in each]


def entered(trace: Trace, number: int) -> list[tuple[Any, bool]]:
    """Return the hooks that a run entered, and whether that was again."""
    found = [each for each in trace.of("hook_enter") if each.run == number]
    return [(each.data["hook"], "reentry" in each.data) for each in found]


# --- interrupts that an object counts itself


def test_a_tool_interrupts_as_often_as_it_says_and_then_gives_its_result() -> None:
    tools = [tool(interrupt={"info": {"q": 1}, "times": 2})]
    trace = played({"tools": tools}, FIRST, GO_ON, GO_ON)

    assert statuses(trace) == ["interrupted", "interrupted", "completed"]
    assert [e.data["payload"] for e in trace.of("interrupt")] == [{"q": 1}, {"q": 1}]
    assert said(trace)[1:] == ["tool(1):rt", "assistant:done"]


def test_a_tool_that_always_interrupts_never_gives_a_result() -> None:
    tools = [tool(interrupt={"info": "no", "times": "always", "state": "s"})]

    assert statuses(played({"tools": tools}, FIRST, GO_ON)) == ["interrupted"] * 2


def test_what_a_target_is_given_stands_in_the_result() -> None:
    tools = [tool(result="got <resume_data>", interrupt={"info": "x"})]
    resumed = {**GO_ON, "targets": [{"tool": "t", "data": {"n": 1}}]}
    trace = played({"tools": tools}, FIRST, resumed)

    assert 'tool(1):got {"n": 1}' in said(trace)


def test_a_target_may_be_the_address_that_was_put_down() -> None:
    tools = [tool(result="got <resume_data>", interrupt={"info": "x"})]
    address = [["agent", "A"], ["tool", "t", "1"]]
    first = {**FIRST, "after": [{"op": "record_interrupts"}]}
    resumed = {**GO_ON, "targets": [{"address": address, "data": "it"}]}
    trace = played({"tools": tools}, first, resumed)

    assert noted(trace, "address") == [address]
    assert noted(trace, "root_cause") == [True]
    assert "tool(1):got it" in said(trace)


def test_a_target_that_nothing_waits_under_ends_the_run_by_name() -> None:
    tools = [tool(interrupt={"info": "x"})]
    resumed = {**GO_ON, "targets": [{"tool": "other"}]}
    trace = played({"tools": tools}, FIRST, resumed)

    assert statuses(trace)[1] == "raised"
    assert "no interrupt fits {'tool': 'other'}; waiting: A 1 tool t t(1)" in str(
        trace.of("run_end")[1].data["error"]
    )


@pytest.mark.parametrize(
    ("agent", "hooks"),
    [
        ({"before_model": [{"op": "interrupt", "info": "x"}]}, ["before_model"]),
        ({"after_model": [{"op": "interrupt", "info": "x"}]}, ["after_model"]),
        ({"after_agent": [{"op": "interrupt", "info": "x"}]}, ["after_agent"]),
        ({"wrap_model": {"interrupt": {"info": "x"}}}, ["wrap_model"]),
        ({"wrap_invokable": {"interrupt": {"info": "x"}}}, ["wrap_invokable"]),
    ],
    ids=lambda each: "",
)
def test_every_hook_of_a_handler_can_interrupt_and_is_entered_again(
    agent: Any, hooks: list[str]
) -> None:
    trace = played(
        {"tools": [tool()], "handlers": [{"id": "H", **agent}]}, FIRST, GO_ON
    )

    assert statuses(trace) == ["interrupted", "completed"]
    assert entered(trace, 2)[0] == (hooks[0], True)
    assert not any(again for _, again in entered(trace, 1))


@pytest.mark.parametrize("hook", ["before_chat_model", "after_chat_model"])
@pytest.mark.parametrize("waits", [True, False])
def test_callbacks_of_structs_can_interrupt(hook: str, waits: bool) -> None:
    struct = {"id": "M", "waits": waits, hook: [{"op": "interrupt", "info": "x"}]}
    trace = played({"tools": [tool()], "middlewares": [struct]}, FIRST, GO_ON)

    assert statuses(trace) == ["interrupted", "completed"]
    assert entered(trace, 2)[0] == (hook, True)


def test_a_wrapper_that_catches_errors_catches_interrupts_as_go_code_does() -> None:
    agent = {
        "tools": [tool(interrupt={"info": "x"})],
        "handlers": [{"id": "H", "wrap_invokable": {"catch_error": "<error>!"}}],
    }

    assert statuses(played(agent, FIRST)) == ["interrupted"]
    assert "tool(1):x!" in said(played(agent, FIRST, under=EINO_0_8))


@pytest.mark.parametrize("within", [[], [{"id": "I", "wrap_invokable": {}}]])
@pytest.mark.parametrize("kept", [{}, {"checkpoint": "c"}])
def test_whether_a_caught_interrupt_is_lost_is_a_posture(
    kept: Any, within: list[Any]
) -> None:
    catching = {"id": "H", "wrap_invokable": {"catch_error": "x"}}
    asking = [tool(interrupt={"info": "x", "times": "always"})]
    agent = {"tools": asking, "handlers": [catching, *within]}
    first = {"input": ["user:hi"], **kept}

    assert statuses(played(agent, first)) == ["interrupted"]
    assert statuses(played(agent, first, under=EINO_0_8)) == ["completed"]


# --- questions with an answer


def test_a_tool_that_asks_says_what_it_was_answered() -> None:
    tools = [tool(result="said <answer>", body=ASK)]
    trace = played({"tools": tools}, FIRST, {**GO_ON, "answers": {"t t(1)": "yes"}})

    assert "tool(1):said yes" in said(trace)
    assert noted(trace, "answer") == ["yes"]


def test_chunks_say_what_the_tool_was_answered() -> None:
    streamed = tool(kind="streamable", chunks=["so ", "<answer>"], body=ASK)
    first = {**FIRST, "streaming": True}
    trace = played({"tools": [streamed]}, first, {**GO_ON, "answers": {"*": "be it"}})

    assert [e.data["chunk"] for e in trace.of("tool_chunk")] == ["so ", "be it"]


@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize("streaming", [True, False])
def test_wrappers_ask_before_or_after_what_they_wrap(
    after: bool, streaming: bool
) -> None:
    wrap = {"ask": {"payload": "p", "after": after}, "map_result": "<result>, <answer>"}
    model = {"ask": {"payload": "m", "after": after}, "concat_stream": True}
    agent = {
        "tools": [tool(kind="both")],
        "handlers": [
            {
                "id": "H",
                "wrap_invokable": wrap,
                "wrap_streamable": wrap,
                "wrap_model": {**model, "map_output": "<content><answer>"},
            }
        ],
    }
    resumes = [{**GO_ON, "answers": {"*": text}} for text in "abc"]
    trace = played(agent, {**FIRST, "streaming": streaming}, *resumes)
    [*_, end] = trace.of("run_end")
    messages: Any = end.data["messages"]

    assert statuses(trace) == ["interrupted"] * 3 + ["completed"]
    assert [m.content for m in messages] == ["hi", "a", "rt, b", "donec"]
    assert len(trace.of("model_request")) == 2
    assert len(trace.of("tool_start")) == 1


def test_answers_find_an_address_by_its_end_and_all_others_by_a_star() -> None:
    tools = [tool(name, result="<answer>", body=ASK) for name in "tu"]
    resumed = {**GO_ON, "answers": {"u(2)": 2, "*": None}}
    trace = played({"tools": tools}, FIRST, resumed, script=(BOTH, "assistant:done"))

    assert trace.of("resume")[0].data["answers"] == {
        "A 1 tool t t(1)": None,
        "A 1 tool u u(2)": 2,
    }
    assert said(trace)[1:3] == ["tool(1):null", "tool(2):2"]


def test_what_is_not_answered_waits_further() -> None:
    tools = [tool(name, result="<answer>", body=ASK) for name in "tu"]
    one = {**GO_ON, "answers": {"u(2)": "two"}}
    other = {**GO_ON, "answers": {"t(1)": "one"}}
    trace = played({"tools": tools}, FIRST, one, other, script=(BOTH, "assistant:done"))

    assert statuses(trace) == ["interrupted", "interrupted", "completed"]
    assert said(trace)[1:3] == ["tool(1):one", "tool(2):two"]


def test_an_answer_to_nobody_is_an_error_of_the_checkpoint() -> None:
    resumed = {**GO_ON, "answers": {"nobody": 1}}
    trace = played({"tools": [tool(body=ASK)]}, FIRST, resumed)
    [*_, told] = trace.of("event")
    error: Any = told.data["error"]

    assert (error["point"], told.data["class"]) == (
        "checkpoint",
        "UnknownInterruptError",
    )


# --- what is entered again does the same again


def test_a_hook_that_is_entered_again_is_counted_once() -> None:
    todo = [{"op": "append", "msg": "user:once", "on_call": 1}, *ASK]
    handler = {"id": "H", "before_model": todo}
    resumes = [GO_ON, GO_ON]
    trace = played({"tools": [tool()], "handlers": [handler]}, FIRST, *resumes)
    [first, *_] = trace.of("model_request")
    messages: Any = first.data["messages"]

    assert [m.content for m in messages] == ["hi", "once"]


def test_a_tool_that_may_run_once_may_be_entered_again() -> None:
    tools = [tool(at_most_once=True, by_call={"1": ["first", "second"]}, body=ASK)]
    trace = played({"tools": tools}, FIRST, GO_ON)
    starts = trace.of("tool_start")

    assert "tool(1):first" in said(trace)
    assert [each.data.get("reentry") for each in starts] == [None, True]


def test_a_made_wrapper_counts_one_entry() -> None:
    wrap = {"closure_counter": "c", "ask": {"payload": "x"}}
    struct = {"id": "M", "wrap_tool_call": {"invokable": wrap}}
    trace = played({"tools": [tool()], "middlewares": [struct]}, FIRST, GO_ON)

    assert noted(trace, "closure_count") == [1, 1]


# --- another process


def test_an_agent_that_is_built_anew_goes_on() -> None:
    agent = {
        "tools": [tool(result="said <answer>", body=ASK)],
        "handlers": [{"id": "H", "before_model": [{"op": "record"}]}],
    }
    resumed = {**GO_ON, "answers": {"*": "yes"}}
    kept = played(agent, FIRST, resumed)
    anew = played(agent, FIRST, resumed, rebuild=True)

    assert len(anew.of("build")) == 2
    assert said(anew) == said(kept)
    assert anew.of("run_end")[1].data == kept.of("run_end")[1].data


def test_a_run_may_ask_for_an_agent_that_is_built_anew() -> None:
    add = {"op": "append_tools", "tools": [tool("dyn<run>")]}
    handler = {"id": "H", "before_agent": [add]}
    agent = {"tools": [tool(body=ASK)], "handlers": [handler]}
    traces = [
        played(agent, FIRST, {**GO_ON, "rebuild": anew}) for anew in (False, True)
    ]
    shown: Any = [trace.of("model_request")[1].data["tools"] for trace in traces]

    assert [[info.name for info in tools] for tools in shown] == [
        ["t", "dyn1"],
        ["t", "dyn2"],
    ]


def test_an_agent_that_cannot_be_built_anew_does_not_run() -> None:
    wrong = {"op": "error", "text": "no", "on_call": 1}
    handler = {"id": "H", "before_agent": [wrong]}
    anew = {**GO_ON, "rebuild": True}

    class Once(ReferenceEngine):
        built = 0

        async def build(self, config: Any, on_notice: Any) -> Any:
            self.built += 1
            parts = config if self.built > 1 else replace(config, handlers=())
            return await super().build(parts, on_notice)

    data = {
        "agent": {"tools": [tool(body=ASK)], "handlers": [handler]},
        "model_script": [CALL],
        "runs": [FIRST, anew],
    }
    trace = run(play(read_scenario(data), Once(SEED_001)))

    assert statuses(trace) == ["interrupted"]
    assert len(trace.of("build_error")) == 1


def test_every_resume_decodes_what_was_kept() -> None:
    local = [{"op": "runlocal_set", "key": "k", "value": [1, {"a": None}]}]
    struct = {"id": "M", "before_chat_model": local}
    agent = {"tools": [tool(body=ASK)], "middlewares": [struct]}
    trace = played(agent, FIRST, GO_ON)
    reads = [e.data for e in trace.of("checkpoint") if e.data["op"] == "read"]
    writes = [e.data for e in trace.of("checkpoint") if e.data["op"] == "write"]

    assert [each["seq"] for each in writes] == list(range(len(writes)))
    assert reads[0]["locals"] == {"k": [1, {"a": None}]}
    assert reads[0]["pending"] == ["may I?"]
    assert (writes[-1]["phase"], writes[-1]["status"]) == ("end", "completed")
    ends: list[Any] = [each.data["messages"] for each in trace.of("run_end")]
    assert writes[-1]["messages"] == tuple(ends[-1])
    first: Any = writes[0]["messages"]
    assert first[-1] == Message("user", "hi")


def test_runs_that_nobody_keeps_are_kept_nowhere() -> None:
    trace = played({"tools": [tool()]}, {"input": ["user:hi"]})

    assert not trace.of("checkpoint")


def test_a_run_that_has_ended_cannot_be_resumed() -> None:
    trace = played({"tools": [tool()]}, FIRST, GO_ON)
    [*_, told] = trace.of("event")

    assert told.data["class"] == "NotResumableError"


def test_an_engine_that_keeps_nothing_refuses_by_name() -> None:
    class Bare:
        def __init__(self, inner: Any) -> None:
            self.run = inner.run

    class Forgetful(ReferenceEngine):
        async def build(self, config: Any, on_notice: Any) -> Any:
            return Bare(await super().build(config, on_notice))

    data = {"agent": {}, "model_script": ["assistant:ok"], "runs": [FIRST]}
    trace = run(play(read_scenario(data), Forgetful(SEED_001)))

    assert trace.of("event")[0].data["class"] == KeepsNothingError.__name__
    assert statuses(trace) == ["error"]


# --- channels


def test_what_was_kept_is_a_channel_without_names() -> None:
    def kept(name: str, key: str) -> list[Any]:
        handler = {"id": name, "after_model": ASK}
        first, resumed = {**FIRST, "checkpoint": key}, {"resume": key}
        agent = {"tools": [tool()], "handlers": [handler]}
        trace = played(agent, first, resumed, resumed)
        return [each.value for each in project(Seen(trace), "checkpoints")]

    assert kept("H", "c") == kept("I", "d")
    assert any(each["pending"] == ["may I?"] for each in kept("H", "c"))


def test_what_is_asked_leaves_the_agent_as_an_event() -> None:
    trace = played({"tools": [tool(body=ASK)]}, FIRST)
    [*_, told] = project(Seen(trace), "events")

    assert (told.value["kind"], told.value["payloads"]) == ("interrupt", ["may I?"])


# --- cancelling

RECORDING = {
    "tools": [tool(kind="both", chunks=["a", "b"]), tool("u")],
    "handlers": [
        {
            "id": "H",
            "before_model": [{"op": "record"}],
            "after_model": [{"op": "record"}],
            "wrap_model": {"record": "m"},
            "wrap_streamable": {"record": "w"},
            "after_agent": [{"op": "record"}],
        }
    ],
}


@pytest.mark.parametrize(
    ("when", "nth"),
    [
        ("before_model", 1),
        ("model_wrapper", 1),
        ("model_call", 1),
        ("model_chunk", 1),
        ("model_chunk", 2),
        ("after_model", 1),
        ("event", 1),
        ("tool_wrapper", 1),
        ("tool_run", 1),
        ("tool_run", 2),
        ("tool_chunk", 2),
        ("event", 2),
        ("before_model", 2),
        ("model_call", 2),
        ("after_agent", 1),
    ],
)
def test_a_run_is_cancelled_when_an_entry_is_put_down(when: str, nth: int) -> None:
    cancelled = {
        "input": ["user:hi"],
        "streaming": True,
        "cancel": {"mode": "immediate", "when": when, "nth": nth},
    }
    script = ("assistant:a b[1:t({})][2:u({})]", "assistant:c d", "assistant:e")
    trace = played(RECORDING, cancelled, {"input": ["user:on"]}, script=script)
    kinds = [each.kind for each in trace if each.run == 1]

    assert statuses(trace) == ["cancelled", "completed"]
    assert noted(trace, "contributed") == [True]
    assert kinds[-2:] == ["effect", "run_end"]
    opened = [n for n in ("model_chunk", "tool_chunk") if n in kinds]
    assert kinds.count("stream_close") >= len(opened)


@pytest.mark.parametrize(
    ("when", "nth", "later", "seen"),
    [
        ("before_model", 1, "model_request", 0),
        ("model_wrapper", 1, "model_request", 0),
        ("model_call", 1, "model_chunk", 0),
        ("model_chunk", 2, "model_chunk", 2),
        ("after_model", 1, "tool_start", 0),
        ("tool_chunk", 1, "tool_end", 0),
        ("before_model", 2, "model_request", 1),
    ],
)
def test_a_cancelled_run_ends_where_it_was_cancelled_and_not_later(
    when: str, nth: int, later: Any, seen: int
) -> None:
    cancel = {"when": when, "nth": nth}
    cancelled = {"input": ["user:hi"], "streaming": True, "cancel": cancel}
    script = ("assistant:a b c[1:t({})]", "assistant:done")

    assert len(played(RECORDING, cancelled, script=script).of(later)) == seen


def test_a_run_that_ends_before_it_would_be_cancelled_is_not() -> None:
    cancelled = {"input": ["user:hi"], "cancel": {"when": "tool_error"}}
    trace = played({"tools": [tool()]}, cancelled)

    assert statuses(trace) == ["completed"]
    assert noted(trace, "contributed") == []


@pytest.mark.parametrize("hook", ["before_model", "after_model", "after_agent"])
def test_a_hook_that_blocks_is_left_when_the_run_is_cancelled(hook: str) -> None:
    todo = [{"op": "record"}, {"op": "block_until_cancel"}, {"op": "error", "text": ""}]
    agent = {"tools": [tool()], "handlers": [{"id": "H", hook: todo}]}
    trace = played(agent, {"input": ["user:hi"], "cancel": {"when": hook}})

    assert statuses(trace) == ["cancelled"]
    assert not trace.of("hook_exit")


def test_a_tool_body_and_a_callback_can_block() -> None:
    block = [{"op": "record"}, {"op": "block_until_cancel"}]
    in_tool = {"input": ["user:hi"], "cancel": {"when": "tool_body"}}
    assert statuses(played({"tools": [tool(body=block)]}, in_tool)) == ["cancelled"]

    struct = {"id": "M", "after_chat_model": block}
    in_struct = {"input": ["user:hi"], "cancel": {"when": "after_chat_model"}}
    trace = played({"middlewares": [struct]}, in_struct)
    assert statuses(trace) == ["cancelled"]
    assert not trace.of("hook_exit")


def test_one_that_blocks_for_ever_is_told() -> None:
    handler = {"id": "H", "after_model": [{"op": "block_until_cancel"}]}
    trace = played({"handlers": [handler]}, {"input": ["user:hi"]})
    [*_, told] = trace.of("event")

    assert told.data["class"] == NeverCancelledError.__name__


def test_a_cancelled_run_that_was_kept_goes_on_from_its_last_step() -> None:
    first = {**FIRST, "cancel": {"when": "tool_run"}}
    trace = played({"tools": [tool()]}, first, GO_ON)

    assert statuses(trace) == ["cancelled", "completed"]
    assert len([e for e in trace.of("model_request") if e.run == 1]) == 1
    assert said(trace)[-2:] == ["tool(1):rt", "assistant:done"]


def test_who_cancels_the_session_is_not_taken_for_the_scenario() -> None:
    scenario = read_scenario(
        {
            "agent": {"tools": [tool(delay_ms=1000)]},
            "model_script": [CALL],
            "runs": [{"input": ["user:hi"], "cancel": {"when": "after_agent"}}],
        }
    )

    async def cancelled() -> bool:
        playing = asyncio.ensure_future(play(scenario, ReferenceEngine(SEED_001)))
        await asyncio.sleep(0.5)
        playing.cancel()
        try:
            await playing
        except asyncio.CancelledError:
            return True
        return False

    assert run(cancelled())


def test_a_recorder_without_a_wish_cancels_nothing() -> None:
    recorder = Recorder()
    recorder.cancel_at("event", 1, lambda: None)
    recorder.never_cancel()
    recorder.add("event", {})

    assert not recorder.cancelled


# --- asking again

BUSY = {"error": "busy"}


@pytest.mark.parametrize(
    ("retry", "status", "waits"),
    [
        ({"max_retries": 2}, "completed", []),
        ({"max_retries": 2, "backoff": "record"}, "completed", [1, 2]),
        ({"max_retries": 1, "backoff": "record"}, "error", [1]),
        ({"max_retries": 2, "retry_on": "busy"}, "completed", []),
        ({"max_retries": 2, "retry_on": "lost", "backoff": "record"}, "error", []),
    ],
)
def test_a_model_is_asked_again_as_the_scenario_says(
    retry: Any, status: str, waits: list[int]
) -> None:
    script = [BUSY, BUSY, "assistant:ok"]
    trace = played({"retry": retry}, {"input": ["user:hi"]}, script=script)

    assert statuses(trace) == [status]
    assert noted(trace, "attempt") == waits


def test_attempts_that_are_used_up_have_a_point_of_their_own() -> None:
    retry = {"max_retries": 1}
    trace = played({"retry": retry}, {"input": ["user:hi"]}, script=[BUSY, BUSY])
    [told] = trace.of("event")
    error: Any = told.data["error"]

    assert (error["point"], error["is"]) == ("retry_exhausted", "busy")


def test_a_stream_that_broke_tells_whether_the_model_is_asked_again() -> None:
    broken = {"chunks": ["assistant:a"], "stream_error": "cut"}
    first = {"input": ["user:hi"], "streaming": True}
    agent = {"retry": {"max_retries": 1}}
    trace = played(agent, first, script=[broken, broken])
    told = [e.data.get("will_retry") for e in trace.of("event") if "stream" in e.data]

    assert told == [True, None]


# --- what is refused, and what distributes


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"runs": [{"resume": "c", "input": ["user:x"]}]}, "resumes has no 'input'"),
        ({"runs": [{"resume": "c", "checkpoint": "d"}]}, "has no 'checkpoint'"),
        ({"runs": [{"answers": {"*": 1}}]}, "'answers' needs 'resume'"),
        ({"runs": [{"rebuild": True}]}, "'rebuild' needs 'resume'"),
        (
            {"runs": [{"resume": "c", "targets": [{"tool": "t"}], "answers": {}}]},
            "give either 'targets' or 'answers'",
        ),
        ({"runs": [{"resume": "c", "targets": [{}]}]}, "either 'tool' or 'address'"),
        ({"runs": [{"cancel": {"when": "x", "mode": "after_tool_calls"}}]}, "mode"),
        (
            {
                "agent": {
                    "handlers": [
                        {"plain": True, "before_model": [{"op": "block_until_cancel"}]}
                    ]
                }
            },
            "'block_until_cancel' and 'give_back' need hooks that are not 'plain'",
        ),
    ],
)
def test_what_makes_no_sense_together_is_refused(data: Any, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        read_scenario({"agent": {}, **data})


def test_interrupts_distribute_over_streams() -> None:
    wrap = {"interrupt": {"info": 1}, "ask": {"payload": 2}}
    data = {"handlers": [{"wrap_invokable": wrap, "wrap_streamable": wrap}]}
    scenario = read_scenario({"agent": data})
    [handler] = scenario.all_agents[0].handlers

    assert distributes(handler)


def test_a_trace_of_a_resumed_session_is_written_and_read_back() -> None:
    trace = played({"tools": [tool(body=ASK)]}, FIRST, GO_ON)
    lines = trace.to_jsonl()

    assert Trace.from_jsonl(lines).to_jsonl() == lines
    assert {json.loads(line)["kind"] for line in lines.splitlines()} >= {
        "interrupt",
        "resume",
        "checkpoint",
    }


def test_begun_again_a_resumed_iteration_calls_the_model_once_more() -> None:
    handler = {"id": "H", "after_model": [{"op": "interrupt", "info": "x"}]}
    script = ("assistant:one", "assistant:two")

    def played_under(profile: Any) -> list[Any]:
        trace = played(
            {"handlers": [handler]}, FIRST, GO_ON, script=script, under=profile
        )
        answers: list[Any] = [each.data["answer"] for each in trace.of("run_end")]
        return [each.content for each in answers[1:]]

    assert played_under(SEED_001) == ["one"]
    assert played_under(EINO_0_9) == ["two"]

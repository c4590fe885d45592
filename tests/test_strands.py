"""The door to strands: what it wires, refuses and tells."""

import json
from typing import Any

import pytest

from compat.engines.capabilities import CAPABILITIES, refusal_of
from compat.engines.strands import doors
from compat.profiles.confirming import projected
from refengine.profile import STRANDS_1
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.trace import first_divergence
from tests.framework_support import (
    AT_WORK,
    FAIL,
    ONE_CALL,
    OURS_ALONE,
    REFUSED,
    SAME,
    TOOL,
    AddsInput,
    handler,
    left_early,
    told_as_refused_at_build,
    told_as_refused_at_work,
    trace_of,
    two_at_once,
)

ENGINE: Any = doors.engine()
REFERENCE = ReferenceEngine(STRANDS_1)
OTHER = {"name": "u", "result": "other"}
RECORD = [{"op": "record"}]
HERE = {
    **SAME,
    "a wrapper's error": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [
            handler("A", wrap_invokable={}),
            handler("B", wrap_invokable={"factory_error": "no"}),
        ],
    },
    "a tool that is not there": {
        "script": ["assistant:[1:gone({})]", "assistant:done"],
        "tools": [TOOL],
        "handlers": [handler(wrap_invokable={})],
    },
    "calls of one id": {
        "script": ["assistant:[1:t({})][1:u({})]", "assistant:done"],
        "tools": [TOOL, OTHER],
    },
    "a hook that edits the agent": {
        "script": ONE_CALL,
        "tools": [TOOL, OTHER],
        "instruction": "Be brief.",
        "handlers": [
            handler(
                before_agent=[
                    {"op": "append_instruction", "text": "Now."},
                    {"op": "remove_tool", "name": "u"},
                ]
            )
        ],
    },
    "a plugin that brings a tool": {
        "script": ["assistant:[1:u({})]", "assistant:done"],
        "tools": [TOOL],
        "middlewares": [{"additional_tools": [OTHER]}],
    },
    "too many turns": {
        "script": ["assistant:[1:t({})]", "assistant:[2:t({})]"],
        "tools": [TOOL],
        "max_iterations": 2,
        "handlers": [handler(after_agent=RECORD)],
    },
    "an error before the agent": {
        "script": ONE_CALL,
        "handlers": [handler(before_agent=FAIL)],
    },
    "an error after the agent": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [handler(after_agent=FAIL)],
    },
    "an error of a later answer": {
        "script": ["assistant:[1:t({})]", {"error": "no"}],
        "tools": [TOOL],
    },
    "an answer of several calls and a text": {
        "script": ["assistant:text[1:t({})][2:u({})]", "assistant:done"],
        "tools": [TOOL, OTHER],
    },
}


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
def test_it_does_what_its_profile_says(streaming, name) -> None:
    made: Any = {**HERE[name], "run_": {"streaming": streaming}}
    theirs = projected(trace_of(ENGINE, **made))
    ours = projected(trace_of(REFERENCE, **made))

    assert first_divergence(theirs, ours) is None
    assert theirs[-1]["kind"] == "run_end"


AROUND = [
    handler(
        name,
        before_agent=RECORD,
        before_model=RECORD,
        wrap_model={"record": name, "map_output": f"{name}(<content>)"},
        after_model=RECORD,
        after_agent=RECORD,
    )
    for name in "AB"
]


@pytest.mark.parametrize(
    "handlers",
    [
        AROUND,
        [handler(wrap_model={"append_input": "user:also", "hide_tools": ["t"]})],
    ],
    ids=["around", "request"],
)
def test_all_hooks_of_a_handler_stand_where_the_contract_has_them(handlers) -> None:
    made = {
        "script": ONE_CALL,
        "tools": [TOOL],
        "instruction": "Be brief.",
        "handlers": handlers,
    }
    theirs, ours = (projected(trace_of(e, **made)) for e in (ENGINE, REFERENCE))

    assert first_divergence(theirs, ours) is None


def test_the_pieces_of_two_calls_that_come_mixed_are_two_calls() -> None:
    pieces = [
        {"index": 0, "id": "1", "name": "t", "arguments": "{"},
        {"index": 1, "id": "2", "name": "u", "arguments": "{}"},
        {"index": 0, "arguments": "}"},
    ]
    chunks = [json.dumps({"tool_calls": [each]}) for each in pieces]
    script = [{"chunks": chunks}, "assistant:done"]
    made: Any = {"tools": [TOOL, OTHER], "run_": {"streaming": True}}
    trace = trace_of(ENGINE, script, **made)

    assert [each.data["name"] for each in trace.of("tool_start")] == ["t", "u"]


def test_tools_whose_names_differ_by_a_dash_are_refused() -> None:
    tools = [{**TOOL, "name": each} for each in ("a-b", "a_b")]
    [told] = trace_of(ENGINE, ONE_CALL, tools=tools)

    assert told.kind == "build_error"
    assert "Cannot add a duplicate tool which differs by a" in str(told.data)


def test_a_given_call_without_arguments_is_refused() -> None:
    asked = {"input": ["assistant:a[1:t()]"]}
    trace = trace_of(ENGINE, ["assistant:x"], run_=asked)

    assert "'arguments_text', which call '1' of tool 't' needs" in str(
        refusal_of(trace)
    )


def test_an_answer_that_says_nothing_is_shown_as_blank_text() -> None:
    adds = [handler(before_model=[{"op": "append", "msg": "assistant:"}])]
    trace = trace_of(ENGINE, ["assistant:done"], handlers=adds)
    [asked] = trace.of("model_request")
    shown: Any = asked.data["messages"]

    assert shown[-1].content == "[blank text]"


REFUSED_HERE = {
    **REFUSED,
    "return_directly": {"tools": [TOOL], "return_directly": {"t": True}},
}
AT_WORK_HERE = {
    **AT_WORK,
    "streamed_model_wraps": {
        "handlers": [handler(wrap_model={})],
        "run_": {"streaming": True},
    },
    "arguments_text": {"script": ["assistant:[1:t(x)]"]},
}


@pytest.mark.parametrize("capability", REFUSED_HERE)
def test_what_it_lacks_is_refused_at_build(capability: str) -> None:
    told_as_refused_at_build(ENGINE, capability, REFUSED_HERE[capability])


@pytest.mark.parametrize("capability", AT_WORK_HERE)
def test_what_shows_only_at_work_ends_the_run_with_the_refusal(capability: str) -> None:
    told_as_refused_at_work(ENGINE, capability, AT_WORK_HERE[capability])


def test_a_refusal_that_the_framework_made_a_result_ends_the_run() -> None:
    hides = [handler(wrap_invokable={"rewrite_args": "no JSON"})]
    trace = trace_of(ENGINE, ONE_CALL, tools=[TOOL], handlers=hides)

    assert "arguments_text" in (refusal_of(trace) or "")


def test_every_capability_is_declared_or_refused_in_these_tests() -> None:
    refused = {*REFUSED_HERE, *AT_WORK_HERE, "adapted_structs", "fall_back"}
    # Of whoever judges: an agent of that size is no end, a run is cancelled outside.
    refused |= {"many_extensions", "cancellation"}
    refused |= OURS_ALONE

    assert ENGINE.capabilities | refused == CAPABILITIES.keys()
    assert not ENGINE.capabilities & refused


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_run_that_is_left_goes_no_further(stream: bool) -> None:
    event, outcome, executions = run(left_early(ENGINE, stream=stream))

    assert event.kind == "model"
    assert outcome.status == "cancelled"
    assert executions == 0


def test_runs_at_once_see_only_their_own_edits() -> None:
    found = run(two_at_once(ENGINE, instruction="for ", handlers=[AddsInput()]))

    assert found == ["for a a", "for b b"]


def test_a_call_without_an_id_is_left_out_and_the_text_stays() -> None:
    trace = trace_of(ENGINE, ["assistant:a[:t({})]", "assistant:done"], tools=[TOOL])
    told = trace.of("event")[0].data["message"]

    assert told == "assistant:a"
    assert not trace.of("tool_start")

"""The door to pydantic-ai: what it wires, refuses and tells."""

from typing import Any

import pytest

from compat.engines.capabilities import CAPABILITIES, refusal_of
from compat.engines.pydantic_ai import doors
from compat.profiles.confirming import projected
from refengine.profile import PYDANTIC_AI_2
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
    handler,
    left_early,
    told_as_refused_at_build,
    told_as_refused_at_work,
    trace_of,
    two_at_once,
)

ENGINE: Any = doors.engine()
REFERENCE = ReferenceEngine(PYDANTIC_AI_2)
OTHERWISE = {
    # a result without its call is not sent: property_tests/known/pydantic-ai.toml
    "a history that is cut in the middle of a call",
    # a wrapper hands on arguments alone, so the next one is shown the call's own name
    "arguments in another notation, for a call with another name",
}


@pytest.mark.parametrize("name", [each for each in SAME if each not in OTHERWISE])
@pytest.mark.parametrize("streaming", [False, True], ids=["invoke", "stream"])
def test_it_does_what_its_profile_says(streaming, name) -> None:
    made = {**SAME[name], "run_": {"streaming": streaming}}
    theirs = projected(trace_of(ENGINE, **made))
    ours = projected(trace_of(REFERENCE, **made))

    assert first_divergence(theirs, ours) is None
    assert theirs[-1]["kind"] == "run_end"


AROUND = [
    handler(
        name,
        before_agent=[{"op": "record"}],
        before_model=[{"op": "record"}],
        wrap_model={"record": name, "map_output": f"{name}(<content>)"},
        after_model=[{"op": "record"}],
        after_agent=[{"op": "record"}],
    )
    for name in "AB"
]


@pytest.mark.parametrize(
    "handlers",
    [
        AROUND,
        [handler(before_agent=FAIL)],
        [handler(after_agent=FAIL)],
        [handler(wrap_model={"append_input": "user:also", "hide_tools": ["t"]})],
    ],
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


def test_a_call_of_an_unknown_tool_passes_no_wrapper_and_a_second_one_ends_the_run():
    script = ["assistant:[1:gone({})]", "assistant:[2:gone({})]"]
    wraps = [handler(wrap_invokable={"record": "H"})]
    trace = trace_of(ENGINE, script, tools=[TOOL], handlers=wraps)
    answered, ended = trace.of("event")[1], trace.of("event")[-1]

    assert not [each for each in trace.of("hook_enter") if each.call_id]
    assert "Unknown tool name: 'gone'" in str(answered.data)
    assert ended.data["class"] == "UnexpectedModelBehavior"


REFUSED_HERE = {
    **REFUSED,
    "return_directly": {"tools": [TOOL], "return_directly": {"t": True}},
}
ADD = [{"op": "append_instruction", "text": "x"}]
AT_WORK_HERE = {
    **AT_WORK,
    "edited_config": {"handlers": [handler(before_agent=ADD)]},
    "streamed_model_wraps": {
        "handlers": [handler(wrap_model={})],
        "run_": {"streaming": True},
    },
    "arguments_text": {"script": ["assistant:[1:t(x)]"]},
    "equal_call_ids": {"script": ["assistant:[1:t({})][1:t({})]"]},
}


@pytest.mark.parametrize("capability", REFUSED_HERE)
def test_what_it_lacks_is_refused_at_build(capability: str) -> None:
    told_as_refused_at_build(ENGINE, capability, REFUSED_HERE[capability])


@pytest.mark.parametrize("capability", AT_WORK_HERE)
def test_what_shows_only_at_work_ends_the_run_with_the_refusal(capability: str) -> None:
    told_as_refused_at_work(ENGINE, capability, AT_WORK_HERE[capability])


def test_a_wrapper_that_catches_everything_cannot_hide_a_refusal() -> None:
    wraps = {"rewrite_args": "no JSON", "catch_error": "hidden"}
    hides = [handler(wrap_invokable=wraps)]
    trace = trace_of(ENGINE, ONE_CALL, tools=[TOOL], handlers=hides)

    assert "arguments_text" in (refusal_of(trace) or "")


def test_every_capability_is_declared_or_refused_in_these_tests() -> None:
    refused = {*REFUSED_HERE, *AT_WORK_HERE, "adapted_structs", "fall_back"}
    # Of whoever judges: an agent of that size is no end, a run is cancelled outside.
    refused |= {"many_extensions", "cancellation"}
    refused |= OURS_ALONE

    assert ENGINE.capabilities | refused == CAPABILITIES.keys()
    assert not ENGINE.capabilities & refused


def test_a_run_that_is_left_goes_no_further() -> None:
    event, outcome, executions = run(left_early(ENGINE))

    assert event.kind == "model"
    assert outcome.status == "cancelled"
    assert executions == 0


def test_runs_at_once_see_only_their_own() -> None:
    assert run(two_at_once(ENGINE)) == ["a a", "b b"]

"""The values of the Flow dialect: frozen, and the same after a way through JSON."""

import json
from dataclasses import FrozenInstanceError
from typing import Any, cast

import pytest

from compat.dialects.flow import (
    Actions,
    Blob,
    CodeResult,
    Content,
    Event,
    FileData,
    FunctionCall,
    FunctionResponse,
    GenerateConfig,
    LlmRequest,
    LlmResponse,
    Part,
    ToolConfirmation,
    Usage,
    text_content,
)
from compat.dialects.flow.errors import ValueReadError
from compat.dialects.flow.profile import FLOW_PROFILES, FlowProfile, flow_profile
from compat.dialects.flow.values import as_json, from_json, plain
from refengine.errors import UnknownProfileError
from refengine.postures import differences, options_of

FULL = Event(
    author="clerk",
    id="e1",
    invocation_id="i1",
    branch="root.clerk",
    timestamp=12.5,
    content=Content(
        "model",
        (
            Part(text="hm", thought=True),
            Part(call=FunctionCall("f", {"xs": [1, {"deep": None}]}, "c1")),
            Part(response=FunctionResponse("f", None, "c1")),
            Part(blob=Blob(b"\x00\xff", "image/png", "dot")),
            Part(file=FileData("gs://x", "text/plain")),
            Part(code="1 + 1"),
            Part(code_result=CodeResult("2")),
            Part(metadata={"seconds": 2}),
        ),
    ),
    partial=True,
    usage=Usage(prompt=3, total=5),
    grounding={"sources": ["a"]},
    actions=Actions(
        state_delta={"user:name": "Ada"},
        artifact_delta={"a.txt": 2},
        requested_confirmations={"c1": ToolConfirmation(hint="?", payload={"n": 1})},
        transfer_to_agent="other",
    ),
    long_running_ids=("c1",),
)


@pytest.mark.parametrize(
    "value", [FULL, Event(), LlmResponse(error_code="429"), GenerateConfig(top_p=0.5)]
)
def test_a_value_is_the_same_after_a_way_through_json(value):
    written = json.loads(json.dumps(as_json(value)))

    assert from_json(type(value), written) == value


def test_a_field_with_its_default_is_not_written():
    assert as_json(text_content("user", "hi")) == {
        "role": "user",
        "parts": [{"text": "hi"}],
    }
    assert as_json(Event()) == {}


def test_values_are_frozen_down_to_their_json():
    call = FULL.calls[0]

    with pytest.raises(FrozenInstanceError):
        cast("Any", FULL).author = "other"
    with pytest.raises(TypeError):
        cast("Any", call.args)["xs"] = 2
    assert isinstance(call.args["xs"], tuple)


def test_a_plain_copy_is_its_readers_own():
    args = plain(FULL.calls[0].args)

    args["xs"].append(3)

    assert args == {"xs": [1, {"deep": None}, 3]}
    assert plain(FULL.calls[0].args) == {"xs": [1, {"deep": None}]}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], "Event: [] (list) is not a JSON object"),
        ({"who": "me"}, "Event.who: 'me' (str) is not a field of Event"),
        ({"author": 1}, "Event.author: 1 (int) is not of type str"),
        ({"partial": 1}, "Event.partial: 1 (int) is not of type bool"),
        (
            {"content": {"parts": [{"call": {}}]}},
            (
                "Event.content.parts[0].call.name: None (NoneType) is not of type str,"
                " as it is missing"
            ),
        ),
        (
            {"content": {"parts": [{"blob": {"data": "?"}}]}},
            "Event.content.parts[0].blob.data: '?' (str) is not text in base64",
        ),
        ({"long_running_ids": 1}, "Event.long_running_ids: 1 (int) is not a list"),
        (
            {"actions": {"requested_confirmations": {"c": 1}}},
            "Event.actions.requested_confirmations['c']: 1 (int) is not a JSON object",
        ),
        (
            {"actions": {"state_delta": []}},
            "Event.actions.state_delta: [] (list) is not a JSON object",
        ),
    ],
)
def test_json_that_is_no_event_is_refused_with_its_place(raw, message):
    with pytest.raises(ValueReadError) as caught:
        from_json(Event, raw)

    assert str(caught.value) == message


def test_a_request_grows_by_instructions_and_declarations():
    request = LlmRequest()

    request.append_instructions("Be kind.", "")
    request.append_instructions("Be brief.")

    assert request.config.system_instruction == "Be kind.\n\nBe brief."


def test_only_a_part_of_nothing_is_empty():
    assert Part().empty
    assert not Part(metadata={"seconds": 2}).empty
    assert not Part(text="x").empty


def test_every_option_of_a_posture_is_some_profiles_choice():
    for posture, options in options_of(FlowProfile).items():
        assert {getattr(each, posture) for each in FLOW_PROFILES} == {*options}, posture


def test_the_safe_profile_differs_from_the_seeds_where_that_has_a_bug():
    seed, safe = flow_profile("adk-go-0.4"), flow_profile("flow-safe")

    changed = {posture for posture, _, _ in differences(seed, safe)}

    assert {"partial_calls", "before_agent_error", "confirmation_ids"} <= changed
    assert "tool_failures" not in changed


def test_an_unknown_profile_is_refused_with_a_suggestion():
    with pytest.raises(UnknownProfileError, match=r"did you mean 'adk-go-0\.4'"):
        flow_profile("adk-go-04")

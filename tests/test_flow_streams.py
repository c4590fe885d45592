"""Streams and what they come to; actions of several calls and what they come to."""

import pytest

from compat.dialects.flow import (
    Actions,
    CodeResult,
    Content,
    Event,
    FunctionCall,
    FunctionResponse,
    LlmResponse,
    Part,
    PartialArg,
    Usage,
)
from compat.dialects.flow.aggregating import aggregate
from compat.dialects.flow.errors import EmptyResponseError
from compat.dialects.flow.merging import is_final, merge_actions
from compat.dialects.flow.partial_args import path_steps
from compat.dialects.flow.profile import FLOW_PROFILES, flow_profile
from refengine.postures import choosing

GO, HEAD = flow_profile("adk-go-0.4"), flow_profile("adk-go-2")
PY_1, PY_2 = flow_profile("adk-py-1"), flow_profile("adk-py-2")
OLD_PY_2 = choosing(PY_2, "aggregation", "first_part")
EVERY = pytest.mark.parametrize("profile", FLOW_PROFILES, ids=lambda each: each.name)

META = Part(metadata={"fps": 1})


def chunk(*parts: Part | str, **fields: object) -> LlmResponse:
    """Return a chunk with these parts; a text stands for a part of it."""
    made = tuple(Part(text=p) if isinstance(p, str) else p for p in parts)
    return LlmResponse(content=Content("model", made), **fields)


def shown(*chunks, profile) -> list[tuple[bool, list[str]]]:
    """Return partial flag and parts of each response, what is not text by its kind."""

    def word(part: Part) -> str:
        if part.thought:
            return f"({part.text})"
        if part.call:
            return f"{part.call.name}()"
        return part.text or ("" if part.empty else "sound" if part.blob else "meta")

    return [
        (each.partial, [word(p) for p in each.content.parts] if each.content else [])
        for each in aggregate(chunks, profile)
    ]


def test_thoughts_stand_before_the_answer_where_only_the_first_part_counts():
    thought = Part(text="hm", thought=True)

    assert shown(chunk("a"), chunk(thought), profile=GO)[-1] == (False, ["(hm)", "a"])
    assert shown(chunk("a"), chunk(thought), profile=PY_1)[-1] == (False, ["a", "(hm)"])


def test_progressive_keeps_all_parts_in_their_order():
    call = Part(call=FunctionCall("f"))

    assert shown(chunk("a"), chunk("b", META, "c"), chunk(call), profile=PY_1)[-1] == (
        False,
        ["ab", "meta", "c", "f()"],
    )


def test_an_empty_part_changes_nothing_in_go_and_is_a_part_in_python():
    chunks = (chunk("a"), chunk(Part()), chunk("b"))

    assert shown(*chunks, profile=GO)[-1] == (False, ["ab"])
    assert shown(*chunks, profile=HEAD)[-1] == (False, ["ab"])
    assert shown(*chunks, profile=PY_1)[-1] == (False, ["a", "", "b"])
    assert shown(*chunks, profile=OLD_PY_2)[1] == (False, ["a"])


def test_a_stream_that_said_nothing_ends_with_nothing_or_an_empty_response():
    assert shown(chunk(), profile=PY_1) == [(True, [])]
    assert shown(chunk(), profile=PY_2) == [(True, []), (False, [])]
    assert shown(profile=PY_2) == []


def test_a_chunk_without_a_candidate_fails_or_is_told():
    with pytest.raises(EmptyResponseError, match=r"^empty response"):
        shown(None, profile=GO)
    assert shown(None, profile=HEAD) == [(True, []), (False, [])]


def test_a_call_told_twice_under_one_id_counts_once_in_one_version():
    call = Part(call=FunctionCall("f", id="1"))

    assert shown(chunk(call), chunk(call), profile=PY_1)[-1] == (False, ["f()"] * 2)
    assert shown(chunk(call), chunk(call), profile=PY_2)[-1] == (False, ["f()"])


def test_arguments_that_come_in_pieces_become_one_call():
    def piece(*args: tuple[str, object], more: bool = True, name: str = "") -> Part:
        pieces = tuple(PartialArg(path, value) for path, value in args)
        call = FunctionCall(name, partial_args=pieces, will_continue=more)
        return Part(call=call)

    chunks = (
        chunk("so ", piece(("$.to.city", "Par"), name="book")),
        chunk(piece(("$.to.city", "is"), ("$.days[1]", 2), ("$['a\\'b']", None))),
        chunk(piece(("$.days.x", 1), more=False)),
        chunk("ok", finish_reason="STOP"),
    )
    *_, last = aggregate(chunks, PY_2)

    assert last.content is not None
    assert [part.text for part in last.content.parts] == ["so ", "", "ok"]
    assert last.content.calls == (
        FunctionCall("book", {"to": {"city": "Paris"}, "days": [None, 2], "a'b": None}),
    )


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$.a.b[0].c", ["a", "b", 0, "c"]),
        ("a['x.y'][\"z\"]", ["a", "x.y", "z"]),
        ("$", []),
        (r"$['\u0041\q']", ["u0041q"]),
        (r"$['\u0041']", ["A"]),
    ],
)
def test_a_path_is_names_and_indices(path, steps):
    assert path_steps(path) == steps


def test_what_an_earlier_chunk_alone_said_is_kept_to_the_end():
    usage = Usage(total=3)
    chunks = [chunk("a", usage=usage, finish_reason="STOP"), chunk("b", error_code="x")]

    *_, last = aggregate(chunks, HEAD)

    assert (last.usage, last.finish_reason, last.error_code) == (usage, "STOP", "")


def test_a_finish_reason_completes_the_turn_of_its_chunk():
    first, second, _ = aggregate([chunk("a"), chunk("b", finish_reason="STOP")], GO)

    assert (first.turn_complete, second.turn_complete) == (False, True)


# Actions


def test_artifact_versions_are_those_of_the_first_the_newest_or_the_last():
    given = [Actions(artifact_delta={"f": 3}), Actions(artifact_delta={"f": 2, "g": 1})]

    found = [merge_actions(given, each) for each in (GO, HEAD, PY_1)]

    assert [each and each.artifact_delta for each in found] == [
        {"f": 3},
        {"f": 3, "g": 1},
        {"f": 2, "g": 1},
    ]


# The end of a turn


def holding(*parts: Part, **fields: object) -> Event:
    return Event(content=Content("model", parts), **fields)


@pytest.mark.parametrize(
    ("event", "final"),
    [
        (Event(), True),
        (Event(content=Content("model", (Part(text="x"),))), True),
        (Event(partial=True), False),
        (Event(content=Content("model", (Part(call=FunctionCall("f")),))), False),
        (
            Event(content=Content("user", (Part(response=FunctionResponse("f")),))),
            False,
        ),
        (Event(content=Content("model", (Part(code_result=CodeResult()),))), False),
        (Event(partial=True, actions=Actions(skip_summarization=True)), True),
        (holding(Part(call=FunctionCall("f", id="1")), long_running_ids=("1",)), True),
    ],
)
@EVERY
def test_an_event_is_final_if_nothing_is_left_to_do(profile, event, final):
    assert is_final(event, profile) is final


def test_an_event_with_an_error_code_is_final_whatever_it_holds_in_one_version():
    event = holding(Part(response=FunctionResponse("f")), error_code="429")

    assert (is_final(event, PY_1), is_final(event, PY_2)) == (False, True)

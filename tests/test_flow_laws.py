"""Laws of the Flow dialect's pure parts, where they hold and once where they do not.

A law names the postures under which it holds: it is checked under every profile that
has them, and by an example that breaks it under another choice.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from compat.dialects.flow import (
    Actions,
    Content,
    Event,
    FlowProfile,
    FunctionCall,
    FunctionResponse,
    LlmAgent,
    LlmResponse,
    Part,
    SequentialAgent,
    text_content,
)
from compat.dialects.flow.aggregating import aggregate
from compat.dialects.flow.contents import contents_of
from compat.dialects.flow.errors import (
    AgentNotFoundError,
    NoCallFoundError,
    ResponsesMixedError,
)
from compat.dialects.flow.merging import merge_actions, merge_two
from compat.dialects.flow.profile import FLOW_PROFILES, flow_profile
from compat.dialects.flow.templates import fill_template, is_variable
from compat.dialects.flow.transfer import found_target, transfer_targets
from compat.dialects.flow.tree import Agent
from refengine.postures import choosing

GO, PY_1, PY_2, SAFE = map(
    flow_profile, ("adk-go-0.4", "adk-py-1", "adk-py-2", "flow-safe")
)


FEW = settings(max_examples=40, deadline=None, derandomize=True, database=None)


def under(**postures: str) -> Callable[..., pytest.MarkDecorator]:
    """Return a mark for every profile that has these postures; some have them."""
    found = [
        each
        for each in FLOW_PROFILES
        if all(getattr(each, name) == option for name, option in postures.items())
    ]
    assert found
    return pytest.mark.parametrize("profile", found, ids=lambda each: each.name)


# The merge of actions

KEYS = st.sampled_from("abc")
LEAVES = st.none() | st.integers(0, 3) | st.lists(st.integers(0, 1), max_size=2)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "leaf": LEAVES,
        "map": st.dictionaries(KEYS, LEAVES, max_size=2),
        "deep": st.dictionaries(
            st.just("inner"), st.dictionaries(KEYS, LEAVES, max_size=2), max_size=1
        ),
    },
)
ACTIONS = st.builds(
    Actions,
    state_delta=DELTAS,
    artifact_delta=st.dictionaries(KEYS, st.integers(0, 3), max_size=2),
    skip_summarization=st.none() | st.booleans(),
    escalate=st.none() | st.booleans(),
    transfer_to_agent=st.sampled_from(["", "x", "y"]),
)


@under()
@FEW
@given(given_actions=st.lists(ACTIONS, min_size=1, max_size=4))
def test_the_merge_is_the_left_fold_of_the_merge_of_two(profile, given_actions) -> None:
    folded = reduce(lambda a, b: merge_two(a, b, profile), given_actions)

    assert merge_actions(given_actions, profile) == folded
    assert merge_actions([None, *given_actions, None], profile) == folded


@under()
@FEW
@given(given_actions=st.tuples(ACTIONS, ACTIONS, ACTIONS))
def test_the_merge_is_associative_where_each_key_holds_maps_or_none(
    profile, given_actions
) -> None:
    a, b, c = given_actions

    assert merge_two(merge_two(a, b, profile), c, profile) == merge_two(
        a, merge_two(b, c, profile), profile
    )


def test_the_merge_is_not_associative_where_a_key_holds_a_map_and_more() -> None:
    a, b, c = (Actions(state_delta={"k": each}) for each in ({"x": 1}, 1, {"y": 2}))

    left = merge_two(merge_two(a, b, GO), c, GO).state_delta
    right = merge_two(a, merge_two(b, c, GO), GO).state_delta

    assert (left, right) == ({"k": {"y": 2}}, {"k": {"x": 1, "y": 2}})


@under(flags_merge="any")
@FEW
@given(given_actions=st.lists(ACTIONS, min_size=1, max_size=4))
def test_a_flag_that_any_call_set_is_set(profile, given_actions) -> None:
    merged = merge_actions(given_actions, profile)

    assert merged is not None
    assert bool(merged.escalate) == any(each.escalate for each in given_actions)


def test_a_flag_is_taken_back_where_the_last_word_counts() -> None:
    given_actions = [Actions(escalate=True), Actions(escalate=False)]

    merged = merge_actions(given_actions, PY_1)

    assert merged is not None
    assert merged.escalate is False


# Streams

TEXTS = st.text("ab ", min_size=1, max_size=5)
SAID = st.tuples(st.booleans(), TEXTS)
CALLED = st.builds(
    lambda number: Part(call=FunctionCall("f", {"n": number}, f"c{number}")),
    st.integers(0, 9),
)
ANSWERS = st.lists(SAID | CALLED, max_size=5, unique_by=str)
"""What a model says in one answer: text, thoughts and calls, in this order."""


def cut(draw: st.DrawFn, text: str) -> list[str]:
    """Return the text in pieces that are not empty."""
    ends = sorted(draw(st.sets(st.integers(1, len(text)), max_size=3)) | {0, len(text)})
    return [text[start:end] for start, end in pairwise(ends)]


@st.composite
def cuts(draw: st.DrawFn) -> tuple[list[LlmResponse], list[LlmResponse]]:
    """Return one answer as chunks of one part each, cut in two ways."""
    answer = draw(ANSWERS)
    return chunks(draw, answer), chunks(draw, answer)


def chunks(draw: st.DrawFn, answer: Sequence[object]) -> list[LlmResponse]:
    parts: list[Part] = []
    for each in answer:
        if isinstance(each, Part):
            parts.append(each)
        else:
            thought, text = each  # type: ignore[misc]  # drawn as a pair
            parts += [Part(text=piece, thought=thought) for piece in cut(draw, text)]
    return [LlmResponse(content=Content("model", (part,))) for part in parts]


def whole(given_chunks: Sequence[LlmResponse], profile: FlowProfile) -> list[object]:
    """Return the contents of the whole responses of a stream."""
    return [
        each.content for each in aggregate(given_chunks, profile) if not each.partial
    ]


@under()
@FEW
@given(both=cuts())
def test_whole_responses_do_not_depend_on_how_text_was_cut(profile, both) -> None:
    one, other = both

    assert whole(one, profile) == whole(other, profile)


def test_whole_responses_depend_on_cuts_where_a_chunk_mixes_kinds() -> None:
    text, thought = Part(text="a"), Part(text="b", thought=True)
    apart = [LlmResponse(content=Content("model", (part,))) for part in (text, thought)]
    mixed = [LlmResponse(content=Content("model", (text, thought)))]

    assert whole(apart, PY_1) == whole(mixed, PY_1)
    assert whole(apart, GO) != whole(mixed, GO)


@under(empty_chunk_part="passed_over")
@FEW
@given(both=cuts(), at=st.integers(0, 9))
def test_an_empty_part_in_a_stream_changes_no_whole_response(profile, both, at) -> None:
    given_chunks, _ = both
    empty = LlmResponse(content=Content("model", (Part(),)))
    padded = [*given_chunks[:at], empty, *given_chunks[at:]]
    assume(given_chunks)

    assert whole(padded, profile) == whole(given_chunks, profile)


def test_an_empty_part_splits_text_where_it_is_a_part_as_another() -> None:
    given_chunks = [LlmResponse(content=text_content("model", each)) for each in "ab"]
    empty = LlmResponse(content=Content("model", (Part(),)))

    assert whole([given_chunks[0], empty, given_chunks[1]], PY_1) != whole(
        given_chunks, PY_1
    )


@under()
@FEW
@given(both=cuts())
def test_contents_do_not_depend_on_how_text_was_cut(profile, both) -> None:
    one, other = (sent(each, profile) for each in both)

    assert one == other


def sent(given_chunks: Sequence[LlmResponse], profile: FlowProfile) -> object:
    """Return what the model is sent once a stream was kept, its calls answered."""
    events = [Event(author="user", content=text_content("user", "hi"))]
    for each in aggregate(given_chunks, profile):
        if not each.partial and each.content is not None:
            events.append(Event(author="me", content=each.content))
            answers = [FunctionResponse("f", id=call.id) for call in each.content.calls]
            parts = tuple(Part(response=answer) for answer in answers)
            events += (
                [Event(author="me", content=Content("user", parts))] if parts else []
            )
    return contents_of(events, "me", profile)


def test_contents_depend_on_cuts_where_only_the_first_part_of_a_chunk_counts() -> None:
    apart = [LlmResponse(content=text_content("model", each)) for each in "ab"]
    together = [LlmResponse(content=text_content("model", "a", "b"))]

    assert sent(apart, PY_1) == sent(together, PY_1)
    assert sent(apart, GO) != sent(together, GO)


# Contents

IDS = st.sampled_from(["1", "2", "3", "4"])


def called(ids: Sequence[str]) -> Event:
    parts = tuple(Part(call=FunctionCall("f", id=each)) for each in ids)
    return Event(author="me", content=Content("model", parts))


def answered(ids: Sequence[str]) -> Event:
    parts = tuple(Part(response=FunctionResponse("f", id=each)) for each in ids)
    return Event(author="user", content=Content("user", parts))


SOME_IDS = st.lists(IDS, min_size=1, max_size=3, unique=True)
HISTORIES = st.lists(
    SOME_IDS.map(called)
    | SOME_IDS.map(answered)
    | st.sampled_from(["user", "me"]).map(
        lambda author: Event(author=author, content=text_content("user", author))
    ),
    max_size=8,
)


def paired(contents: Sequence[Content]) -> bool:
    """Tell whether all responses stand behind their calls, one for each at most."""
    for before, content in pairwise([Content(), *contents]):
        calls = [each.id for each in before.calls]
        if any(calls.count(each.id) != 1 for each in content.responses):
            return False
        if len({each.id for each in content.responses}) < len(content.responses):
            return False
    return True


@under(shared_response="parted", lone_response="dropped")
@FEW
@given(events=HISTORIES)
def test_a_response_stands_behind_its_call_and_a_call_has_one_at_most(
    profile, events
) -> None:
    try:
        contents = contents_of(events, "me", profile)
    except (NoCallFoundError, ResponsesMixedError):
        reject()

    assert paired(contents)


def test_a_response_stands_twice_where_an_event_answers_calls_of_two() -> None:
    events = [called(["1"]), called(["2"]), answered(["1", "2"])]

    assert not paired(contents_of(events, "me", GO))
    assert paired(contents_of(events, "me", SAFE))


def test_a_response_stands_alone_where_it_is_all_there_is() -> None:
    assert not paired(contents_of([answered(["1"])], "me", GO))
    assert paired(contents_of([answered(["1"])], "me", PY_1))


@under(unanswered_call="dropped", shared_response="repeated")
@FEW
@given(events=HISTORIES)
def test_a_call_that_nobody_answered_is_not_sent(profile, events) -> None:
    contents = contents_of(events, "me", profile)

    asked = {call.id for each in contents for call in each.calls}
    assert asked <= {answer.id for each in contents for answer in each.responses}


def test_a_call_that_nobody_answered_is_sent_where_it_is_kept() -> None:
    assert contents_of([called(["1"])], "me", GO)
    assert not contents_of([called(["1"])], "me", PY_2)


# Templates

STATE = {"n": "Ada", "app:a": "App", "user:u": "You", "temp:t": "now"}
LITERALS = st.text("ab $\\\n", max_size=4)
NAMES = st.sampled_from(list(STATE))
KEPT = st.sampled_from(
    ["{bad-key}", "{x:y}", "{}", "{1x}", "{n ?}", '{"a": 1}', "{app:}", "{a.b}"]
)


@st.composite
def templates(draw: st.DrawFn) -> tuple[str, str]:
    """Return a template, and what it says when only its places are replaced."""
    template, text = "", ""
    for _ in range(draw(st.integers(0, 4))):
        literal, kept = draw(LITERALS), draw(KEPT)
        name, braces = draw(NAMES), draw(st.integers(1, 3))
        space, mark = draw(st.sampled_from(["", " "])), draw(st.sampled_from(["", "?"]))
        place = "{" * braces + f"{space}{name}{mark}{space}" + "}" * braces
        template += f"{literal}{place}{literal}{kept}"
        text += f"{literal}{STATE[name]}{literal}{kept}"
    return template, text


def said(template: str, profile: FlowProfile) -> str:
    return asyncio.run(fill_template(template, STATE, None, profile))


@under(template_escapes="none")
@FEW
@given(both=templates())
def test_templates_replace_what_the_grammar_names_alone(profile, both) -> None:
    template, text = both

    assert said(template, profile) == text


def test_a_place_behind_a_dollar_is_left_where_that_protects_it() -> None:
    assert said("${n}", PY_1) == "$Ada"
    assert said("${n}", PY_2) == "${n}"


@FEW
@given(name=st.text("ab1_:-", max_size=6))
def test_a_variable_is_an_identifier_that_may_have_a_scope(name) -> None:
    scope, colon, rest = name.rpartition(":")

    assert is_variable(name) == (
        rest.isidentifier() and (not colon or scope in {"app", "user", "temp"})
    )


# Transfer

AGENTS = st.recursive(
    st.just(()), lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6
)


@st.composite
def trees(draw: st.DrawFn) -> tuple[Agent, list[tuple[Agent, Agent | None]]]:
    """Return a tree of agents, and each of them with its parent."""
    placed: list[tuple[Agent, Agent | None]] = []
    root = _grown(draw, draw(AGENTS), [0])
    waiting: list[tuple[Agent, Agent | None]] = [(root, None)]
    while waiting:
        agent, parent = waiting.pop()
        placed.append((agent, parent))
        waiting += [(each, agent) for each in agent.sub_agents]
    return root, placed


def _grown(draw: st.DrawFn, shape: tuple[object, ...], number: list[int]) -> Agent:
    number[0] += 1
    name = f"a{number[0]}"
    below = [_grown(draw, each, number) for each in shape]
    if draw(st.integers(0, 3)) == 0:
        return SequentialAgent(name=name, sub_agents=below)
    return LlmAgent(
        name=name,
        sub_agents=below,
        disallow_transfer_to_parent=draw(st.booleans()),
        disallow_transfer_to_peers=draw(st.booleans()),
    )


@under(transfer_reach="targets", transfer_to_self="refused")
@FEW
@given(tree=trees(), data=st.data())
def test_a_transfer_reaches_targets_only(profile, tree, data) -> None:
    root, placed = tree
    agent, parent = data.draw(st.sampled_from(placed))
    targets = {each.name for each in transfer_targets(agent, parent)}

    for wanted, _ in placed:
        try:
            found = found_target(wanted.name, agent, parent, root, profile)
        except AgentNotFoundError:
            assert wanted.name not in targets
        else:
            assert found.name in targets


@FEW
@given(tree=trees())
def test_nobody_is_a_target_of_its_own_and_only_models_reach_up(tree) -> None:
    _, placed = tree
    for agent, parent in placed:
        targets = [each.name for each in transfer_targets(agent, parent)]
        assert agent.name not in targets
        assert len(targets) == len(set(targets))
        if parent is not None and not isinstance(parent, LlmAgent):
            assert parent.name not in targets


def test_a_transfer_reaches_more_where_the_whole_tree_is_searched() -> None:
    child = LlmAgent(name="child", disallow_transfer_to_parent=True)
    root = LlmAgent(name="root", sub_agents=[child])

    assert found_target("root", child, root, root, PY_1) is root
    with pytest.raises(AgentNotFoundError, match="failed to find agent: root; it may"):
        found_target("root", child, root, root, PY_2)
    assert choosing(PY_2, "transfer_reach", "whole_tree").transfer_to_self == "refused"

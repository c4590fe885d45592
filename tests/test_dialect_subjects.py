"""Subjects built of our own dialects: how they are played, and what differs between."""

from collections.abc import Sequence
from typing import Any

import pytest

from compat.dialects.callbacks import (
    AgentCallbacks,
    CallbackAgent,
    Client,
    SessionManager,
)
from compat.dialects.stream_loop import (
    LinearProcessor,
    LoopProcessor,
    ResponseCallbacks,
)
from compat.migration.corpus import make_corpus
from compat.migration.differences import Additions, TraceChannels
from compat.migration.pairs import SeenPair
from compat.verdicts.relations import RELATIONS, channels_of
from refengine.testing.recorder import Recorder
from refengine.testing.scenario_files import read_scenario
from refengine.testing.scripted import ScriptedModel
from refengine.testing.subject_worlds.fits import OWNERS, fit_of
from refengine.testing.subject_worlds.streamed_worlds import asking
from refengine.testing.subject_worlds.words import Words
from refengine.testing.subjects import Subject, SubjectError, play_alone
from tests.players import CALLS, world

EVERY = channels_of(RELATIONS[-1])
PIECES = world(
    agent={"tools": [{"name": "t", "result": "<args>"}, {"name": "u", "error": "no"}]},
    model_script=[
        {
            "chunks": [
                "assistant:on",
                "assistant: it",
                '{"tool_calls":[{"index":0,"id":"a","name":"t"}]}',
                '{"tool_calls":[{"index":1,"id":"b","name":"u"}]}',
                '{"tool_calls":[{"index":0,"arguments":"{\\"x\\":"}]}',
                '{"tool_calls":[{"index":1,"arguments":"{}"}]}',
                '{"tool_calls":[{"index":0,"arguments":"1}"}]}',
            ]
        },
        "assistant:done",
    ],
)
"""Text in two pieces, then two calls whose pieces come in turns; one of them fails."""
ASKS = world(
    agent={"tools": [{"name": "t", "result": asking(7, asks=True)}]},
    model_script=["assistant:[a:t({})]", "assistant:after"],
)
BREAKS = world(
    model_script=[{"chunks": ["assistant:so"], "stream_error": "cut"}, "assistant:on"],
    runs=[{"input": ["user:a"]}, {"input": ["user:b"], "continues": True}],
)
CANCELLED = world(
    model_script=[{"chunks": ["assistant:so", "assistant: far"]}],
    runs=[{"input": ["user:a"], "cancel": {"when": "model_chunk", "nth": 2}}],
)
RESTARTED = world(
    model_script=["assistant:one", "assistant:two", "assistant:three"],
    runs=[
        {"input": ["user:a"], "options": {"session": "s"}},
        {"input": ["user:b"], "options": {"session": "s", "restart": True}},
        {"input": ["user:c"], "continues": True},
    ],
)


def linear(world):
    return LinearProcessor(world.model)


def loop(world):
    return LoopProcessor(world.model)


def leaving_open(world):
    return LinearProcessor(world.model, profile="loop-adr")


def played(where, subject: Subject) -> TraceChannels:
    return TraceChannels(play_alone(where, subject).trace.to_jsonl())


def values(where, subject: Subject, channel: str) -> list[Any]:
    return [each.value for each in played(where, subject).entries(channel)]


def test_part_events_of_a_trace_join_text_and_keep_the_order_of_parts() -> None:
    found = values(PIECES, linear, "part_events")

    shown = [(each["id"], each["state"], each["text"]) for each in found]
    assert shown[:2] == [("part-1", "streaming", "on it"), ("part-1", "done", "")]
    assert ("part-2", "streaming", '{"x":1}') in shown
    assert [each for each in shown if each[1] == "error"][-1][0] == "part-5"


def test_final_parts_stand_apart_from_their_events() -> None:
    found = values(PIECES, linear, "parts")

    assert [(each["kind"], each["state"]) for each in found] == [
        ("text", "done"),
        ("tool_call", "done"),
        ("tool_call", "error"),
        ("tool_result", "done"),
        ("tool_result", "error"),
    ]
    assert found[1]["text"] == '{"x":1}'


def test_linear_and_loop_are_identical_where_nothing_asks_for_a_round() -> None:
    for where in (PIECES, BREAKS, CANCELLED, CALLS):
        assert played(where, linear).jsonl == played(where, loop).jsonl


def test_result_that_asks_has_the_loop_go_on() -> None:
    assert len(values(ASKS, linear, "requests")) == 1
    assert len(values(ASKS, loop, "requests")) == 2


def test_history_of_a_run_that_continues_is_what_the_last_one_left() -> None:
    *_, last = values(BREAKS, linear, "requests")

    assert [each["content"] for each in last["messages"]] == ["a", "b"]


def test_cancelled_run_ends_as_such_and_leaves_no_part_open() -> None:
    assert [each["status"] for each in values(CANCELLED, linear, "answer")] == [
        "cancelled"
    ]
    assert [each["state"] for each in values(CANCELLED, linear, "parts")] == ["error"]


def test_callbacks_and_own_steps_are_counted_also_where_none_ran() -> None:
    class Own(LoopProcessor):
        def should_continue(self, result) -> bool:
            return super().should_continue(result)

    def subject(world):
        return Own(world.model), ResponseCallbacks(on_chunk=print, on_error=print)

    found = play_alone(CALLS, subject).hooks
    assert found == {"on_chunk": 0, "on_error": 0, "should_continue": 2}


def managed(world, client=None, listener=None, profile="callbacks-v2"):
    agent = CallbackAgent(world.model, world.tools)
    manager = SessionManager(agent, profile=profile)
    for each in client or ():
        manager.set_client(Client(AgentCallbacks(**each)))
    if listener:
        manager.set_callbacks(AgentCallbacks(**listener))
    return manager


def nothing(*_: object) -> None:
    return None


def slot(world):
    return managed(world, listener={"on_agent_step": nothing}, profile="callbacks-v1")


def told(*clients: Sequence[str], listener: Sequence[str] = ()):
    def subject(world):
        sets = [dict.fromkeys(each, nothing) for each in clients]
        return managed(world, sets, dict.fromkeys(listener, nothing))

    return subject


def divergence(where, old: Subject, new: Subject):
    masks = [Additions(*each) for each in OWNERS]
    return SeenPair(played(where, old), played(where, new), EVERY, masks).divergence


def code(where, old: Subject, new: Subject) -> str | None:
    found = divergence(where, old, new)
    return None if found is None else found.code


STEP = ("on_agent_step",)
END = ("on_tool_execution_end",)


def test_facts_are_compared_by_owners_and_owners_that_only_new_has_are_not() -> None:
    assert code(CALLS, slot, told(STEP)) is None
    assert code(CALLS, slot, told(STEP, listener=END)) is None
    assert code(CALLS, slot, told(END)) == "DELIVERED_TO"
    assert code(CALLS, slot, told(STEP, STEP)) == "DELIVERED_TO"
    assert code(CALLS, told(STEP, listener=STEP), told(STEP)) == "DELIVERED_TO"


def test_what_is_told_otherwise_is_named_where_it_stands() -> None:
    found = divergence(CALLS, told(STEP), told(END))

    assert found is not None
    assert found.where == "run 1, on_agent_step"


def test_session_that_begins_anew_in_another_process_is_lost_with_its_store() -> None:
    def kept_apart(world):
        store = world.__dict__.setdefault("kept", managed(world).store)
        return SessionManager(CallbackAgent(world.model), store)

    assert len(values(RESTARTED, kept_apart, "saved")[-1]["messages"]) == 6
    assert len(values(RESTARTED, told(), "saved")[-1]["messages"]) == 4
    assert code(RESTARTED, kept_apart, told()) == "MESSAGE_LOST"


@pytest.mark.parametrize(
    ("got", "why"),
    [
        (lambda w: (linear(w), 1), "second part is not a ResponseCallbacks"),
        (lambda w: (linear(w), ResponseCallbacks(), 1), "a tuple of 3"),
        (lambda _: LinearProcessor(ScriptedModel(["assistant:hi"])), "not world.model"),
        (lambda w: managed(w).agent, "not a list, a configuration"),
    ],
)
def test_what_cannot_be_played_is_refused_with_what_to_return(got, why) -> None:
    with pytest.raises(SubjectError, match=why):
        play_alone(world(), got)


# Codes, by hand


def end(**more):
    return "run_end", {"status": "completed", "answer": "", "messages": [], **more}


def part(**more):
    said = {"id": "part-1", "place": 0, "kind": "text", "state": "done", "text": "x"}
    return {**said, **more}


def saved(messages, **values):
    return end(saved={"session": "s", "messages": messages, "values": values})


def fact(name="on_agent_step", data=(1,), **to):
    return "delivery", {"callback": name, "data": list(data), "to": to}


def trace(*entries) -> TraceChannels:
    recorder = Recorder()
    recorder.run = 1
    for each in entries:
        recorder.add(*each)
    return TraceChannels(recorder.trace().to_jsonl())


USER = {"role": "user", "content": "a"}


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (end(parts=[part()]), end(parts=[]), "PART_LOST"),
        (end(parts=[]), end(parts=[part()]), "PART_EXTRA"),
        (end(parts=[part()]), end(parts=[part(state="streaming")]), "PART_OPEN"),
        (end(parts=[part()]), end(parts=[part(state="error")]), "PART_CHANGED"),
        (end(parts=[part()]), end(parts=[part(text="y")]), "PART_CHANGED"),
        (("part_event", part()), ("part_event", part(text="y")), "PART_EVENT"),
        (saved([USER]), saved(None), "SAVED"),
        (saved([USER]), saved([]), "SAVED"),
        (saved([USER], a=1), saved([USER]), "SAVED"),
        (fact(each=1), ("model_request", {}), "DELIVERY_LOST"),
        (fact("on_error", client=1), fact(client=1), "DELIVERY_CHANGED"),
        (fact(client=1), fact(data=(2,), client=1), "DELIVERY_CHANGED"),
        (fact(client=1), fact(listener=1), "DELIVERED_TO"),
    ],
)
def test_difference_has_its_code(old, new, found) -> None:
    channels = ("parts", "part_events", "saved", "deliveries")
    pair = SeenPair(trace(old), trace(new), channels)

    assert pair.divergence is not None
    assert pair.divergence.code == found


def test_fact_that_only_new_has_is_an_extra_delivery() -> None:
    pair = SeenPair(trace(fact()), trace(fact(), fact("on_error")), ("deliveries",))

    assert pair.divergence is not None
    assert pair.divergence.code == "DELIVERY_EXTRA"


# Worlds


@pytest.mark.parametrize(
    "source", ["compat.dialects.stream_loop LoopProcessor", "compat.dialects.callbacks"]
)
def test_worlds_fit_their_shape_and_stay_so_when_read_again(source) -> None:
    fit = fit_of([source], [source])
    assert fit is not None
    corpus = make_corpus(Words(texts=("a b",), numbers=(4,)), 30, 1, fit=fit)

    families = {each.family for each in corpus.worlds}
    assert {"pieces", "broken streams", "cancelled", "results", "time"} <= families
    assert ("rounds" in families) == ("stream_loop" in source)
    assert ("sessions" in families) == ("callbacks" in source)
    for each in corpus.worlds:
        assert fit.fits(each.scenario), each.family
    written = [each.scenario.model_dump_json() for each in corpus.worlds]
    assert len(written) == len(set(written))


def test_form_without_rounds_has_no_world_in_which_a_result_asks_for_one() -> None:
    fit = fit_of(["stream_loop"], ["compat.dialects.stream_loop LoopProcessor"])
    assert fit is not None
    corpus = make_corpus(Words(), 30, 1, fit=fit)

    assert "requires_follow_up" not in corpus.json


def test_world_that_was_made_smaller_is_of_its_kind_or_none() -> None:
    fit = fit_of([], ["compat.dialects.callbacks"])
    assert fit is not None
    two = {"agent": {}, "runs": [{"input": ["user:a", "user:b"]}]}

    assert not fit.fits(read_scenario(two, "two messages in a run"))
    assert not fit.fits(read_scenario({"agent": {}, "runs": []}, "no run"))

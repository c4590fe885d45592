"""Exchanges become sessions: what belongs together, and the client's part in it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.models.conversations import key_of
from compat.models.errors import RequestError
from compat.models.exchanges import RecordedStep, read_exchanges
from compat.models.scripts import RecordedSession, sessions
from compat.wire.exchanges import Exchange, Request, Response
from refengine.profile import SEED_001
from refengine.testing import ReferenceEngine, Trace, play, run
from refengine.testing.scenario import ModelFailure
from tests.models_playing import in_mode, outcome

URL = "https://vendor.example/v1/chat/completions"
USER = {"role": "user", "content": "hi"}
DONE = {"role": "assistant", "content": "done"}
FAILED = (429, {"error": {"code": 429}})


def steps(*exchanges: tuple[Sequence[Any], Any]) -> tuple[RecordedStep, ...]:
    """Return steps: messages of the request, then the message or the error."""
    found: list[Exchange] = []
    for messages, answer in exchanges:
        tools = [{"type": "function", "function": {"name": "t"}}]
        asked = {"messages": list(messages), "tools": tools}
        if isinstance(answer, tuple):
            status, tree = answer
        else:
            status, tree = 200, {"choices": [{"message": answer}]}
        found.append(
            Exchange(
                Request("POST", URL, {}, json.dumps(asked).encode()),
                Response(status, "", {}, json.dumps(tree).encode()),
            )
        )
    return read_exchanges(found, "x.yaml").steps


def told(*exchanges: tuple[Sequence[Any], Any]) -> tuple[RecordedSession, ...]:
    return sessions(steps(*exchanges))


def call(*ids: str, arguments: str = "{}", name: str = "t") -> dict[str, Any]:
    made = [{"id": i, "function": {"name": name, "arguments": arguments}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(id_: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": text}


def traced(session: RecordedSession, *, streaming: bool = False) -> Trace:
    scenario = in_mode(session.scenario, streaming=streaming)
    return run(play(scenario, ReferenceEngine(SEED_001)))


def requests(session: RecordedSession) -> list[Any]:
    seen: Any = traced(session).of("model_request")
    return [[key_of(message) for message in each.data["messages"]] for each in seen]


def recorded(*exchanges: tuple[Sequence[Any], Any]) -> list[Any]:
    return [[key_of(m) for m in step.request.messages] for step in steps(*exchanges)]


def statuses(session: RecordedSession) -> list[Any]:
    return [each.data["status"] for each in traced(session).of("run_end")]


CHAIN: list[tuple[Sequence[Any], Any]] = [
    ([USER], call("1")),
    ([USER, call("1"), result("1", "a")], call("2")),
    ([USER, call("1"), result("1", "a"), call("2"), result("2", "b")], DONE),
]
PARALLEL: list[tuple[Sequence[Any], Any]] = [
    ([USER], call("1", "2")),
    ([USER, call("1", "2"), result("1", "a"), result("2", "b")], DONE),
]
TURNS: list[tuple[Sequence[Any], Any]] = [
    ([USER], DONE),
    ([USER, DONE, USER], call("1")),
    ([USER, DONE, USER, call("1"), result("1", "a")], DONE),
]
ADDED: list[tuple[Sequence[Any], Any]] = [
    ([USER], call("1")),
    ([USER, call("1"), result("1", "<len>"), call("2"), result("2", "b"), USER], DONE),
]
AFTER_FAILURE: list[tuple[Sequence[Any], Any]] = [
    ([USER], (400, {"error": {"type": "invalid"}})),
    ([USER, call("x"), result("x", "no such tool")], DONE),
]
ONE_ID: list[tuple[Sequence[Any], Any]] = [
    ([USER], call("0")),
    ([USER, call("0"), result("0", "a")], call("0")),
    ([USER, call("0"), result("0", "a"), call("0"), result("0", "b")], DONE),
]


@pytest.mark.parametrize(
    ("exchanges", "runs"),
    [
        (CHAIN, 1),
        (PARALLEL, 1),
        (TURNS, 2),
        (ADDED, 1),
        (AFTER_FAILURE, 2),
        (ONE_ID, 1),
    ],
    ids=["chain", "parallel", "turns", "added", "after a failure", "one id"],
)
def test_engine_sends_in_the_scenario_what_the_client_sent(
    exchanges: list[tuple[Sequence[Any], Any]], runs: int
):
    [session] = told(*exchanges)

    assert requests(session) == recorded(*exchanges)
    assert len(session.scenario.runs) == runs
    assert statuses(session)[-1] == "completed"
    assert session.exchanges == tuple(range(1, len(exchanges) + 1))


def test_failure_ends_a_run_and_the_next_request_is_a_turn():
    [session] = told(*AFTER_FAILURE)

    assert session.scenario.model_script[0] == ModelFailure(error="HTTP 400 invalid")
    assert statuses(session) == ["error", "completed"]


def test_messages_that_the_client_adds_between_calls_come_by_a_handler():
    [session] = told(*ADDED)

    [agent] = session.scenario.all_agents
    assert [each.id for each in agent.handlers] == ["client"]
    assert session.notes[0] == "exchange 2: messages put in by a handler: 3"


def test_same_request_again_is_a_session_of_its_own():
    found = told(([USER], FAILED), ([USER], FAILED), ([USER], DONE))

    assert [each.exchanges for each in found] == [(1,), (2,), (3,)]


def test_conversation_goes_on_from_the_retry_that_was_answered():
    found = told(([USER], FAILED), ([USER], DONE), ([USER, DONE, USER], DONE))

    assert [each.exchanges for each in found] == [(1,), (2, 3)]


def test_conversation_goes_on_with_the_answer_that_the_client_sent_back():
    other = {"role": "assistant", "content": "other"}

    found = told(([USER], other), ([USER], DONE), ([USER, other, USER], DONE))

    assert [each.exchanges for each in found] == [(1, 3), (2,)]


def test_conversation_inside_another_one_is_a_session_of_its_own():
    inner = {"role": "user", "content": "inner"}

    found = told(CHAIN[0], ([inner], DONE), *CHAIN[1:])

    assert [each.exchanges for each in found] == [(1, 3, 4), (2,)]


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [{"role": "user", "content": "other"}, call("1"), result("1", "a")],
        [USER, call("9"), result("9", "a")],
        [USER, call("1")],
        [USER, call("1"), result("9", "a")],
        [USER, call("1"), USER],
        [USER, USER],
    ],
)
def test_request_that_does_not_go_on_begins_another_session(messages: Sequence[Any]):
    found = told(([USER], call("1")), (messages, DONE))

    assert [each.exchanges for each in found] == [(1,), (2,)]


@pytest.mark.parametrize(
    ("back", "note"),
    [
        ({**call("1"), "content": "<think>hm</think>"}, "with another text"),
        (call("1", arguments='{ "a": 1 }'), "arguments back written otherwise"),
        (call("1", arguments="{}"), "arguments back of another value"),
    ],
)
def test_answer_that_was_sent_back_otherwise_is_noted(back: dict[str, Any], note: str):
    answer = call("1", arguments='{"a":1}')
    if note.endswith("text"):
        back = {**back, "tool_calls": answer["tool_calls"]}

    [session] = told(([USER], answer), ([USER, back, result("1", "a")], DONE))

    assert len(session.notes) == 1
    assert session.notes[0].startswith("exchange 2: the client sent ")
    assert note in session.notes[0]


def test_answer_that_was_sent_back_in_two_messages_is_one_answer():
    empty = {"role": "assistant", "content": ""}

    [session] = told(
        ([USER], call("1")), ([USER, empty, call("1"), result("1", "a")], DONE)
    )

    assert session.notes == (
        "exchange 2: the client sent the answer back in 2 messages",
    )


def test_results_in_another_order_belong_to_their_calls():
    back = [USER, call("1", "2"), result("2", "b"), result("1", "a")]

    [session] = told(([USER], call("1", "2")), (back, DONE))

    assert session.notes == (
        "exchange 2: the client sent the results in another order than their calls",
    )
    assert [o.data["result"] for o in traced(session).of("tool_end")] == ["a", "b"]


def test_results_without_ids_belong_to_the_calls_in_their_places():
    bare = [{"role": "tool", "content": each} for each in "ab"]

    [session] = told(([USER], call("1", "2")), ([USER, call("1", "2"), *bare], DONE))

    assert session.notes == (
        "exchange 2: the client sent the results without the ids of their calls",
    )
    assert [o.data["result"] for o in traced(session).of("tool_end")] == ["a", "b"]


@pytest.mark.parametrize("streaming", [False, True])
def test_recording_that_ends_with_calls_makes_nothing_up(streaming: bool):
    [session] = told(([USER], call("1")))

    trace = traced(session, streaming=streaming)
    assert (
        session.notes[-1] == "the recording ends with calls whose results are not in it"
    )
    assert [o.data["result"] for o in trace.of("tool_end")] == ["(not recorded)"]
    [error] = outcome(trace)["errors"]
    assert error["error"] == "ScriptedError"
    assert session.scenario.model_script[-1] == ModelFailure(error="not recorded")


def test_tool_that_no_request_has_is_there_and_noted():
    [session] = told(([USER], call("1", name="ghost")))

    [agent] = session.scenario.all_agents
    assert [tool.name for tool in agent.tools] == ["t", "ghost"]
    assert "'ghost' is called without being a tool of any request" in session.notes


def test_long_run_is_not_ended_by_the_engine():
    exchanges: list[tuple[Sequence[Any], Any]] = []
    history: list[Any] = [USER]
    for number in range(25):
        exchanges.append((list(history), call(str(number))))
        history += [call(str(number)), result(str(number), "a")]

    [session] = told(*exchanges, (history, DONE))

    assert statuses(session) == ["completed"]
    assert len(requests(session)) == 26


def test_result_that_the_notation_reads_otherwise_is_noted():
    back = [USER, call("1"), result("1", "<u+d83d>")]

    [session] = told(([USER], call("1")), (back, DONE))

    assert session.notes == ("exchange 2: a result has '<u+d…>', half a character",)


def test_no_exchange_makes_no_session():
    assert sessions(()) == ()


ANY = st.none() | st.integers(0, 1) | st.sampled_from(["", "a", "0", "t", "{}"])
FUNCTION = st.dictionaries(st.sampled_from(["name", "arguments", "x"]), ANY)
CALL = st.fixed_dictionaries({}, optional={"id": ANY, "function": FUNCTION})
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"])},
    optional={
        "content": ANY | st.lists(st.sampled_from(["a", {"type": "image_url"}])),
        "tool_calls": st.none() | st.lists(CALL, max_size=2),
        "tool_call_id": ANY,
        "function_call": st.none() | FUNCTION,
    },
)
HISTORY = st.lists(MESSAGE, max_size=5)
ANSWER = MESSAGE | st.just(FAILED)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(HISTORY, st.lists(st.tuples(st.integers(0, 5), ANSWER), max_size=4), st.data())
def test_any_exchanges_become_sessions_that_can_be_played(
    history: list[Any], answers: list[Any], data: st.DataObject
):
    exchanges: list[tuple[Sequence[Any], Any]] = []
    for length, answer in answers:
        exchanges.append((history[:length], answer))
        history = history + data.draw(st.sampled_from([[], [answer], [answer, USER]]))
        history = [each for each in history if isinstance(each, dict)]
    try:
        made = steps(*exchanges)
    except RequestError:
        return

    found = sessions(made)

    assert sorted(n for each in found for n in each.exchanges) == [
        step.number for step in made
    ]
    for session in found:
        ends = [traced(session, streaming=each).of("run_end") for each in (False, True)]
        assert len(ends[0]) == len(ends[1]) == len(session.scenario.runs)
        if not any("the client sent" in note for note in session.notes):
            asked = {step.number: step.request.messages for step in made}
            wanted = [list(map(key_of, asked[n])) for n in session.exchanges]
            assert requests(session)[: len(wanted)] == wanted


TEXTS = st.text(max_size=5) | st.sampled_from(["<len>", "[a:b(c)]", "<u+d83d>", "{"])
IDS = st.sampled_from(["", "0", "1", "a:(b)"])
RESULTS = TEXTS.filter(lambda text: text != "<u+d83d>")
CALLED = st.lists(st.tuples(IDS, st.sampled_from("tu"), TEXTS, RESULTS), max_size=3)
ROUNDS = st.lists(
    st.tuples(TEXTS, CALLED, st.lists(TEXTS, max_size=2)), min_size=1, max_size=5
)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(ROUNDS, st.booleans())
def test_conversation_of_an_honest_client_is_one_session_and_sent_as_it_was(
    rounds: list[Any], fails: bool
):
    exchanges: list[tuple[Sequence[Any], Any]] = []
    history: list[Any] = [USER]
    for text, called, added in rounds:
        calls = [
            {"id": id_, "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments, _ in called
        ]
        answer = {"role": "assistant", "content": text, "tool_calls": calls}
        exchanges.append((list(history), answer))
        history += [answer, *(result(id_, given) for id_, _, _, given in called)]
        history += [{"role": "user", "content": each} for each in added]
        history += [] if called else [USER]
    exchanges.append((history, FAILED if fails else DONE))

    [session] = told(*exchanges)

    assert requests(session) == recorded(*exchanges)
    assert not any("the client sent" in note for note in session.notes)
    assert statuses(session)[-1] == ("error" if fails else "completed")

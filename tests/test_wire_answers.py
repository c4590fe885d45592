"""Answers of the four interfaces, read as what was said.

Recordings of vendors are read where they are; what our own server says is held against
itself: a stream tells the same as the answer in one piece.
"""

import json
from collections import Counter

import pytest

from compat.models.exchanges import READ, ExchangeReader, api_of
from compat.wire.cassette_files import read_cassette
from compat.wire.exchanges import Exchange, Request, Response
from compat.wire.interfaces.anthropic import ANTHROPIC
from compat.wire.interfaces.chat import CHAT
from compat.wire.interfaces.gemini import GEMINI
from compat.wire.interfaces.recorded import NO_ANSWER, is_streamed
from compat.wire.interfaces.request import SentBody
from compat.wire.interfaces.responses import RESPONSES
from compat.wire.interfaces.spoken import INTERFACES
from compat.wire.server.sessions import Script
from compat.wire.sse import events_of
from refengine.messages import Message
from refengine.testing.notation import write_message
from refengine.testing.scenario_files import read_scenario
from tests.wire_support import corpus

TOLD = {
    "content",
    "text",
    "delta",
    "arguments",
    "partial_json",
    "refusal",
    "reasoning_content",
    "reasoning",
}
"""Where an interface tells a text of an answer."""


def texts_in(tree):
    """Yield the texts and the arguments of an answer, wherever they stand."""
    if isinstance(tree, list):
        for each in tree:
            yield from texts_in(each)
    elif isinstance(tree, dict):
        for key, each in tree.items():
            if key in TOLD and isinstance(each, str):
                yield each
            elif key in {"input", "args"}:
                yield json.dumps(each, ensure_ascii=False)
            else:
                yield from texts_in(each)


def test_every_recorded_answer_is_read() -> None:
    """So are errors; the answers of all four interfaces are in the recordings.

    A message says no text that its body does not, and each call of the body is one.
    """
    seen, said = Counter(), []
    for path in corpus():
        reader = ExchangeReader(path.name)
        for number, exchange in enumerate(read_cassette(path), 1):
            interface = api_of(exchange)
            if interface not in READ:
                continue
            found = reader.read(exchange, interface, number).answer
            seen[interface] += 1
            said.append(found)
            whole, body = found.whole, exchange.response.body
            if whole is None or is_streamed(exchange.response):
                continue
            told = list(texts_in(json.loads(body)))
            for call in whole.tool_calls:
                assert call.name.encode() in body
                assert call.arguments in told
            assert whole.content == "" or whole.content in "".join(told), path.name

    assert seen == {CHAT: 36, ANTHROPIC: 23, RESPONSES: 20, GEMINI: 20}
    messages = [each.whole for each in said if each.whole is not None]
    assert any(len(each.tool_calls) > 1 for each in messages)
    assert all(any(key in each.extra for each in messages) for key in EXTRA)
    assert {each.failure is None for each in said} == {True, False}


EXTRA = ("reasoning", "reasoning_content", "refusal")


ANSWERS = [
    "assistant:hello you",
    "assistant:",
    'assistant:let me look[c1:look({"at": 1})][c2:look({"at": 2})]',
    write_message(Message("assistant", "", extra={"refusal": "I will not"})),
    write_message(Message("assistant", "cut", extra={"finish_reason": "length"})),
    write_message(Message("assistant", "so", extra={"reasoning": "hm"})),
]
BODIES = {
    CHAT: {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    RESPONSES: {
        "model": "m",
        "input": "hi",
        "reasoning": {"summary": "auto"},
        "include": ["reasoning.encrypted_content"],
    },
    ANTHROPIC: {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "hi"}],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    },
    GEMINI: {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
    },
}


FINISH = ("finish_reason", "stop_reason", "finishReason", "status")


def finish(tree):
    """Return the word for the end of an answer that is told last."""
    if isinstance(tree, list):
        return next(filter(None, map(finish, reversed(tree))), None)
    if not isinstance(tree, dict):
        return None
    here = next((tree[key] for key in FINISH if tree.get(key)), None)
    return here or finish(list(tree.values()))


def answers(interface, script):
    """Return what our server answers, in one piece and streamed, and both as read."""
    made, bodies = [], []
    for streams in (False, True):
        world = {"agent": {}, "model_script": [script]}
        body = {**BODIES[interface.name], "stream": streams}
        verb = "streamGenerateContent" if streams else "generateContent"
        path = f"v1beta/models/m:{verb}"
        sent = SentBody(body, path)
        asked = interface.read(sent)
        said = Script(read_scenario(world)).answer(stream=streams)
        answer = interface.answer(sent, asked, said)
        whole = json.dumps(answer.whole()).encode()
        bodies.append(b"".join(answer.pieces()) if streams else whole)
        made.append(read(interface.name, body, path, bodies[-1]))
    return bodies, made


def read(interface, body, path, answered):
    """Return an answer of our server as a recording of it is read."""
    asked = Request("POST", f"https://a.example/{path}", {}, json.dumps(body).encode())
    exchange = Exchange(asked, Response(200, "OK", {}, answered))
    return ExchangeReader("own").read(exchange, interface, 1).answer


@pytest.mark.parametrize("interface", INTERFACES.values(), ids=lambda each: each.name)
@pytest.mark.parametrize("script", ANSWERS)
def test_answers_of_our_server_say_the_same_whole_and_streamed(
    interface, script
) -> None:
    (whole, stream), (one, other) = answers(interface, script)
    events, _ = events_of([stream])
    trees = [json.loads(each.data) for each in events if each.data != "[DONE]"]

    if other.failure == NO_ANSWER:
        assert said(one.whole) == ("", (), None)
    else:
        assert said(one.whole) == said(other.whole)
    assert finish(json.loads(whole)) == finish(trees[-2:])
    thinks = "reasoning" in script and interface.name != CHAT
    assert (b"so" in whole and b"hm" in whole) == thinks
    assert (b"hm" in stream) == thinks
    *_, last = stream.removesuffix(b"data: [DONE]\n\n").strip().rpartition(b"data: ")
    cut = stream[: stream.rindex(last)]
    assert read(interface.name, BODIES[interface.name], "x", cut).failure is not None


def said(message):
    """Return what a message says that is not its thoughts."""
    return message.content, message.tool_calls, message.extra.get("refusal")


@pytest.mark.parametrize(
    ("interface", "body", "name"),
    [
        (CHAT, {"error": {"message": "no", "type": "t", "code": "c"}}, "t c"),
        (RESPONSES, {"error": {"message": "no", "type": "t", "code": "c"}}, "t c"),
        (ANTHROPIC, {"type": "error", "error": {"type": "t", "message": "no"}}, "t"),
        (GEMINI, {"error": {"code": 429, "message": "no", "status": "t"}}, "429"),
    ],
)
def test_errors_are_read_alike(interface, body, name) -> None:
    found = read(interface, BODIES[interface], "x", json.dumps(body).encode())

    assert found.failure == f"HTTP 200 {name}"


@pytest.mark.parametrize(
    ("interface", "event", "name"),
    [
        (CHAT, {"error": {"message": "no", "type": "t"}}, "in stream t"),
        (RESPONSES, {"type": "error", "message": "no", "code": "c"}, "in stream"),
        (ANTHROPIC, {"type": "error", "error": {"type": "t"}}, "in stream t"),
        (GEMINI, {"error": {"code": 429, "status": "t"}}, "in stream t"),
    ],
)
def test_errors_in_streams_are_told_by_their_names(interface, event, name) -> None:
    stream = f"data: {json.dumps(event)}\n\n".encode()
    found = read(interface, BODIES[interface], "x", stream)

    assert found.failure == name
    garbage = read(interface, BODIES[interface], "x", b"data: {cut\n\n")
    assert garbage.failure == "an event that is not JSON"

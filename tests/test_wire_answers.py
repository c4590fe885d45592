"""Answers of the four interfaces, read as what was said and written again.

Recordings of vendors are read where they are; what our own server says is held against
itself: a stream folds into the body that the same answer has in one piece.
"""

import json
from collections import Counter

import pytest

from compat.models.exchanges import api_of, is_streamed
from compat.models.sse import events_of
from compat.wire.cassette_files import read_cassette
from compat.wire.interfaces.anthropic import ANTHROPIC
from compat.wire.interfaces.chat import CHAT
from compat.wire.interfaces.folding import UnendedStreamError, folded
from compat.wire.interfaces.gemini import GEMINI
from compat.wire.interfaces.responses import RESPONSES
from compat.wire.interfaces.saying import SAYINGS
from compat.wire.interfaces.spoken import INTERFACES
from compat.wire.json_trees import first_difference
from compat.wire.server.sessions import Script
from refengine.messages import Message
from refengine.testing.notation import write_message
from refengine.testing.scenario_files import read_scenario
from tests.wire_support import corpus

NOT_CARRIED = {
    "null": "a member that is null says what its absence says",
    "usage": "an object of usage without a number says nothing",
}
"""What a body says that is not written again, with the reason; nothing else may be."""


def told(tree):
    """Return a body without what is not carried."""
    if isinstance(tree, dict):
        plain = {key: told(each) for key, each in tree.items() if each is not None}
        empty = [k for k in ("usage", "usageMetadata") if plain.get(k) == {}]
        return {key: each for key, each in plain.items() if key not in empty}
    return [told(each) for each in tree] if isinstance(tree, list) else tree


def body_of(interface, response):
    if is_streamed(response):
        events, unended = events_of([response.body])
        assert not unended
        trees = [json.loads(each.data) for each in events if each.data != "[DONE]"]
        return folded(interface, trees)
    tree = json.loads(response.body)
    return folded(interface, tree) if isinstance(tree, list) else tree


def test_every_recorded_answer_is_written_again_as_it_was() -> None:
    """So are errors; the answers of all four interfaces are in the recordings."""
    seen, said = Counter(), []
    for path in corpus():
        for exchange in read_cassette(path):
            interface = api_of(exchange)
            if interface not in SAYINGS:
                continue
            body = body_of(interface, exchange.response)
            saying = SAYINGS[interface]
            found = saying.read(body)
            again = saying.written(found)

            assert first_difference(told(body), told(again)) is None, path.name
            assert saying.read(again) == found
            seen[interface] += 1
            said.append(found)

    assert seen == {CHAT: 36, ANTHROPIC: 23, RESPONSES: 20, GEMINI: 20}
    kinds = Counter(part.kind for each in said for part in each.parts)
    assert min(kinds[k] for k in ("text", "call", "reasoning", "refusal", "other"))
    assert any(len(each.message.tool_calls) > 1 for each in said)
    assert any(each.usage.get("cached") for each in said)
    assert any(each.usage.get("reasoning") for each in said)
    assert {each.error is not None for each in said} == {True, False}


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


def answers(interface, script):
    """Return what our server answers: whole, and the events of a stream."""
    made = []
    for streams in (False, True):
        world = {"agent": {}, "model_script": [script]}
        body = {**BODIES[interface.name], "stream": streams}
        verb = "streamGenerateContent" if streams else "generateContent"
        path = f"v1beta/models/m:{verb}"
        asked = interface.read(body, path, {})
        said = Script(read_scenario(world)).answer(stream=streams)
        made.append(interface.answers(asked, said, body, {}))
    events, _ = events_of(made[1].pieces())
    return made[0].whole(), [
        json.loads(each.data) for each in events if each.data != "[DONE]"
    ]


@pytest.mark.parametrize("interface", INTERFACES.values(), ids=lambda each: each.name)
@pytest.mark.parametrize("script", ANSWERS)
def test_answers_of_our_server_say_the_same_whole_and_streamed(
    interface, script
) -> None:
    whole, events = answers(interface, script)
    saying = SAYINGS[interface.name]
    one, other = saying.read(whole), saying.read(folded(interface.name, events))

    assert one.message == other.message
    assert one.finish == other.finish
    thinks = "reasoning" in script and interface.name != CHAT
    assert bool(one.message.extra.get("reasoning")) == thinks
    assert first_difference(told(whole), told(saying.written(one))) is None
    with pytest.raises(UnendedStreamError):
        folded(interface.name, events[:-1])


@pytest.mark.parametrize(
    ("interface", "body"),
    [
        (CHAT, {"error": {"message": "no", "type": "t", "code": "c", "param": "p"}}),
        (RESPONSES, {"error": {"message": "no", "type": "t", "code": "c"}}),
        (
            ANTHROPIC,
            {"type": "error", "error": {"type": "t", "message": "no"}, "request": "r"},
        ),
        (
            GEMINI,
            {"error": {"code": 429, "message": "no", "status": "t", "details": []}},
        ),
    ],
)
def test_errors_are_read_alike_and_written_again(interface, body) -> None:
    found = SAYINGS[interface].read(body)

    assert found.error is not None
    assert (found.error.message, found.error.kind) == ("no", "t")
    assert SAYINGS[interface].written(found) == body

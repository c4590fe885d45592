"""Spans of OpenTelemetry as chats: what an instrumented agent asked a model, and heard.

Read are the attributes of the semantic conventions for generative AI, 1.37 and later:
``gen_ai.input.messages`` and ``gen_ai.output.messages``, with
``gen_ai.system_instructions`` and ``gen_ai.tool.definitions`` where they are there; as
texts of JSON or as values. A span stands by itself, as an SDK writes it (``to_json``),
or among others in a batch of OTLP (``resourceSpans``).

A span of a model call holds the whole history so far, so an agent that asks three times
leaves three spans of one session. Kept is the last of them: the one whose messages no
other span goes on from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final, TypeAlias

from compat.models.errors import ShapeError
from compat.wire.interfaces.chat import chat_call
from refengine.testing.json_values import is_list, is_mapping

INPUT: Final = "gen_ai.input.messages"
OUTPUT: Final = "gen_ai.output.messages"
_INSTRUCTIONS: Final = "gen_ai.system_instructions"
_TOOLS: Final = "gen_ai.tool.definitions"
_OPERATION: Final = "gen_ai.operation.name"
_BATCH: Final = "resourceSpans"
# Spans of agents and workflows say once more what those of their model calls say.
_MODEL: Final = frozenset(("chat", "generate_content", "text_completion"))
_CALL: Final = "tool_call"
_RESULT: Final = "tool_call_response"
Attributes: TypeAlias = Mapping[str, Any]


def holds_spans(tree: object) -> bool:
    """Tell whether a JSON value is a span, or a batch of them."""
    if not is_mapping(tree):
        return False
    context = tree.get("context")
    alone = is_mapping(context) and "trace_id" in context and "attributes" in tree
    return alone or is_list(tree.get(_BATCH))


class SpanHistories:
    """The histories that spans go on from: 16 bytes for each, however many there are.

    Filled in a first pass over all spans; in a second one it knows the last of each
    session.
    """

    def __init__(self) -> None:
        self._begun: set[bytes] = set()
        self._told: set[bytes] = set()

    def take(self, tree: object) -> None:
        """Note from which histories the spans of a JSON value go on."""
        for _, attributes in _model_calls(tree):
            with suppress(ShapeError):  # told in the second pass
                asked = _value(attributes, INPUT)
                # A call that was not answered does not go on from itself.
                end = len(asked) if attributes.get(OUTPUT) else -1
                self._begun.update(_prefixes(asked[:end]))

    def chats(self, tree: object) -> Iterator[dict[str, Any] | ShapeError]:
        """Yield the chats of a JSON value that nothing goes on from, each once.

        They have the shape of chat completions; what is wrong with a span is in its
        place.
        """
        for _, attributes in _model_calls(tree):
            try:
                asked, heard = (_value(attributes, name) for name in (INPUT, OUTPUT))
                # Of several choices an agent takes one.
                messages = [*asked, *heard[:1]]
                if self._is_last(messages):
                    yield _chat(messages, attributes)
            except ShapeError as error:
                yield error

    def _is_last(self, messages: Sequence[object]) -> bool:
        """Tell whether no span goes on from a history, which is asked once."""
        *_, whole = _prefixes(messages)
        if whole in self._begun or whole in self._told:
            return False
        self._told.add(whole)
        return True


def span_calls(tree: object) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield each model call of a JSON value: its start, its request, its answer.

    Request and answer are chats, as those of ``SpanHistories``; of one that failed the
    answer has no messages. Raises ShapeError.
    """
    for began, attributes in _model_calls(tree):
        asked, heard = (_value(attributes, name) for name in (INPUT, OUTPUT))
        yield began, _chat(asked, attributes), _chat(heard[:1], {})


def _model_calls(tree: object) -> Iterator[tuple[str, Attributes]]:
    for began, attributes in _spans(tree):
        is_call = attributes.get(_OPERATION, "chat") in _MODEL
        if is_call and attributes.get(INPUT):
            yield began, attributes


def _spans(tree: object) -> Iterator[tuple[str, Attributes]]:
    """Yield the start and the attributes of each span."""
    if not is_mapping(tree):
        raise ShapeError("span", "is not an object")
    if _BATCH not in tree:
        yield str(tree.get("start_time") or ""), tree["attributes"] or {}
        return
    for resource in _under(tree, _BATCH):
        for scope in _under(resource, "scopeSpans"):
            for span in _under(scope, "spans"):
                began = str(span.get("startTimeUnixNano") or "")
                values = {"values": _under(span, "attributes")}
                yield began, _plain({"kvlistValue": values})


def _under(tree: Mapping[str, Any], key: str) -> Sequence[Any]:
    """Return a list of objects; one that is not there is empty."""
    found = tree.get(key) or ()
    if not all(map(is_mapping, found)):
        raise ShapeError(key, "holds what is not an object")
    return found


def _plain(value: Mapping[str, Any]) -> Any:  # noqa: ANN401  # any of JSON
    """Return a value of OTLP as the JSON value that it stands for."""
    if is_mapping(inner := value.get("kvlistValue")):
        return {each["key"]: _plain(each["value"]) for each in inner.get("values", ())}
    if is_mapping(inner := value.get("arrayValue")):
        return [_plain(each) for each in inner.get("values", ())]
    if "intValue" in value:  # a text, as JSON has no numbers of 64 bits
        return int(value["intValue"])
    return next(iter(value.values()), None)


def _value(attributes: Attributes, name: str) -> Sequence[Any]:
    """Return the list of an attribute, which may be a text of JSON."""
    found: object = attributes.get(name) or []
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except ValueError:
            raise ShapeError(name, "is not JSON; was it cut off?") from None
    if not is_list(found):
        raise ShapeError(name, "is not a list")
    return found


def _prefixes(messages: Iterable[object]) -> Iterator[bytes]:
    """Yield a digest of each beginning of a history."""
    digest = sha256()
    for each in messages:
        told = each
        if is_mapping(each):  # an answer is told with its reason, a history without
            told = {key: each.get(key) for key in ("role", "parts")}
        digest.update(json.dumps(told, sort_keys=True).encode())
        yield digest.digest()[:16]


def _chat(messages: Sequence[object], attributes: Attributes) -> dict[str, Any]:
    found = [
        plain
        for at, each in enumerate(messages)
        for plain in _messages(each, f"messages[{at}]")
    ]
    chat: dict[str, Any] = {"messages": found}
    if told := _text(_value(attributes, _INSTRUCTIONS)):
        chat["system"] = told
    if tools := _value(attributes, _TOOLS):
        chat["tools"] = tools
    return chat


def _messages(message: object, place: str) -> Iterator[dict[str, Any]]:
    """Yield a message as chat completions have it, each result as one of its own."""
    if not is_mapping(message) or not is_list(message.get("parts")):
        raise ShapeError(place, "is not an object with 'role' and 'parts'")
    parts = [part for part in message["parts"] if is_mapping(part)]
    for part in parts:
        if part.get("type") == _RESULT:
            result = part.get("response", part.get("result"))
            yield {
                "role": "tool",
                "tool_call_id": part.get("id"),
                "content": _json(result),
            }
    rest = [part for part in parts if part.get("type") not in {_CALL, _RESULT}]
    calls = [_call(part) for part in parts if part.get("type") == _CALL]
    if calls or rest or not parts:
        told = {"role": message.get("role"), "content": _content(rest)}
        yield {**told, "tool_calls": calls} if calls else told


def _call(part: Mapping[str, Any]) -> dict[str, Any]:
    given = _json(part.get("arguments") or {})
    return chat_call(part.get("id"), part.get("name"), given)


def _content(parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the parts under the names of chat completions; others keep theirs."""
    return [
        {"type": "text", "text": part.get("content")}
        if part.get("type") == "text"
        else {"type": part.get("type")}
        for part in parts
    ]


def _text(parts: Sequence[Any]) -> str:
    found = (each.get("content") for each in parts if is_mapping(each))
    return "\n".join(text for text in found if isinstance(text, str))


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

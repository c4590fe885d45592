"""Exchanges of OpenAI's Responses and of Gemini as steps, as those of others are.

Both are read by what serves them to programs (``compat.wire.interfaces``). What is
stored at the vendor is put in where a request goes on with it, as far as the same file
recorded it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlsplit

from compat.models.anthropic import NO_ANSWER
from compat.models.chat_answers import CUT, RecordedAnswer, answer_of, failed
from compat.models.chat_parts import LeftOut
from compat.models.chat_requests import RecordedRequest, body_of
from compat.models.errors import RequestError, ShapeError
from compat.models.exchanges import RecordedStep, is_streamed
from compat.models.sse import events_of
from compat.wire.exchanges import Exchange, Response
from compat.wire.interfaces.folding import UnendedStreamError, folded
from compat.wire.interfaces.gemini import GEMINI, gemini_request
from compat.wire.interfaces.request import VendorRequest, answered
from compat.wire.interfaces.responses import (
    RESPONSES,
    history_of,
    responses_request,
    stored_id,
)
from compat.wire.interfaces.saying import SAYINGS
from refengine.messages import Message, MessageChunk, ToolCallChunk
from refengine.testing.json_values import is_list, is_mapping

VENDORS: Final = (RESPONSES, GEMINI)
_CALLS: Final = (
    "functionCall",
    "functionResponse",
    "function_call",
    "function_response",
)
_EVENTS: Final = "an event that is not JSON"


@dataclass(slots=True)
class VendorReader:
    """Reads the exchanges of one file in their order; it keeps what a vendor stores."""

    file: str
    _kept: dict[str, Any] = field(default_factory=dict[str, Any])

    def read(self, exchange: Exchange, interface: str, number: int) -> RecordedStep:
        """Read one exchange; raises RequestError."""
        try:
            body = body_of(exchange.request.body)
            asked = self._asked(exchange, interface, body)
        except ShapeError as error:
            raise RequestError(self.file, number, str(error)) from error
        answer = _answer(exchange.response, interface, len(body.get("contents") or ()))
        self._keep(interface, body, exchange.response, answer)
        # A group of tools that run at the vendor's is none of the agent's.
        own = (each.name for each in asked.tools if each.parameters or each.description)
        return RecordedStep(
            number,
            RecordedRequest(asked.messages, tuple(dict.fromkeys(own)), asked.streams),
            answer,
        )

    def _asked(
        self, exchange: Exchange, interface: str, body: Mapping[str, Any]
    ) -> VendorRequest:
        if interface == GEMINI:
            path = urlsplit(exchange.request.url).path
            return gemini_request(_without_ids(body), path)
        asked = responses_request(body, self._kept)
        if "not_stored" in asked.own:
            raise ShapeError(
                "request", "goes on with a response that is not in the file"
            )
        return asked

    def _keep(
        self,
        interface: str,
        body: Mapping[str, Any],
        response: Response,
        answer: RecordedAnswer,
    ) -> None:
        """Store a response under its id, and in the conversation that it goes on."""
        said = answer.whole
        if interface != RESPONSES or said is None:
            return
        history = (*history_of(body, self._kept), answered(said))
        for id_ in _ids(response):
            self._kept[id_] = history
        if body.get("conversation"):
            self._kept[stored_id(body) or ""] = history


def _without_ids(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request whose calls and results are known by their places.

    Gemini's calls mostly have no ids, and clients make some up to send them back.
    """
    found: dict[str, Any] = json.loads(
        json.dumps(body),
        object_hook=lambda tree: {
            key: _bare(each) if key in _CALLS else each for key, each in tree.items()
        },
    )
    return found


def _bare(call: object) -> object:
    return {k: v for k, v in call.items() if k != "id"} if is_mapping(call) else call


def _ids(response: Response) -> Iterator[str]:
    """Yield the id of a response, which each event that has it whole tells."""
    for tree in _trees(response) or ():
        inner = tree.get("response")
        told = inner if is_mapping(inner) else tree
        if isinstance(told.get("id"), str):
            yield told["id"]


def _trees(response: Response) -> list[Mapping[str, Any]] | None:
    """Return the objects that an answer is, or None if a part of it is not JSON."""
    try:
        if is_streamed(response):
            events, _ = events_of([response.body])
            found = [json.loads(each.data) for each in events if each.data != "[DONE]"]
        else:
            tree = json.loads(response.body)
            found = list(tree) if is_list(tree) else [tree]
    except (ValueError, RecursionError):
        return None
    return [each for each in found if is_mapping(each)]


def _answer(response: Response, interface: str, place: int) -> RecordedAnswer:
    """Read an answer; ``place`` is where it will stand among the contents of Gemini."""
    if response.status >= 300:
        return answer_of(response.status, response.body, LeftOut())
    trees = _trees(response)
    if not trees:
        return failed(_EVENTS)
    if not is_streamed(response) and len(trees) == 1:
        message = SAYINGS[interface].read(trees[0]).message
        return RecordedAnswer(_numbered(message, interface, place))
    return _streamed(trees, interface, place)


def _streamed(
    trees: Sequence[Mapping[str, Any]], interface: str, place: int
) -> RecordedAnswer:
    chunks = tuple(_chunks(trees, place))
    failure: str | None = None
    try:
        error = SAYINGS[interface].read(folded(interface, trees)).error
        if error is not None:
            failure = f"in stream {error.kind or ''}".strip()
    except UnendedStreamError:
        failure = CUT
    return (
        RecordedAnswer(chunks=chunks, failure=failure)
        if chunks
        else failed(failure or NO_ANSWER)
    )


def _numbered(message: Message, interface: str, place: int) -> Message:
    """Return a message whose calls have ids: in Gemini's, those of their places."""
    if interface != GEMINI:
        return message
    calls = tuple(
        replace(each, id=_place_id(place, at))
        for at, each in enumerate(message.tool_calls)
    )
    return replace(message, tool_calls=calls)


def _place_id(place: int, at: int) -> str:
    return f"call-{place}-{at}"


def _chunks(trees: Sequence[Mapping[str, Any]], place: int) -> Iterator[MessageChunk]:
    """Yield a chunk for each event that brings a text or a piece of a call."""
    calls = 0
    for tree in trees:
        kind = tree.get("type")
        if kind == "response.output_text.delta":
            yield MessageChunk(str(tree.get("delta", "")))
        elif kind == "response.function_call_arguments.delta":
            at, piece = tree.get("output_index"), str(tree.get("delta", ""))
            yield MessageChunk("", (ToolCallChunk(at, "", "", piece),))
        elif kind == "response.output_item.added":
            item: Mapping[str, Any] = tree.get("item") or {}
            if item.get("type") == "function_call":
                told = str(item.get("call_id", "")), str(item.get("name", ""))
                opened = ToolCallChunk(tree.get("output_index"), *told)
                yield MessageChunk("", (opened,))
        elif "candidates" in tree:
            said = SAYINGS[GEMINI].read(tree).message
            pieces = tuple(
                ToolCallChunk(
                    calls + at,
                    _place_id(place, calls + at),
                    each.name,
                    each.arguments,
                )
                for at, each in enumerate(said.tool_calls)
            )
            calls += len(pieces)
            if said.content or pieces:
                yield MessageChunk(said.content, pieces)

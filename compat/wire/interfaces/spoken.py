"""Which interface a request speaks, and how its server speaks it back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from compat.wire.interfaces.anthropic import (
    ANTHROPIC,
    AnthropicAnswer,
    anthropic_failed,
    anthropic_request,
    check_anthropic,
)
from compat.wire.interfaces.chat import CHAT, chat_request
from compat.wire.interfaces.gemini import (
    GEMINI,
    GeminiAnswer,
    check_gemini,
    gemini_failed,
    gemini_request,
)
from compat.wire.interfaces.request import REASONING, SentBody, VendorRequest
from compat.wire.interfaces.responses import RESPONSES, responses_request
from compat.wire.interfaces.responses_answers import check_responses, responses_answer
from compat.wire.server.refusals import ApiError
from compat.wire.server.requests import check_request
from compat.wire.server.sessions import ScriptedAnswer
from compat.wire.server.shapes import Reply, chat_options
from refengine.messages import Json

SESSION: Final = "world"
"""What each session calls itself in its answers, so that they are the same."""


class VendorAnswer(Protocol):
    """An answer in the shape of an interface, in one piece or streamed."""

    def whole(self) -> Mapping[str, Json]:
        """Return the body."""
        ...

    def pieces(self) -> Iterator[bytes]:
        """Yield the events of the stream, its end mark with them."""
        ...


def _failed(error: ApiError) -> tuple[int, Mapping[str, Json]]:
    return error.kind.status, error.body


@dataclass(frozen=True, slots=True)
class Interface:
    """One vendor's interface to a model: how it is read, what it refuses, its answers.

    ``check`` raises ApiError; ``failed`` gives status and body of one.
    """

    name: str
    read: Callable[[SentBody], VendorRequest]
    check: Callable[[SentBody, VendorRequest], None]
    answer: Callable[[SentBody, VendorRequest, ScriptedAnswer], VendorAnswer]
    failed: Callable[[ApiError], tuple[int, Mapping[str, Json]]] = _failed


def _chat(sent: SentBody, _: VendorRequest, said: ScriptedAnswer) -> VendorAnswer:
    return Reply(_unthought(said), chat_options(SESSION, sent.body))


def _unthought(said: ScriptedAnswer) -> ScriptedAnswer:
    """Return an answer without what is thought: OpenAI shows nothing of it here."""
    chunks = (replace(each, extra=_plain(each.extra)) for each in said.chunks)
    message = replace(said.message, extra=_plain(said.message.extra))
    return replace(said, message=message, chunks=tuple(chunks))


def _plain(extra: Mapping[str, Json]) -> dict[str, Json]:
    return {key: each for key, each in extra.items() if key != REASONING}


INTERFACES: Final[Mapping[str, Interface]] = {
    r"/chat/completions": Interface(
        CHAT,
        lambda sent: chat_request(sent.body),
        lambda sent, _: check_request(sent.body),
        _chat,
    ),
    r"/responses": Interface(
        RESPONSES,
        lambda sent: responses_request(sent.body, sent.kept),
        check_responses,
        responses_answer,
    ),
    r"/messages": Interface(
        ANTHROPIC,
        lambda sent: anthropic_request(sent.body),
        check_anthropic,
        lambda _, asked, said: AnthropicAnswer(said, asked),
        anthropic_failed,
    ),
    r":(streamGenerateContent|generateContent)": Interface(
        GEMINI,
        lambda sent: gemini_request(sent.body, sent.path),
        check_gemini,
        lambda _, asked, said: GeminiAnswer(said, asked),
        gemini_failed,
    ),
}
"""Each interface by how its addresses end."""


def interface_at(method: str, path: str) -> Interface | None:
    """Return who is asked at a path, None if nobody is."""
    if method != "POST":
        return None
    for ends, found in INTERFACES.items():
        if re.search(f"{ends}$", f"/{path}"):
            return found
    return None

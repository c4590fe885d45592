"""Which interface a request speaks, and how its server speaks it back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from compat.wire.interfaces.anthropic import AnthropicInterface
from compat.wire.interfaces.chat import CHAT, chat_request
from compat.wire.interfaces.gemini import GeminiInterface
from compat.wire.interfaces.request import VendorRequest
from compat.wire.interfaces.responses_answers import ResponsesInterface
from compat.wire.interfaces.said import REASONING
from compat.wire.server.refusals import ApiError
from compat.wire.server.requests import check_request
from compat.wire.server.sessions import ScriptedAnswer
from compat.wire.server.shapes import DONE, ChatOptions, Reply, event, prompt_tokens
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


class Interface(Protocol):
    """One vendor's interface to a model.

    ``kept`` is what the vendor keeps of the session, such as stored conversations.
    """

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    def read(
        self, body: Mapping[str, Any], path: str, kept: dict[str, Any]
    ) -> VendorRequest:
        """Read a request."""
        ...

    def check(self, body: Mapping[str, Any], asked: VendorRequest) -> None:
        """Refuse what the vendor refuses; raises ApiError."""
        ...

    def answers(
        self,
        asked: VendorRequest,
        said: ScriptedAnswer,
        body: Mapping[str, Any],
        kept: dict[str, Any],
    ) -> VendorAnswer:
        """Return an answer of a script as this vendor gives it."""
        ...

    def failed(self, error: ApiError) -> tuple[int, Mapping[str, Json]]:
        """Return status and body of an error."""
        ...


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """An answer as a chat completion."""

    reply: Reply

    def whole(self) -> Mapping[str, Json]:
        """Return the body."""
        return self.reply.whole()

    def pieces(self) -> Iterator[bytes]:
        """Yield the events of the stream."""
        yield from (event(each) for each in self.reply.events())
        if not (self.reply.answer.cut or self.reply.answer.error):
            yield DONE


@dataclass(frozen=True, slots=True)
class ChatInterface:
    """OpenAI's chat completions."""

    name: str = CHAT

    def read(
        self,
        body: Mapping[str, Any],
        path: str,  # noqa: ARG002  # as all interfaces
        kept: dict[str, Any],  # noqa: ARG002  # as all interfaces
    ) -> VendorRequest:
        """Read a request."""
        return chat_request(body)

    def check(
        self,
        body: Mapping[str, Any],
        asked: VendorRequest,  # noqa: ARG002  # as all interfaces
    ) -> None:
        """Refuse what OpenAI refuses; raises ApiError."""
        check_request(body)

    def answers(
        self,
        asked: VendorRequest,
        said: ScriptedAnswer,
        body: Mapping[str, Any],
        kept: dict[str, Any],  # noqa: ARG002  # as all interfaces
    ) -> VendorAnswer:
        """Return an answer as a chat completion."""
        given: Mapping[str, Any] = body.get("stream_options") or {}
        options = ChatOptions(
            SESSION,
            str(body["model"]),
            prompt_tokens(body["messages"]),
            stream=asked.streams,
            include_usage=bool(given.get("include_usage")),
        )
        return ChatAnswer(Reply(_unthought(said), options))

    def failed(self, error: ApiError) -> tuple[int, Mapping[str, Json]]:
        """Return status and body of an error."""
        return error.kind.status, error.body


def _unthought(said: ScriptedAnswer) -> ScriptedAnswer:
    """Return an answer without what is thought: OpenAI shows nothing of it here."""
    chunks = (replace(each, extra=_plain(each.extra)) for each in said.chunks)
    message = replace(said.message, extra=_plain(said.message.extra))
    return replace(said, message=message, chunks=tuple(chunks))


def _plain(extra: Mapping[str, Json]) -> dict[str, Json]:
    return {key: each for key, each in extra.items() if key != REASONING}


INTERFACES: Final[Mapping[str, Interface]] = {
    r"/chat/completions": ChatInterface(),
    r"/responses": ResponsesInterface(),
    r"/messages": AnthropicInterface(),
    r":(streamGenerateContent|generateContent)": GeminiInterface(),
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

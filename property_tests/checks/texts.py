"""What a consumer is shown of a message, in the notation of traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refengine.messages import Message, MessageChunk
from refengine.testing.notation import encoded, show_chunk, show_message
from refengine.testing.trace import Observation

_ASSISTANT = "assistant:"


def shown_model(message: Message, chunks: Sequence[MessageChunk] | None) -> str:
    """Return what all parts of an answer's event show together.

    Pieces of calls are shown as they come, so only their chunks tell how that looks.
    """
    if chunks is None:
        return show_message(message).removeprefix(_ASSISTANT)
    return "".join(show_chunk(each).removeprefix(_ASSISTANT) for each in chunks)


def text_of_model(event: Observation) -> str:
    """Return what an answer's event shows, as far as it came."""
    return _joined(event, _ASSISTANT)


def text_of_tool(event: Observation) -> str:
    """Return the text of a result's event, as far as it came."""
    return _joined(event, f"tool({event.call_id or ''}):")


def shown_result(text: str) -> str:
    """Return a tool's result as an event shows it."""
    return encoded(text)


def _joined(event: Observation, head: str) -> str:
    data: Any = event.data
    parts = data["stream"] if "stream" in data else [data.get("message")]
    return "".join(str(part).removeprefix(head) for part in parts)

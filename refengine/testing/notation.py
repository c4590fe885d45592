"""The one-line notation of messages that scenarios and traces are written in.

message = role ":" content *call | "tool(" callid "):" content
call    = "[" callid ":" toolname "(" arguments ")]"

A lone surrogate is not text for JSON and UTF-8, but a model's stream may be cut in the
middle of a character: ``<u+d83d>`` stands for one, and only U+D800 to U+DFFF have such
a place. A message that holds this very place as its text cannot be written so.

Frameworks whose messages have parts take a text for several where ``\u241e`` stands in
it: the border is no part's. Others are given the text without it (``in_one_part``).

What one line cannot hold (an answer's text that looks like a call, ids with brackets,
``extra``, pieces of calls) is written as a JSON object, see ``json_values``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Final, Literal

from refengine.messages import (
    Message,
    MessageChunk,
    ToolCall,
    ToolCallChunk,
    chunk_of,
)
from refengine.testing import json_values

_CALL: Final = re.compile(r"\[([^:()\[\]]*):([^:()\[\]]+)\((.*?)\)\]", re.DOTALL)
_TOOL: Final = re.compile(r"^tool\(([^:()\[\]]*)\):(.*)$", re.DOTALL)
CALL_START: Final = re.compile(r"\[[^:()\[\]]*:[^:()\[\]]+\(")
"""The start of a call, which the content of an assistant's message cannot hold."""
SURROGATE: Final = re.compile(r"<u\+(d[89a-f][0-9a-f]{2})>")
"""What stands in a scenario for a lone surrogate."""
BORDER: Final = "\u241e"
"""What stands in a text where one part of its message ends and the next begins."""
_LEN: Final = "<len>"  # what operations of a scenario replace
_LONE: Final = re.compile("[\ud800-\udfff]")
_PLAIN: Final[Mapping[str, Literal["system", "user"]]] = MappingProxyType(
    {"system": "system", "user": "user"}
)
_ANSWER: Final = re.compile(r"^assistant:(.*)$", re.DOTALL)


class NotationError(ValueError):
    """A text that is not a message in this notation."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(
            f"{text!r} is not a message: write 'user:text',"
            " 'assistant:text[id:tool(args)]' or 'tool(id):text'"
        )


def decoded(text: str) -> str:
    """Return the text with lone surrogates where a scenario writes ``<u+d83d>``."""
    if "<u+d" not in text:
        return text
    return SURROGATE.sub(lambda found: chr(int(found[1], 16)), text)


def encoded(text: str) -> str:
    """Return the text with ``<u+d83d>`` for each lone surrogate, as a scenario has it.

    ``decoded`` reads it back.
    """
    if text.isascii():
        return text
    return _LONE.sub(lambda found: f"<u+{ord(found[0]):04x}>", text)


def parts_of(text: str) -> list[str]:
    """Return the texts of a message's parts; none if it says nothing."""
    return [each for each in text.split(BORDER) if each]


def in_one_part(text: str) -> str:
    """Return the text as a framework has it whose messages have no parts."""
    return text.replace(BORDER, "")


def parse_message(text: str) -> Message:
    """Read a message; raises NotationError."""
    text = decoded(text)
    if text.startswith("{"):
        try:
            return json_values.read_message(text)
        except (ValueError, RecursionError) as error:
            raise NotationError(text) from error
    head, colon, content = text.partition(":")
    # Most messages; on a long text the pattern of calls takes most of a world's time.
    role = "assistant" if _is_text(head, content) else _PLAIN.get(head)
    if colon and role is not None:
        return Message(role, content)
    tool = _TOOL.match(text)
    if tool is not None:
        return Message("tool", tool[2], tool_call_id=tool[1])
    found = _ANSWER.match(text)
    if found is None:
        raise NotationError(text)
    return Message("assistant", *_without_calls(found[1]))


def _without_calls(answer: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Return an answer's text and the calls at its end.

    A call ends at the first ``)]`` after its start, so there is one way to read each.
    One pattern for text and calls tried every character for a start of them, and took
    a good part of the time of a world.
    """
    start = answer.find("[") if answer.endswith(")]") else -1
    while start >= 0:
        calls = _calls_from(answer, start)
        if calls:
            return answer[:start], calls
        start = answer.find("[", start + 1)
    return answer, ()


def _calls_from(answer: str, start: int) -> tuple[ToolCall, ...]:
    """Return the calls that an answer ends in from a place on; none if it does not."""
    calls: list[ToolCall] = []
    while start < len(answer):
        found = _CALL.match(answer, start)
        if found is None:
            return ()
        calls.append(ToolCall(*found.groups()))
        start = found.end()
    return tuple(calls)


def _is_text(head: str, content: str) -> bool:
    return head == "assistant" and "[" not in content


def parse_chunk(text: str) -> MessageChunk:
    """Read a chunk of an answer; raises NotationError.

    A call in one line is a whole one; pieces of calls have the JSON form.
    """
    if not text.startswith("{"):
        return chunk_of(parse_message(text))
    try:
        return json_values.read_chunk(decoded(text))
    except (ValueError, RecursionError) as error:
        raise NotationError(text) from error


def write_message(message: Message) -> str:
    """Write any message, in one line if that holds it, so that it can be read back.

    Unlike ``show_message``, which is for people and leaves out what has no place.
    """
    line = show_message(message)
    with suppress(NotationError):
        if _LEN not in line and parse_message(line) == message:
            return line
    return encoded(json_values.write(message))


def write_chunk(chunk: MessageChunk) -> str:
    """Write any chunk so that ``parse_chunk`` reads it back."""
    line = show_chunk(chunk)
    if _LEN not in line and parse_chunk(line) == chunk:
        return line
    return encoded(json_values.write(chunk))


def show_message(message: Message) -> str:
    """Write a message; ``parse_message`` reads it back."""
    if message.role == "tool":
        return encoded(f"tool({message.tool_call_id or ''}):{message.content}")
    calls = "".join(f"[{c.id}:{c.name}({c.arguments})]" for c in message.tool_calls)
    return encoded(f"{message.role}:{message.content}{calls}")


def show_chunk(chunk: MessageChunk) -> str:
    """Write one chunk of an assistant message."""
    calls = "".join(f"[{c.id}:{c.name}({c.arguments})]" for c in chunk.tool_calls)
    return encoded(f"assistant:{chunk.content}{calls}")


def pieces_of(message: Message) -> list[MessageChunk]:
    """Cut a message into chunks after every space, all but its text on the last."""
    texts = re.findall(r"[^ ]* |[^ ]+", message.content) or [""]
    calls = tuple(
        ToolCallChunk(None, call.id, call.name, call.arguments)
        for call in message.tool_calls
    )
    chunks = [MessageChunk(text) for text in texts]
    chunks[-1] = MessageChunk(
        texts[-1], calls, message.id, message.name, extra=message.extra
    )
    return chunks

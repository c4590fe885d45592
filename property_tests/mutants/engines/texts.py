"""Engines that tidy up what passes through them: names and texts (TOOL, MSG)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import Final

from property_tests.mutants.models import heard, sent
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.context import Context
from refengine.messages import Message, ToolCall

AS_IT_IS: Final = "Texts and names reach the model byte for byte."


def _compatible(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _printable(text: str) -> str:
    return "".join(each for each in text if unicodedata.category(each) != "Cf")


def _collapsed(text: str) -> str:
    return re.sub(" +", " ", text)


def _texts(change: Callable[[str], str]) -> Door:
    """Send the model other texts."""
    return sent(lambda found: [replace(m, content=change(m.content)) for m in found])


def _each(change: Callable[[Message], Message]) -> Door:
    return sent(lambda messages: list(map(change, messages)))


def _nameless(message: Message) -> Message:
    return message if message.role == "tool" else replace(message, name=None)


def _without_extra(message: Message) -> Message:
    return replace(message, extra={})


def _without_id(message: Message) -> Message:
    return replace(message, id=None)


def _not_empty(messages: Sequence[Message]) -> Sequence[Message]:
    return [each for each in messages if each.content or each.tool_calls]


def _joined(messages: Sequence[Message]) -> Sequence[Message]:
    """Join messages of one role that follow each other."""
    found: list[Message] = []
    for each in messages:
        last = found[-1] if found else None
        if (
            last is None
            or last.role != each.role
            or each.role not in {"user", "system"}
        ):
            found.append(each)
        else:
            found[-1] = replace(last, content=f"{last.content}\n{each.content}")
    return found


def _system_first(messages: Sequence[Message]) -> Sequence[Message]:
    return sorted(messages, key=lambda each: each.role != "system")


def called(change: Callable[[ToolCall], ToolCall]) -> Patch:
    """Return what runs another call than the one of the message."""

    def replaced(right: Right) -> Right:
        def prepare_call(self: Given, call: ToolCall, bound: object) -> Given:
            return right(self, change(call), bound)

        return prepare_call

    return patch("loop.prepare_call", replaced)


def _arguments_stripped(call: ToolCall) -> ToolCall:
    return replace(call, arguments=call.arguments.strip())


def _arguments_in_json(call: ToolCall) -> ToolCall:
    try:
        json.loads(call.arguments)
    except ValueError:
        return replace(call, arguments="{}")
    return call


def results(change: Callable[[str], str]) -> Patch:
    """Return what takes another text for the result of a call."""

    def replaced(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            await right(self, ctx, streaming)
            if self.text is not None:
                self.text = change(self.text)

        return opened

    return patch("call.open", replaced)


def _short(text: str) -> str:
    return text if len(text) <= 64 else f"{text[:64]}…"


def _something(text: str) -> str:
    return text or "(no output)"


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _one_line_end(text: str) -> str:
    return text.replace("\r\n", "\n")


def _written_anew(text: str) -> str:
    """Read JSON and write it again, if it is any."""
    try:
        return json.dumps(json.loads(text))
    except ValueError:
        return text


def _of(role: str, change: Callable[[str], str]) -> Door:
    """Send the model other texts of one role."""
    return _each(
        lambda each: (
            replace(each, content=change(each.content)) if each.role == role else each
        )
    )


def _no_arguments(call: ToolCall) -> ToolCall:
    return replace(call, arguments=call.arguments or "{}")


def _arguments_as(change: Callable[[str], str]) -> Patch:
    return called(lambda call: replace(call, arguments=change(call.arguments)))


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "texts-compatible",
        "The model is sent texts with compatible characters for others.",
        "MSG-004",
        _texts(_compatible),
        says=AS_IT_IS,
    ),
    wrong(
        "texts-without-invisible",
        "The model is sent texts without their invisible characters.",
        "MSG-004",
        _texts(_printable),
        says=AS_IT_IS,
    ),
    wrong(
        "texts-with-single-spaces",
        "The model is sent texts in which spaces that stand together are one.",
        "MSG-001 INS-001",
        _texts(_collapsed),
        says=AS_IT_IS,
    ),
    wrong(
        "texts-right-stripped",
        "The model is sent texts without the space that they end on.",
        "MSG-004",
        _texts(str.rstrip),
        says=AS_IT_IS,
    ),
    wrong(
        "sent-without-names",
        "The model is sent messages without the names of who speaks.",
        "MSG-002",
        _each(_nameless),
    ),
    wrong(
        "sent-without-extra",
        "The model is sent messages without their extra values.",
        "MSG-002",
        _each(_without_extra),
    ),
    wrong(
        "sent-without-ids",
        "The model is sent messages without their ids.",
        "MSG-002",
        _each(_without_id),
    ),
    wrong(
        "sent-without-empty",
        "The model is not sent messages that have neither text nor calls.",
        "MSG-004",
        sent(_not_empty),
    ),
    wrong(
        "sent-joined",
        "Messages of one role that follow each other are sent as one.",
        "MSG-004",
        sent(_joined),
    ),
    wrong(
        "sent-system-first",
        "The model is sent all system messages before any other.",
        "MSG-004",
        sent(_system_first),
    ),
    broken(
        "arguments-stripped",
        "Tools are given arguments without the space around them.",
        "SURF-001 WRAP-002",
        called(_arguments_stripped),
    ),
    broken(
        "arguments-that-are-json",
        "Arguments that are not JSON are taken for an empty object.",
        "SURF-001 WRAP-002",
        called(_arguments_in_json),
    ),
    broken(
        "results-cut-short",
        "Of a long result the first 64 characters are kept.",
        "MSG-010",
        results(_short),
    ),
    broken(
        "empty-results-filled-in",
        "A result that is empty is told as no output.",
        "WRAP-011",
        results(_something),
    ),
    wrong(
        "instruction-composed",
        "The instruction is sent with composed letters for decomposed ones.",
        "INS-001",
        _of("system", _composed),
        says=AS_IT_IS,
    ),
    wrong(
        "user-texts-decomposed",
        "The model is sent the user's texts with decomposed letters.",
        "MSG-002 MSG-004",
        _of("user", _decomposed),
        says=AS_IT_IS,
    ),
    wrong(
        "user-texts-with-one-line-end",
        "The model is sent the user's texts with other line ends.",
        "MSG-002 MSG-004",
        _of("user", _one_line_end),
        says=AS_IT_IS,
    ),
    wrong(
        "user-texts-never-empty",
        "A text of the user that is empty is sent as a space.",
        "MSG-002 MSG-004",
        _of("user", lambda text: text or " "),
        says=AS_IT_IS,
    ),
    wrong(
        "user-texts-without-mark",
        "The model is sent texts without the mark of byte order in front.",
        "MSG-002 MSG-004",
        _of("user", lambda text: text.removeprefix("\ufeff")),
        says=AS_IT_IS,
    ),
    wrong(
        "sent-results-composed",
        "The model is sent results of tools with composed letters.",
        "MSG-002 MSG-010",
        _of("tool", _composed),
        says=AS_IT_IS,
    ),
    wrong(
        "answers-composed",
        "Answers of the model are heard with composed letters.",
        "MSG-008 MSG-007",
        heard(lambda heard: replace(heard, content=_composed(heard.content))),
        says=AS_IT_IS,
    ),
    broken(
        "arguments-composed",
        "Tools are given arguments with composed letters.",
        "SURF-001 WRAP-002",
        _arguments_as(_composed),
        says=AS_IT_IS,
    ),
    broken(
        "arguments-written-anew",
        "Arguments are read as JSON and written again.",
        "SURF-001 WRAP-002",
        _arguments_as(_written_anew),
        says=AS_IT_IS,
    ),
    broken(
        "no-arguments-are-an-object",
        "Empty arguments are taken for an empty object.",
        "SURF-001 WRAP-002",
        called(_no_arguments),
        says=AS_IT_IS,
    ),
    broken(
        "results-composed",
        "A result has composed letters for decomposed ones.",
        "MSG-010 WRAP-011",
        results(_composed),
        says=AS_IT_IS,
    ),
    broken(
        "results-with-one-line-end",
        "A result has other line ends than its tool gave.",
        "MSG-010 WRAP-011",
        results(_one_line_end),
        says=AS_IT_IS,
    ),
    broken(
        "results-written-anew",
        "A result that is JSON is read and written again.",
        "MSG-010 WRAP-011",
        results(_written_anew),
        says=AS_IT_IS,
    ),
    broken(
        "results-in-quotes",
        "A result is kept as a string of JSON.",
        "MSG-010 WRAP-011",
        results(json.dumps),
        says=AS_IT_IS,
    ),
    broken(
        "results-escaped",
        "Angle brackets and ampersands of a result are escaped.",
        "MSG-010 WRAP-011",
        results(escape),
        says=AS_IT_IS,
    ),
    broken(
        "results-without-last-line-end",
        "A result loses the line ends that it closes on.",
        "MSG-010 WRAP-011",
        results(lambda text: text.rstrip("\r\n")),
        says=AS_IT_IS,
    ),
)

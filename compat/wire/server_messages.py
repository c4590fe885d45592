"""What the messages of a request have to be, and how tool results pair with calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from compat.wire.server_checks import (
    Check,
    array,
    either,
    fields,
    mapping,
    matching,
    missing,
    nullable,
    one_of,
    text,
    wrong_type,
    wrong_value,
)
from compat.wire.server_errors import ApiError
from refengine.testing.narrowing import is_mapping

NAME: Final = r"[a-zA-Z0-9_-]{1,64}"
"""What a tool can be called."""
_WHO: Final = nullable(matching(r"[^\s<|\\/>]+"))


def _of_type(kinds: Mapping[str, Check]) -> Check:
    """Return the check for an object whose ``type`` says which check it has to pass."""
    known = one_of(*kinds)

    def check(param: str, value: object) -> None:
        mapping(param, value)
        found: Mapping[str, Any] = value if is_mapping(value) else {}
        if "type" not in found:
            raise missing(f"{param}.type")
        known(f"{param}.type", found["type"])
        kinds[found["type"]](param, value)

    return check


def _part(name: str, inner: Check = mapping) -> Check:
    return fields({"type": text, name: inner}, {}, open_ended=True)


_TEXT: Final = {"text": _part("text", text)}
_SAID: Final = _TEXT | {"refusal": _part("refusal", text)}
_SHOWN: Final = _TEXT | {
    "image_url": _part("image_url", fields({"url": text}, {}, open_ended=True)),
    "input_audio": _part("input_audio"),
    "file": _part("file"),
}
_FUNCTION: Final = fields({"name": matching(NAME), "arguments": text}, {})
_CUSTOM: Final = fields({"name": matching(NAME), "input": text}, {})
_CALL: Final = _of_type(
    {
        "function": fields({"id": text, "type": text, "function": _FUNCTION}, {}),
        "custom": fields({"id": text, "type": text, "custom": _CUSTOM}, {}),
    }
)


def _content(parts: Mapping[str, Check]) -> Check:
    """Return the check for a text, or for an array of such parts."""
    in_parts = array(_of_type(parts))

    def check(param: str, value: object) -> None:
        if value is None:
            raise wrong_type(param, "a string or an array of parts", value)
        either(str, text, in_parts)(param, value)

    return check


def _anything(param: str, value: object) -> None:
    """Ask for nothing: a client may send back whatever an answer had there."""


_SPOKEN: Final = fields({"role": text, "content": _content(_TEXT)}, {"name": _WHO})
_ASSISTANT: Final = fields(
    {"role": text},
    {
        "content": nullable(_content(_SAID)),
        "name": _WHO,
        "refusal": nullable(text),
        "audio": nullable(mapping),
        "annotations": _anything,
        "function_call": nullable(_FUNCTION),
        "tool_calls": nullable(array(_CALL)),
    },
)
ROLES: Final[Mapping[str, Check]] = {
    "system": _SPOKEN,
    "developer": _SPOKEN,
    "user": fields({"role": text, "content": _content(_SHOWN)}, {"name": _WHO}),
    "assistant": _ASSISTANT,
    "tool": fields(
        {"role": text, "content": _content(_TEXT), "tool_call_id": text},
        {"name": _WHO},
    ),
    "function": fields({"role": text, "content": nullable(text), "name": text}, {}),
}


def check_messages(param: str, value: object) -> None:
    """Refuse what OpenAI refuses; raises ApiError."""
    array(_check_message)(param, value)
    messages: Sequence[Mapping[str, Any]] = value  # type: ignore[assignment]  # checked
    waiting = _Waiting()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            waiting.answered(at, message["tool_call_id"])
        else:
            waiting.over()
            waiting = _Waiting(at, dict(_ids(message)))
    waiting.over()


def _check_message(param: str, value: object) -> None:
    mapping(param, value)
    found: Mapping[str, Any] = value if is_mapping(value) else {}
    if "role" not in found:
        raise missing(f"{param}.role")
    one_of(*ROLES)(f"{param}.role", found["role"])
    ROLES[found["role"]](param, found)
    if found["role"] == "assistant" and not any(
        found.get(name) is not None
        for name in ("content", "tool_calls", "function_call", "refusal", "audio")
    ):
        raise wrong_value(
            f"{param}.content", "a text, unless there are tool calls", None
        )


def _ids(message: Mapping[str, Any]) -> Iterator[tuple[str, int | None]]:
    for call in message.get("tool_calls") or ():
        yield call["id"], None


class _Waiting:
    """The calls of one assistant message, and which message answered each."""

    def __init__(
        self, at: int = 0, answers: dict[str, int | None] | None = None
    ) -> None:
        self._at = at
        self._answers = answers or {}

    def answered(self, at: int, call_id: str) -> None:
        """Take a tool message; raises ApiError."""
        if call_id not in self._answers:
            raise ApiError(
                f"messages[{at}] has the role 'tool', but no preceding message with"
                f" 'tool_calls' asks for its tool_call_id '{call_id}'.",
                param=f"messages.[{at}].role",
            )
        earlier = self._answers[call_id]
        if earlier is not None:
            raise ApiError(
                f"The tool_call_id '{call_id}' is answered by messages[{earlier}] and"
                f" once more by messages[{at}].",
                param=f"messages.[{at}].tool_call_id",
            )
        self._answers[call_id] = at

    def over(self) -> None:
        """Ask that all calls are answered; raises ApiError."""
        left = [name for name, answer in self._answers.items() if answer is None]
        if left:
            raise ApiError(
                f"messages[{self._at}] is an assistant message with 'tool_calls', so a"
                " tool message for each 'tool_call_id' must follow it at once; none"
                f" does for: {', '.join(left)}.",
                param=f"messages.[{self._at}].role",
            )

"""What tools give, what a round gives, and how a loop ended."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from compat.dialects.stream_loop.parts import PartsSnapshot
from refengine.messages import History, Json, Message, frozen_json
from refengine.testing.json_values import is_list, is_mapping

LoopStatus: TypeAlias = Literal[
    "completed", "max_iterations", "timed_out", "error", "cancelled"
]


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives that has more to say than a text.

    ``requires_follow_up`` asks for another round, and only ``True`` itself does, as in
    the record's ``=== true``: a tool may hand through what somebody else sent.
    """

    result: Json
    requires_follow_up: object = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "result", frozen_json(self.result))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What became of one call: a result, or the error that it ended in."""

    call_id: str
    name: str
    result: Json = field(default=None, hash=False)
    error: Exception | None = None
    requires_follow_up: object = False

    @property
    def text(self) -> str:
        """What the model is told: a text as it is, anything else as JSON."""
        if self.error is not None:
            return f"{type(self.error).__name__}: {self.error}"
        return self.result if isinstance(self.result, str) else json_text(self.result)


@dataclass(frozen=True, slots=True)
class IterationResult:
    """What one round gave; without ``requires_follow_up`` it is the last."""

    text: str
    answer: Message
    results: Sequence[ToolResult]
    requires_follow_up: bool = False
    next_prompt: str = ""


@dataclass(frozen=True, slots=True)
class LoopResult:
    """How a call of ``process_input`` ended.

    ``text`` is what the model said in the last round. ``history`` is what the next call
    is given to go on from here.
    """

    text: str
    status: LoopStatus
    rounds: int
    parts: PartsSnapshot
    history: History


_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PLAIN_FROM, _PLAIN_TO = -7, 21
"""Between these powers of ten JavaScript writes a number without an exponent."""


def json_text(value: Json) -> str:
    """Return the very characters that ``JSON.stringify`` writes.

    Without spaces, keys in their order, and what is not a number is null.
    """
    if isinstance(value, float):
        return _number(value)
    if is_mapping(value):
        inside = (f"{_quoted(key)}:{json_text(each)}" for key, each in value.items())
        return "{" + ",".join(inside) + "}"
    if is_list(value):
        return f"[{','.join(map(json_text, value))}]"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def _number(value: float) -> str:
    """Return it as JavaScript does; both languages have the same shortest digits."""
    if not math.isfinite(value):
        return "null"
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    leading = len(whole + part) - len(digits)
    point = len(whole) + int(exponent or 0) - leading  # how many stand before it
    return sign + _placed(digits.rstrip("0"), point)


def _placed(digits: str, point: int) -> str:
    """Return the number 0.DIGITS times ten to the power of ``point``."""
    if len(digits) <= point <= _PLAIN_TO:
        return digits + "0" * (point - len(digits))
    if 0 < point <= _PLAIN_TO:
        return f"{digits[:point]}.{digits[point:]}"
    if _PLAIN_FROM < point - 1 < 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits[0] + (f".{digits[1:]}" if digits[1:] else "")
    return f"{mantissa}e{point - 1:+d}"

"""How large a checkpoint may be, asked of its bytes before anything is made of them.

Texts are taken out first, in one pass; what is left is brackets, commas and numbers,
and counting those takes time in proportion and little memory.
"""

from __future__ import annotations

import json
import re
from array import array
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, NoReturn

from refengine.state.errors import (
    BadCheckpointError,
    OversizedCheckpointError,
    TooDeepError,
)

_TEXT: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MANY_DIGITS: Final = re.compile(rb"[0-9]{32}")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_UP_AND_DOWN: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one record may have at most: bytes, levels of nesting, values.

    Depth leaves room for values of ``refengine.state.packing.MAX_DEPTH`` levels.
    """

    max_bytes: int = 64 * 2**20
    max_depth: int = 128
    max_items: int = 2_000_000


LIMITS: Final = Limits()
"""What is asked of a record if nothing else is said."""


def check_size(length: int, limits: Limits) -> None:
    """Raise OversizedCheckpointError if there are more bytes than allowed."""
    if length > limits.max_bytes:
        raise OversizedCheckpointError("bytes", length, limits.max_bytes)


def check_shape(body: bytes, limits: Limits) -> None:
    """Raise OversizedCheckpointError or TooDeepError if it is more than allowed."""
    bare = _TEXT.sub(b"", body)
    # Each value but the first stands after a comma or an opening bracket.
    items = 1 + bare.count(b",") + bare.count(b"[") + bare.count(b"{")
    if items > limits.max_items:
        raise OversizedCheckpointError("values", items, limits.max_items)
    if _MANY_DIGITS.search(bare):
        raise OversizedCheckpointError("or more digits in a number", 32, 31)
    steps = array("b", bare.translate(_UP_AND_DOWN, _NO_BRACKETS))
    depth = max(accumulate(steps), default=0)
    if depth > limits.max_depth:
        raise TooDeepError(limits.max_depth, depth)


def parsed(body: bytes, limits: Limits, where: str) -> object:
    """Return the JSON value of ASCII bytes, once they are within the limits.

    ``where`` is what an error calls it. Raises OversizedCheckpointError, TooDeepError,
    and BadCheckpointError for what is no JSON, or JSON that readers disagree about.
    """
    check_shape(body, limits)
    try:
        return _READER.decode(body.decode("ascii"))
    except RecursionError:
        raise TooDeepError(limits.max_depth) from None
    except ValueError as error:  # not ASCII and not JSON, too
        raise BadCheckpointError(where, f"is no JSON: {error}") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} stands in it")


_READER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_no_constant
)

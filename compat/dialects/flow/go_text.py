"""JSON values as Go writes them: in a text, and as JSON.

What a model reads in an instruction, or about another agent's tools, is text that Go's
standard library made. These are its rules for the values that JSON has.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from refengine.testing.json_values import is_list, is_mapping

if TYPE_CHECKING:
    from refengine.messages import Json

_ESCAPED: Final = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
"""What Go escapes in JSON and Python does not."""


def percent_v(value: Json) -> str:
    """Return a value as ``%v`` prints it: maps by key, nothing quoted."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _g(value, 6)
    if is_mapping(value):
        inside = (f"{key}:{percent_v(value[key])}" for key in sorted(value))
        return f"map[{' '.join(inside)}]"
    if is_list(value):
        return f"[{' '.join(percent_v(each) for each in value)}]"
    return str(value)


def go_json(value: Json) -> str:
    """Return a value as ``encoding/json`` writes it: keys sorted, HTML escaped."""
    if isinstance(value, float):
        return _g(value, 21)
    if is_mapping(value):
        inside = (f"{_quoted(key)}:{go_json(value[key])}" for key in sorted(value))
        return "{" + ",".join(inside) + "}"
    if is_list(value):
        return f"[{','.join(go_json(each) for each in value)}]"
    if isinstance(value, str):
        return _quoted(value)
    return json.dumps(value)


def _quoted(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    return "".join(_ESCAPED.get(each, each) for each in written)


def _g(value: float, threshold: int) -> str:
    """Return the shortest text of a float; exponents from a threshold on, or small."""
    if not math.isfinite(value):
        return {"inf": "+Inf", "-inf": "-Inf"}.get(str(value), "NaN")
    sign, digits, _ = Decimal(repr(value)).normalize().as_tuple()
    exponent = Decimal(repr(value)).adjusted() if value else 0
    minus = "-" if sign else ""
    shown = "".join(map(str, digits))
    small = -4 if threshold < 21 else -6
    if small <= exponent < threshold:
        return minus + _plain(shown, exponent)
    mantissa = shown[0] + (f".{shown[1:]}" if len(shown) > 1 else "")
    width = 2 if threshold < 21 or exponent > 0 else 1
    side = "-" if exponent < 0 else "+"
    return f"{minus}{mantissa}e{side}{abs(exponent):0{width}}"


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    rest = digits[exponent + 1 :]
    return f"{whole}.{rest}" if rest else whole

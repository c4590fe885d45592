"""Checks of one value of a request; each raises ApiError, which names the parameter."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from compat.wire.server_errors import ApiError
from refengine.testing.narrowing import is_list, is_mapping

Check: TypeAlias = Callable[[str, object], None]
"""Takes where a value stands, and the value."""

SHOWN: Final = 60
_TYPES: Final[Mapping[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def wrong_type(param: str, wanted: str, value: object) -> ApiError:
    """Return the error for a value of another type."""
    got = _TYPES.get(type(value), "something else")
    text = f"Invalid type for '{param}': {wanted} is wanted, not {got}."
    return ApiError(text, param=param, code="invalid_type")


def wrong_value(param: str, wanted: str, value: object) -> ApiError:
    """Return the error for a value of the right type that is none of those allowed."""
    shown = repr(value)
    shown = shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"
    text = f"Invalid value for '{param}': {shown}. Supported: {wanted}."
    return ApiError(text, param=param, code="invalid_value")


def missing(param: str) -> ApiError:
    """Return the error for a parameter that has to be there."""
    return ApiError(
        f"Missing required parameter: '{param}'.",
        param=param,
        code="missing_required_parameter",
    )


def text(param: str, value: object) -> None:
    """Ask for a string."""
    if not isinstance(value, str):
        raise wrong_type(param, "a string", value)


def flag(param: str, value: object) -> None:
    """Ask for true or false."""
    if not isinstance(value, bool):
        raise wrong_type(param, "a boolean", value)


def mapping(param: str, value: object) -> None:
    """Ask for an object, whatever is in it."""
    if not is_mapping(value):
        raise wrong_type(param, "an object", value)


def matching(pattern: str) -> Check:
    """Return a check for a string that a pattern describes in full."""
    compiled = re.compile(pattern)

    def check(param: str, value: object) -> None:
        text(param, value)
        if compiled.fullmatch(str(value)) is None:
            raise wrong_value(param, f"strings like {pattern}", value)

    return check


def one_of(*names: str) -> Check:
    """Return a check for one of these strings."""

    def check(param: str, value: object) -> None:
        text(param, value)
        if value not in names:
            raise wrong_value(param, ", ".join(f"'{name}'" for name in names), value)

    return check


def number(low: float, high: float) -> Check:
    """Return a check for a number between two others."""

    def check(param: str, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong_type(param, "a number", value)
        if not low <= value <= high:
            raise wrong_value(param, f"{low} to {high}", value)

    return check


def whole(low: float, high: float = float("inf")) -> Check:
    """Return a check for an integer between two others."""
    ranged = number(low, high)

    def check(param: str, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong_type(param, "an integer", value)
        ranged(param, value)

    return check


def array(each: Check, most: int | None = None) -> Check:
    """Return a check for a non-empty array of values that pass a check."""

    def check(param: str, value: object) -> None:
        if not is_list(value):
            raise wrong_type(param, "an array", value)
        if not value:
            raise ApiError(
                f"Invalid '{param}': the array is empty, and needs one entry or more.",
                param=param,
                code="empty_array",
            )
        if most is not None and len(value) > most:
            raise wrong_value(param, f"arrays of at most {most}", value)
        for at, one in enumerate(value):
            each(f"{param}[{at}]", one)

    return check


def either(kind: type, check: Check, other: Check) -> Check:
    """Return the check for values of a type, and another one for all others."""

    def chosen(param: str, value: object) -> None:
        (check if isinstance(value, kind) else other)(param, value)

    return chosen


def nullable(check: Check) -> Check:
    """Return the check, with null allowed."""

    def checked(param: str, value: object) -> None:
        if value is not None:
            check(param, value)

    return checked


def fields(
    required: Mapping[str, Check],
    optional: Mapping[str, Check],
    *,
    open_ended: bool = False,
) -> Check:
    """Return a check for an object of these fields, and no others unless open-ended."""
    known = {**required, **optional}

    def check(param: str, value: object) -> None:
        mapping(param, value)
        found: Mapping[str, Any] = value if is_mapping(value) else {}
        prefix = f"{param}." if param else ""
        for name in required:
            if name not in found:
                raise missing(f"{prefix}{name}")
        for name, inner in found.items():
            if name in known:
                known[name](f"{prefix}{name}", inner)
            elif not open_ended:
                raise _unknown(f"{prefix}{name}")

    return check


def _unknown(param: str) -> ApiError:
    text = f"Unknown parameter: '{param}'."
    return ApiError(text, param=param, code="unknown_parameter")

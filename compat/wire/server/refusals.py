"""What the scripted server refuses: errors as it answers them, checks that raise them.

A scenario names how its model fails. The start of that name chooses the status and the
code that a client gets, and the whole name is the message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from compat.wire.errors import WireError
from refengine.messages import Json
from refengine.testing.json_values import is_list, is_mapping

INVALID: Final = "invalid_request_error"


class ApiError(WireError):
    """An answer that is an error, in the shape that clients of OpenAI read."""

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        kind: ErrorKind | None = None,
    ) -> None:
        self.kind = kind or ErrorKind(400, INVALID)
        self.param = param or self.kind.param
        self.code = code or self.kind.code
        self.message = message
        super().__init__(message)

    @property
    def body(self) -> dict[str, Json]:
        """The body of the response."""
        return {
            "error": {
                "message": self.message,
                "type": self.kind.type,
                "param": self.param,
                "code": self.code,
            }
        }


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """Status, type, code and headers that errors of one kind have in common."""

    status: int
    type: str
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


FINAL: Final = MappingProxyType({"x-should-retry": "false"})
"""Tells the official client not to ask again by itself.

A scenario's failure is what one call comes to. A client that asks again would get the
answer meant for the next call, and the failure would be seen by nobody.
"""
SCRIPTED: Final = ErrorKind(500, "server_error", headers=FINAL)
"""A failure by any name that is not in the table."""
ENDED: Final = ErrorKind(500, "server_error", "script_ended", headers=FINAL)
UNAUTHORIZED: Final = ErrorKind(401, INVALID, "invalid_api_key")
NOT_FOUND: Final = ErrorKind(404, INVALID)
WRONG_METHOD: Final = ErrorKind(405, INVALID)
TOO_LONG: Final = ErrorKind(413, INVALID)

KINDS: Final[Mapping[str, ErrorKind]] = MappingProxyType(
    {
        "rate_limit": ErrorKind(
            429, "requests", "rate_limit_exceeded", headers={"retry-after": "1"}
        ),
        "insufficient_quota": ErrorKind(
            429, "insufficient_quota", "insufficient_quota"
        ),
        "overloaded": ErrorKind(503, "server_error", headers={"retry-after": "1"}),
        "server_error": ErrorKind(500, "server_error"),
        "context_length": ErrorKind(
            400, INVALID, "context_length_exceeded", "messages"
        ),
        "invalid_request": ErrorKind(400, INVALID),
        "invalid_api_key": UNAUTHORIZED,
        "permission_denied": ErrorKind(403, INVALID, "permission_denied"),
        "model_not_found": ErrorKind(404, INVALID, "model_not_found", "model"),
    }
)
"""What a failure comes to, by how its name starts; ``cassettes/README.md`` has it."""


_HTTP: Final = re.compile(
    r"http[ _-]?([45]\d\d)\b\s*([\w-]*)\s*([\w-]*)", re.IGNORECASE
)
"""A name such as ``HTTP 400 invalid_request_error tool_use_failed``."""


def failure(name: str) -> ApiError:
    """Return the error that a failure of that name is answered with.

    A status stands in the name, or its start is in the table. Case does not matter
    there, nor what stands between words.
    """
    matched = _HTTP.match(name)
    if matched is not None:
        status, kind, code = (
            int(matched[1]),
            matched[2] or _type_of(int(matched[1])),
            matched[3],
        )
        return ApiError(name, kind=ErrorKind(status, kind, code or None))
    start = _letters(name)
    kinds = (kind for key, kind in KINDS.items() if start.startswith(_letters(key)))
    return ApiError(name, kind=next(kinds, SCRIPTED))


def _type_of(status: int) -> str:
    return INVALID if status < 500 else SCRIPTED.type


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


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


def wrong_type(param: str, expected: str, value: object) -> ApiError:
    """Return the error for a value of another type."""
    got = _TYPES.get(type(value), "something else")
    text = f"Invalid type for '{param}': {expected} is wanted, not {got}."
    return ApiError(text, param=param, code="invalid_type")


def wrong_value(param: str, expected: str, value: object) -> ApiError:
    """Return the error for a value of the right type that is none of those allowed."""
    shown = repr(value)
    shown = shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"
    text = f"Invalid value for '{param}': {shown}. Supported: {expected}."
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

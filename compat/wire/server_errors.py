"""What the scripted server answers with an error: the shape, and what a name leads to.

A scenario names how its model fails. The start of that name chooses the status and the
code that a client gets, and the whole name is the message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from compat.wire.errors import WireError
from refengine.messages import Json

INVALID: Final = "invalid_request_error"


class ApiError(WireError):
    """An answer that is an error, in the shape that clients of OpenAI read."""

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        kind: Kind | None = None,
    ) -> None:
        self.kind = kind or Kind(400, INVALID)
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
class Kind:
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
SCRIPTED: Final = Kind(500, "server_error", headers=FINAL)
"""A failure by any name that is not in the table."""
ENDED: Final = Kind(500, "server_error", "script_ended", headers=FINAL)
UNAUTHORIZED: Final = Kind(401, INVALID, "invalid_api_key")
NOT_FOUND: Final = Kind(404, INVALID)
WRONG_METHOD: Final = Kind(405, INVALID)
TOO_LONG: Final = Kind(413, INVALID)

KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "rate_limit": Kind(
            429, "requests", "rate_limit_exceeded", headers={"retry-after": "1"}
        ),
        "insufficient_quota": Kind(429, "insufficient_quota", "insufficient_quota"),
        "overloaded": Kind(503, "server_error", headers={"retry-after": "1"}),
        "server_error": Kind(500, "server_error"),
        "context_length": Kind(400, INVALID, "context_length_exceeded", "messages"),
        "invalid_request": Kind(400, INVALID),
        "invalid_api_key": UNAUTHORIZED,
        "permission_denied": Kind(403, INVALID, "permission_denied"),
        "model_not_found": Kind(404, INVALID, "model_not_found", "model"),
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
    told = _HTTP.match(name)
    if told is not None:
        status, kind, code = int(told[1]), told[2] or _type_of(int(told[1])), told[3]
        return ApiError(name, kind=Kind(status, kind, code or None))
    start = _letters(name)
    kinds = (kind for key, kind in KINDS.items() if start.startswith(_letters(key)))
    return ApiError(name, kind=next(kinds, SCRIPTED))


def _type_of(status: int) -> str:
    return INVALID if status < 500 else SCRIPTED.type


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())

"""A recorded response as it is played: at once, and as the body it has here.

Clients sleep as long as ``retry-after`` says, and without one for a while of their own.
On replay nobody is overloaded, so each response that a client may try again for says
that it may at once. The file keeps what was recorded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from compat.wire.exchanges import Response

_RETRIED: Final = {408, 409, 425, 429}
_WAIT: Final = {"retry-after", "retry-after-ms"}
_TRANSFER: Final = {"content-encoding", "transfer-encoding"}
_NOW: Final = {"retry-after": ("0",), "retry-after-ms": ("0.001",)}
"""Clients of OpenAI and Anthropic read the second one first and take no 0 there; others
read the first, of which it is the smallest value."""


def playable(response: Response) -> Response:
    """Return the response to be given to a client.

    Its length is that of the decoded body; the reset times of a rate limit are past.
    """
    headers = {
        name: _played(name, values, response)
        for name, values in response.headers.items()
        if name not in _TRANSFER
    }
    if headers.keys() & _WAIT or _is_retried(response.status):
        headers |= _NOW
    return replace(response, headers=headers)


def _played(name: str, values: tuple[str, ...], response: Response) -> tuple[str, ...]:
    if name == "content-length":
        return (str(len(response.body)),)
    return ("0",) if name.startswith("x-ratelimit-reset") else values


def _is_retried(status: int) -> bool:
    return status in _RETRIED or status >= 500

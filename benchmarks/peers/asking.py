"""Asking a child: one request, one process, whatever becomes of it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.peers.child import OFF
from compat.engines.importing import GENERIC
from compat.process import (
    ChildDiedError,
    ChildError,
    ChildHungError,
    ChildProcess,
    python,
    signal_name,
)


@dataclass(frozen=True, slots=True)
class Lost:
    """A child that gave no reply: it died, or was ended for its time."""

    how: Literal["killed", "too slow"]
    why: str


def ask(peer: str, request: Mapping[str, Any], limit: float) -> dict[str, Any] | Lost:
    """Return the child's reply; ``limit`` is in seconds. Raises OSError."""
    until = time.monotonic() + limit
    params = {name: value for name, value in request.items() if name != "do"}
    child = ChildProcess(
        python("benchmarks.peers.child", *GENERIC), env={**os.environ, **OFF}
    )
    try:
        child.wait(child.initialize(limit, peer=peer))
        reply: dict[str, Any] = child.call(
            str(request["do"]), params, until - time.monotonic()
        )
        # A framework may also end its process in another way when all is done.
        status = child.end(grace=until - time.monotonic())
    except ChildHungError:
        return _late(limit)
    except ChildDiedError as error:
        return Lost("killed", _death(error.status, error.last_line))
    except ChildError as error:
        return Lost("killed", error.why)
    finally:
        child.kill()
    if time.monotonic() > until:
        return _late(limit)
    return Lost("killed", _death(status, child.last_line)) if status else reply


def _late(limit: float) -> Lost:
    return Lost("too slow", f"was ended after {limit:g} seconds")


def _death(status: int, last_line: str) -> str:
    if status < 0:
        return f"was killed by {signal_name(-status)}"
    last = f": {last_line}" if last_line else ""
    return f"left with exit code {status}{last}"

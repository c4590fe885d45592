"""Asking a child: one request, one process, whatever becomes of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.peers.child import OFF


@dataclass(frozen=True, slots=True)
class Lost:
    """A child that gave no reply: it died, or was ended for its time."""

    how: Literal["killed", "too slow"]
    why: str


def ask(peer: str, request: Mapping[str, Any], limit: float) -> dict[str, Any] | Lost:
    """Return the child's reply; ``limit`` is in seconds. Raises OSError."""
    command = [sys.executable, "-P", "-m", "benchmarks.peers.child", peer]
    try:
        ended = subprocess.run(  # noqa: S603  # our own module, in this Python
            command,
            input=json.dumps(request) + "\n",
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, **OFF},
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Lost("too slow", f"was ended after {limit:g} seconds")
    if ended.returncode or not ended.stdout:
        return Lost("killed", _death(ended.returncode, ended.stderr))
    reply: dict[str, Any] = json.loads(ended.stdout)
    return reply


def _death(code: int, printed: str) -> str:
    if code < 0:
        return f"was killed by {_signal(-code)}"
    lines = printed.strip().splitlines()
    said = f": {lines[-1]}" if lines else ""
    return f"left with exit code {code}{said}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

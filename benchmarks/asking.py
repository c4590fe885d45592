"""The parent's face of the child that measures: asked, waited for, and ended."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self

import refengine
from benchmarks.child import REFUSED
from compat.engines.importing import start_code
from refengine.errors import RefengineError

START: Final = start_code("benchmarks.child")
LIMIT: Final = 120.0
"""Seconds for one request; the longest of ours takes a tenth of it."""
DOING: Final = MappingProxyType(
    {
        "load": "load the subject",
        "turns": "measure times",
        "memory": "measure memory",
        "probe": "measure each hook",
        "bar": "measure a bar",
    }
)
"""What the requests of the child are called in messages."""
SAID: Final = 10_000
"""So many bytes of what it printed are looked at: a handler may print in every run."""


class ChildLostError(RefengineError):
    """The child ended, or did not answer in time: what it measured is lost."""

    def __init__(self, doing: str, why: str, said: str) -> None:
        self.doing = doing
        last = f"; it printed last: {said}" if said else ""
        super().__init__(f"while it was to {doing}, the process {why}{last}")


class Measurer:
    """One child; after one is lost the next request starts another."""

    def __init__(self, limit: float = LIMIT) -> None:
        self._limit = limit
        self._child: _Child | None = None
        self._loaded: Mapping[str, Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._end()

    def load(self, subject: str | None, against: str | None) -> dict[str, Any]:
        """Load the user's subjects, in this child and in those that follow it."""
        self._loaded = {"do": "load", "subject": subject, "against": against}
        return self.ask(self._loaded)

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a request; raises ChildLostError."""
        try:
            child, reply = self._ready(request)
            return child.ask(request, self._limit) if reply is None else reply
        except ChildLostError:
            self._end()
            raise

    def _ready(
        self, request: Mapping[str, Any]
    ) -> tuple[_Child, dict[str, Any] | None]:
        """Return a child that knows the subjects, or why it could not load them."""
        if self._child is not None:
            return self._child, None
        child = self._child = _Child()
        if self._loaded is None or request is self._loaded:
            return child, None
        reply = child.ask(self._loaded, self._limit)
        if REFUSED not in reply:
            return child, None
        self._end()  # without its subjects it is of no use to the next request either
        return child, reply

    def _end(self) -> None:
        if self._child is not None:
            self._child.end()
        self._child = None


class _Child:
    def __init__(self) -> None:
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # closed by end
        self._replies, theirs = os.pipe()
        root = str(Path(refengine.__file__).parent.parent)
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own child
                [sys.executable, "-P", "-c", START, root, str(theirs)],
                stdin=subprocess.PIPE,
                stdout=self._printed,
                stderr=self._printed,
                pass_fds=[theirs],
            )
        finally:
            os.close(theirs)
        self._got = b""

    def ask(self, request: Mapping[str, Any], limit: float) -> dict[str, Any]:
        doing = DOING[str(request["do"])]
        stdin = self._process.stdin
        if stdin is None:
            raise AssertionError
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            raise self._lost(doing, "had ended") from None
        reply: dict[str, Any] = json.loads(self._line(doing, limit))
        return reply

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):  # of what it was sent and never read
                self._process.stdin.close()
        os.close(self._replies)
        self._printed.close()

    def _line(self, doing: str, limit: float) -> bytes:
        until = time.monotonic() + limit
        while b"\n" not in self._got:
            left = until - time.monotonic()
            ready, _, _ = select.select([self._replies], [], [], max(left, 0))
            if not ready:
                raise self._lost(doing, f"gave no answer within {limit:g} s")
            part = os.read(self._replies, 1 << 20)
            if not part:
                code = self._process.wait()
                raise self._lost(doing, f"ended with code {code}")
            self._got += part
        line, _, self._got = self._got.partition(b"\n")
        return line

    def _lost(self, doing: str, why: str) -> ChildLostError:
        size = self._printed.seek(0, os.SEEK_END)
        self._printed.seek(max(size - SAID, 0))
        said = self._printed.read().decode("utf-8", "replace").strip().splitlines()
        return ChildLostError(doing, why, said[-1] if said else "")

"""The parent's end of the child that measures: called, waited for, and ended."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Self

from benchmarks.child import REFUSED
from compat.engines.importing import GENERIC
from compat.process import (
    ChildDiedError,
    ChildError,
    ChildHungError,
    ChildProcess,
    python,
)
from refengine.errors import RefengineError
from refengine.testing.child import CallError, Params

LIMIT: Final = 120.0
"""Seconds for one request; the longest of ours takes a tenth of it."""
DOING: Final = MappingProxyType(
    {
        "load": "load the subject",
        "list": "import the framework",
        "setup": "run the setup",
        "time": "measure times",
        "seen": "say what it saw",
        "turns": "measure times",
        "memory": "measure memory",
        "probe": "measure each hook",
        "bar": "measure a bar",
    }
)
"""What the requests of the child are called in messages."""


class ChildLostError(RefengineError):
    """The child ended, or did not answer in time: what it measured is lost."""

    def __init__(self, doing: str, why: str, printed: str) -> None:
        self.doing = doing
        last = f"; it printed last: {printed}" if printed else ""
        super().__init__(f"while it was to {doing}, the process {why}{last}")


OURS: Final = tuple(python("benchmarks.child", *GENERIC))
"""The command of the child that measures refengine itself."""


class Measurer:
    """One child; after one is lost the next request starts another.

    ``command`` and ``env`` start it, ``about`` is what it is initialized with.
    """

    def __init__(
        self,
        limit: float = LIMIT,
        command: Sequence[str] = OURS,
        env: Mapping[str, str] | None = None,
        about: Params = MappingProxyType({}),
    ) -> None:
        self._limit = limit
        self._start = partial(_Child, command, env, about)
        self._child: _Child | None = None
        self._loaded: Mapping[str, Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def load(self, subject: str | None, against: str | None) -> dict[str, Any]:
        """Load the user's subjects, in this child and in those that follow it."""
        return self.begin({"do": "load", "subject": subject, "against": against})

    def begin(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Ask this child, and those that follow it, before anything else."""
        self._loaded = request
        return self.ask(request)

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a request; raises ChildLostError."""
        try:
            child, reply = self._ready(request)
            return child.call(request, self._limit) if reply is None else reply
        except ChildLostError:
            self._end()
            raise

    def _ready(
        self, request: Mapping[str, Any]
    ) -> tuple[_Child, dict[str, Any] | None]:
        """Return a child that knows the subjects, or why it could not load them."""
        if self._child is not None:
            return self._child, None
        child = self._child = self._start()
        if self._loaded is None or request is self._loaded:
            return child, None
        reply = child.call(self._loaded, self._limit)
        if REFUSED not in reply:
            return child, None
        self._end()  # without its subjects it is of no use to the next request either
        return child, reply

    def _end(self) -> None:
        if self._child is not None:
            self._child.end()
        self._child = None


class _Child:
    """A child whose log is a file, so that nobody is woken while it measures."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str] | None, about: Params
    ) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # closed by end
        self.process = ChildProcess(command, env=env, log=self._log)
        self._initialized = self.process.initialize(LIMIT, **about)

    def call(self, request: Mapping[str, Any], limit: float) -> dict[str, Any]:
        method = str(request["do"])
        params = {name: value for name, value in request.items() if name != "do"}
        try:
            self.process.wait(self._initialized)
            reply: dict[str, Any] = self.process.call(method, params, limit)
        except CallError as error:
            return {REFUSED: error.message}
        except ChildError as error:
            raise ChildLostError(DOING[method], _why(error), error.last_line) from None
        return reply

    def end(self) -> None:
        self.process.kill()
        self._log.close()


def _why(error: ChildError) -> str:
    match error:
        case ChildHungError(call=call) if call is not None:
            return f"gave no answer within {call.limit:g} s"
        case ChildDiedError(call=None):
            return "had ended"
        case ChildDiedError(status=status):
            return f"ended with code {status}"
        case _:
            return error.why

"""Workers that judge one engine: started, called, watched, and ended.

An engine that does not answer in time is ended with its process, and so is one that
ended by itself; the world it was in is reported, and a new worker goes on after it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from compat.engines.importing import GENERIC
from compat.environments.workers import OURS, WorkerPython
from compat.process import (
    ChildCall,
    ChildDiedError,
    ChildError,
    ChildHungError,
    ChildProcess,
    move,
)
from compat.warm import WARM
from refengine.errors import RefengineError
from refengine.testing.child import CallError

Request: TypeAlias = "Mapping[str, Any]"
Reply: TypeAlias = "dict[str, Any]"

LONG: Final = 60.0
"""Seconds for what is more than one world: to import an engine, to shrink a failure."""
LOST: Final = 5
"""After so many lost workers an engine is given up."""


WORKER: Final = ("property_tests.judging.worker", *GENERIC)
"""The module of a worker, and what it imports first."""


class EngineLostError(RefengineError):
    """An engine ended or hung so often that it is no use to go on."""

    def __init__(self, engine: str, times: int, last: str) -> None:
        self.engine = engine
        self.times = times
        self.last = last
        super().__init__(
            f"{engine} was given up after {times} worlds that it did not survive;"
            f" the last: {last}"
        )


def expect_workers(python: WorkerPython = OURS) -> None:
    """Begin to import what workers need, beside whatever is done before there are any.

    Without an engine: that is loaded in each of the copies.
    """
    WARM.expect(python.command(*WORKER), python.env or os.environ, ())


class Worker:
    """One child that has the engine, and the requests that it is to answer."""

    def __init__(self, about: Request, cwd: Path, python: WorkerPython) -> None:
        self.waiting: deque[tuple[ChildCall, Request]] = deque()
        # In this folder, also where it is a copy of what was started in another one.
        command = python.command(*WORKER)
        self.child = ChildProcess(
            command, cwd=cwd, env=python.env, marked=False, frameworks=()
        )
        self.child.initialize(LONG, **about)

    def send(self, at: int, request: Request, limit: float) -> None:
        """Put a request behind those that wait."""
        params = {key: value for key, value in request.items() if key != "op"}
        call = self.child.start(request["op"], params, limit, at)
        self.waiting.append((call, request))

    def answered(self) -> Iterator[ChildCall]:
        """Yield what has been answered."""
        while self.waiting and self.waiting[0][0].reply is not None:
            yield self.waiting.popleft()[0]


class Pool:
    """The workers of one engine."""

    def __init__(
        self,
        about: Request,
        workers: int,
        timeout: float,
        cwd: Path | None = None,
        python: WorkerPython = OURS,
    ) -> None:
        """Start so many; ``timeout`` seconds are given to each request.

        ``cwd`` is where modules of the user's own are looked for, by itself here, and
        ``python`` what workers run with.
        """
        self._about = about
        self._timeout = timeout
        self._cwd = cwd or Path.cwd()
        self._python = python
        self._workers = [self._worker() for _ in range(workers)]
        self.lost: list[str] = []
        """Why each worker was lost."""
        self._left = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:  # each is ended, whatever comes of the others
            for worker in self._workers:
                stack.callback(worker.child.kill)

    def one(self, request: Request, timeout: float = LONG) -> Reply:
        """Return the answer to one request, which may take long."""
        ((_, reply),) = self.each([request], timeout)
        return reply

    def each(
        self, requests: Iterable[Request], timeout: float | None = None
    ) -> Iterator[tuple[int, Reply]]:
        """Yield each request's place and its answer, as they come.

        The answer to one that its worker did not survive is ``{"broken": why}``.
        Raises EngineLostError.
        """
        self.send(requests, timeout)
        while self.waits:
            yield from self.answers()

    @property
    def waits(self) -> bool:
        """Whether an answer is to come."""
        return self._left > 0

    def send(
        self,
        requests: Iterable[Request],
        timeout: float | None = None,
        first: int = 0,
    ) -> None:
        """Put requests behind those that wait; the first has the place ``first``."""
        for at, request in enumerate(requests, first):
            worker = self._ready(at % len(self._workers))
            worker.send(at, request, timeout or self._timeout)
            self._left += 1

    def answers(self, patience: float = LONG) -> Iterator[tuple[int, Reply]]:
        """Yield what has been answered, and wait no longer for it than so many seconds.

        Raises EngineLostError.
        """
        for at, reply in self._next(patience):
            self._left -= 1
            yield at, reply

    def _worker(self) -> Worker:
        return Worker(self._about, self._cwd, self._python)

    def _ready(self, number: int) -> Worker:
        """Return a worker; one that ended while it had nothing to do is replaced."""
        if self._workers[number].child.over is not None:
            self._workers[number] = self._worker()
        return self._workers[number]

    def _next(self, patience: float) -> Iterator[tuple[int, Reply]]:
        """Yield what came, or what became of workers that are lost."""
        move([worker.child for worker in self._workers], patience)
        for worker in tuple(self._workers):
            for call in worker.answered():
                yield _label(call), _reply(call)
            if worker.child.over is not None:
                yield from self._lose(worker, worker.child.over)

    def _start_anew(self) -> None:
        """Forget all requests: what is requested from here on is something else."""
        self._left = 0
        self.lost = []
        for at, worker in enumerate(self._workers):
            if worker.waiting:
                worker.child.kill()
                self._workers[at] = self._worker()

    def _lose(self, worker: Worker, error: ChildError) -> Iterator[tuple[int, Reply]]:
        """Put another worker in a lost one's place; answer its first request."""
        fresh = self._worker()
        self._workers[self._workers.index(worker)] = fresh
        if not worker.waiting:
            return
        why = _why(error)
        self.lost.append(why)
        if len(self.lost) >= LOST:
            self._start_anew()
            raise EngineLostError(str(self._about["engine"]), LOST, why)
        (failed, _), *rest = worker.waiting
        for call, request in rest:
            fresh.send(_label(call), request, call.limit)
        yield _label(failed), {"broken": why}


def _label(call: ChildCall) -> int:
    if call.label is None:
        raise AssertionError(call)  # every request has its place
    return call.label


def _reply(call: ChildCall) -> Reply:
    """Return what was answered; so is an error of the child's."""
    try:
        reply: Reply = call.result
    except CallError as error:
        return {error.data.get("kind", "broken"): error.message}
    return reply


def _why(error: ChildError) -> str:
    match error:
        case ChildHungError(call=call) if call is not None:
            why = f"it did not end within {call.limit:g} s"
        case ChildDiedError(status=status):
            why = f"its process ended with code {status}"
        case _:
            why = f"its process {error.why}"
    return f"{why}; it printed last: {error.last_line}" if error.last_line else why

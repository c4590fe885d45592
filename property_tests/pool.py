"""Workers that judge one engine: started, asked, watched, and ended.

An engine that does not answer in time is ended with its process, and so is one that
ended by itself; the world it was in is told, and a new worker goes on after it.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import refengine
from compat.engines.importing import start_code
from refengine.errors import RefengineError

Request: TypeAlias = "Mapping[str, Any]"
Reply: TypeAlias = "dict[str, Any]"

WINDOW: Final = 32
"""So many requests a worker is given ahead of its answers."""
LONG: Final = 60.0
"""Seconds for what is more than one world: to import an engine, to shrink a failure."""
LOST: Final = 5
"""After so many lost workers an engine is given up."""

START: Final = start_code("property_tests.worker")


class EngineLostError(RefengineError):
    """An engine ended or hung so often that it is no use to go on."""

    def __init__(self, engine: str, times: int, last: str) -> None:
        self.engine = engine
        super().__init__(
            f"{engine} was given up after {times} worlds that it did not survive;"
            f" the last: {last}"
        )


class Worker:
    """One child, its pipes, and what it has still to answer."""

    def __init__(
        self, about: Request, replies: queue.Queue[tuple[Worker, str]]
    ) -> None:
        self.waiting: deque[Request] = deque()
        self.asked: deque[Request] = deque()
        self.since = time.monotonic()
        self._chatter = tempfile.TemporaryFile()  # noqa: SIM115  # closed by end
        ours, theirs = os.pipe()
        root = str(Path(refengine.__file__).parent.parent)
        try:
            self.process = subprocess.Popen(  # noqa: S603  # our own worker
                [sys.executable, "-P", "-c", START, root, str(theirs)],
                stdin=subprocess.PIPE,
                stdout=self._chatter,
                stderr=self._chatter,
                pass_fds=[theirs],
                text=True,
            )
        finally:
            os.close(theirs)
        self._reader = threading.Thread(
            target=self._read, args=(ours, replies), daemon=True
        )
        self._reader.start()
        self._write(about)

    def ask(self, request: Request) -> None:
        """Put a request behind those that wait."""
        self.waiting.append(request)
        self.feed()

    def feed(self) -> None:
        """Send what waits, as far as the window reaches."""
        while self.waiting and len(self.asked) < WINDOW:
            if not self.asked:
                self.since = time.monotonic()
            self.asked.append(request := self.waiting.popleft())
            self._write(request)

    def end(self) -> str:
        """End it, and return the last line that its engine printed."""
        if self._chatter.closed:
            return ""
        self.process.kill()
        self.process.wait()
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):  # of what it was sent and never read
                self.process.stdin.close()
        self._reader.join()
        self._chatter.seek(0)
        said = self._chatter.read().decode("utf-8", "replace").strip().splitlines()
        self._chatter.close()
        return said[-1] if said else ""

    def _write(self, data: Request) -> None:
        try:
            if self.process.stdin is not None:
                self.process.stdin.write(json.dumps(data) + "\n")
                self.process.stdin.flush()
        except BrokenPipeError:  # it ended: the reader has told so already
            return

    def _read(self, ours: int, replies: queue.Queue[tuple[Worker, str]]) -> None:
        with open(ours, encoding="utf-8") as lines:  # a descriptor
            for text in lines:
                replies.put((self, text))
        replies.put((self, ""))


class Pool:
    """The workers of one engine."""

    def __init__(self, about: Request, workers: int, timeout: float) -> None:
        """Start so many; ``timeout`` seconds are given to each request."""
        self._about = about
        self._timeout = self._patient = timeout
        self._replies: queue.Queue[tuple[Worker, str]] = queue.Queue()
        self._workers = [Worker(about, self._replies) for _ in range(workers)]
        self._lost = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        with ExitStack() as stack:  # each is ended, whatever comes of the others
            for worker in self._workers:
                stack.callback(worker.end)

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
        self._patient = timeout or self._timeout
        left = 0
        for at, request in enumerate(requests):
            worker = self._workers[at % len(self._workers)]
            worker.ask({**request, "id": at})
            left += 1
        while left:
            for at, reply in self._next():
                left -= 1
                yield at, reply

    def _next(self) -> Sequence[tuple[int, Reply]]:
        """Return what came, or what became of a worker that is lost."""
        try:
            worker, text = self._replies.get(timeout=self._patience())
        except queue.Empty:
            late = [each for each in self._workers if self._is_late(each)]
            why = f"it did not end within {self._patient:g} s"
            return [self._lose(each, why) for each in late]
        if worker not in self._workers:  # the last words of one that was ended
            return ()
        if not text:
            code = worker.process.wait()
            why = f"its process ended with code {code}"
            return [self._lose(worker, why)] if worker.asked else ()
        reply: Reply = json.loads(text)
        worker.asked.popleft()
        worker.since = time.monotonic()
        worker.feed()
        return [(reply.pop("id"), reply)]

    def _start_anew(self) -> None:
        """Forget all that was asked: what is asked from here on is something else."""
        self._lost = 0
        for at, worker in enumerate(self._workers):
            if worker.asked:
                worker.end()
                self._workers[at] = Worker(self._about, self._replies)

    def _patience(self) -> float:
        busy = [each.since for each in self._workers if each.asked]
        first = min(busy, default=time.monotonic())
        return max(first + self._patient - time.monotonic(), 0.01)

    def _is_late(self, worker: Worker) -> bool:
        return bool(worker.asked) and time.monotonic() - worker.since > self._patient

    def _lose(self, worker: Worker, why: str) -> tuple[int, Reply]:
        """End a worker, put another in its place, and answer for what it was asked."""
        said = worker.end()
        why = f"{why}; it printed last: {said}" if said else why
        fresh = Worker(self._about, self._replies)
        self._workers[self._workers.index(worker)] = fresh
        self._lost += 1
        if self._lost >= LOST:
            self._start_anew()
            raise EngineLostError(str(self._about["engine"]), LOST, why)
        failed, *rest = worker.asked
        for request in (*rest, *worker.waiting):
            fresh.ask(request)
        return failed["id"], {"broken": why}

"""The parent's view of a child: what it was asked, and how long it may take.

One loop moves the pipes of all children that are waited for, so that nobody waits for
a pipe that nobody reads. A world uses up its time only while the parent looks
(verdicts, Migration: time-outs).
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from compat.migration.faults import SideFault, line_in
from compat.migration.pipes import KEPT, Pipes, poll
from compat.migration.process import close, kill, spawn
from compat.migration.refs import Place
from compat.migration.replies import Printed, Reply

DUMP: Final = 2.0
"""Seconds in which a hanging child may tell where it is."""

IDLE: Final = 10.0
"""Seconds for which a child that was asked nothing lets the others be waited for."""

DOINGS: Final[Mapping[str, str]] = {
    "load": "was not imported",
    "play": "did not end",
    "intends": "its predicates did not end",
}
"""What a child has not done when its time is up, by what it was asked to do."""


@dataclass(slots=True)
class Asked:
    """A request: for which world, how long it may take, and what came of it."""

    id: int
    do: str
    world: int | None
    limit: float
    answer: Reply | None = None
    printed: Printed = field(default_factory=Printed)


class Child:
    """A process that answers requests, in order; what it is doing is the first asked.

    ``name`` is its label and its reference, as faults tell them. The methods never
    wait, but for a process that hangs to tell where, and for one to be gone.
    """

    def __init__(self, place: Place, name: tuple[str, str], hash_seed: int) -> None:
        self.over: SideFault | None = None
        self._name = name
        self._place = place
        self._asked: deque[Asked] = deque()
        self._last = 0
        self._since = self._looked = 0.0
        self._token = secrets.token_hex(8)
        self.process = spawn(place.cwd, hash_seed)
        self._pipes = Pipes(self.process, self._token)

    @property
    def busy(self) -> bool:
        """Whether there is an answer to come."""
        return bool(self._asked)

    def ask(
        self, do: str, request: Reply, limit: float, world: int | None = None
    ) -> Asked:
        """Put a request to the others; raises SideFault if the child is over."""
        if self.over is not None:
            raise self.over
        self._last += 1
        asked = Asked(self._last, do, world, limit)
        if not self._asked:
            self._since = self._looked = time.monotonic()
        head = {"id": asked.id, "do": do, "token": self._token}
        self._pipes.send(json.dumps({**head, **request}).encode() + b"\n")
        self._asked.append(asked)
        return asked

    def forget_unsent(self) -> None:
        """Take back what has not been sent; what has been is answered to nobody."""
        for _ in range(self._pipes.take_back()):
            self._asked.pop()

    def fault(self, kind: str, text: str, world: int | None = None) -> SideFault:
        """Return a fault of this side."""
        return SideFault(kind, *self._name, text, world)

    def give_up(self, fault: SideFault) -> None:
        """End it at once, for this reason."""
        self.over = self.over or fault
        self._asked.clear()
        self._pipes.drop()
        kill(self.process)
        close(self.process)

    # Answers

    def waits_for(self) -> Mapping[int, int]:
        """Return the pipes at which something may happen, and what."""
        return self._pipes.waits_for()

    def move(self, fd: int) -> None:
        """Write or read one pipe as far as it goes now."""
        if self.over is not None:
            return  # ended by what came through another pipe
        replies = self._pipes.move(fd)
        if replies is None:
            self._ended()
            return
        for reply in replies:
            self._answered(json.loads(reply))

    def _answered(self, reply: Reply) -> None:
        asked = self._asked.popleft()
        asked.printed = self._pipes.printed(asked.id)
        asked.answer = reply
        self._since = time.monotonic()
        fault = reply.get("fault", {})
        if fault.get("kind") == "fork":  # after which it has ended
            self.give_up(self.fault("fork", fault["text"], asked.world))

    # Ends

    def look(self) -> float:
        """Return how many seconds it has left; the time nobody looked is given back."""
        now = time.monotonic()
        self._since += now - self._looked
        self._looked = now
        return self._since + self._asked[0].limit - now if self._asked else IDLE

    def looked(self) -> None:
        """End it if its time is up."""
        if self.over is None and self._asked:
            asked, now = self._asked[0], time.monotonic()
            if now - self._since > asked.limit:
                what = DOINGS[asked.do]
                text = f"{what} within {asked.limit:g} s{self._hang()}"
                self.give_up(self.fault("timeout", text, asked.world))
        self._looked = time.monotonic()

    def _hang(self) -> str:
        """Have it tell where it is, by a handler that needs no Python to run."""
        os.kill(self.process.pid, signal.SIGUSR2)
        end, text = time.monotonic() + DUMP, b""
        while (left := end - time.monotonic()) > 0:
            text = text[-KEPT:] + self._pipes.wait_printed(left)
            if found := line_in(text, self._place.folder):
                return found
        return ""

    def _ended(self) -> None:
        status = kill(self.process)
        rest = self._pipes.rest()
        world = self._asked[0].world if self._asked else None
        if status < 0:
            name = signal.Signals(-status).name
            where = line_in(rest, self._place.folder)
            fault = self.fault("killed", f"died of {name}{where}", world)
        else:
            fault = self.fault("ended", f"ended with exit status {status}", world)
        self.give_up(fault)


def wait_for(pairs: Sequence[tuple[Child, Asked]]) -> None:
    """Move all pipes until these are answered, or cannot be any more."""
    while waiting := [child for child, asked in pairs if asked.answer is None]:
        if any(child.over is not None for child in waiting):
            return
        _move([child for child, _ in pairs if child.over is None])


def _move(children: Sequence[Child]) -> None:
    """Move what can be moved; wait for it no longer than one of them has time."""
    left = min(child.look() for child in children)
    whose = {fd: child for child in children for fd in child.waits_for()}
    wanted = {fd: how for each in children for fd, how in each.waits_for().items()}
    for fd in poll(wanted, left):
        whose[fd].move(fd)
    for child in children:
        child.looked()

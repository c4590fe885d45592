"""A side of a migration check: the parent's face of the child that runs a subject.

    with Side.start(parse_ref("old.py"), "old") as old:
        played = old.play(scenario)

A child has a session of its own, so that ending it ends all that the subject started
(``process``), and three pipes: requests, replies, and what the subject printed
(``pipes``). ``child`` moves all of them, for both sides at once.
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Final, Literal, Self, TypeAlias

from compat.migration.child import Asked, Child, wait_for
from compat.migration.defaults import TIMEOUT
from compat.migration.faults import SideFault
from compat.migration.process import end
from compat.migration.refs import Place, SubjectRef, placed
from compat.migration.replies import Printed, Reply, SideLoaded, SidePlayed
from compat.migration.wire import Wire
from refengine.testing.scenario import Scenario
from refengine.testing.trace import Trace

# What a side takes, returns and raises is found beside it.
__all__ = [
    "Label",
    "Printed",
    "Side",
    "SideFault",
    "SideLoaded",
    "SidePlayed",
    "play_together",
]

Label: TypeAlias = Literal["old", "new"]

IMPORT_TIMEOUT: Final = 30.0


class Side:
    """One subject in a child; ``with`` or ``close`` ends it, or else its last use."""

    def __init__(
        self,
        ref: SubjectRef,
        label: Label,
        *,
        timeout: float = TIMEOUT,
        import_timeout: float = IMPORT_TIMEOUT,
        profile: str = "seed-001",
        hash_seed: int = 0,
    ) -> None:
        """Start the child and ask for the subject, without waiting for it.

        ``hash_seed`` is the child's PYTHONHASHSEED, which orders sets of texts; where
        it is 0, a value in the user's environment is kept.
        """
        self.ref = ref
        self.label = label
        self._timeout = timeout
        self._known: SideLoaded | None = None
        self.ways: Sequence[str] = ()
        self.wire: Wire | None = None
        self._addresses: dict[int, str] = {}
        with ExitStack() as stack:
            place = stack.enter_context(placed(ref))
            self.child = Child(place, (label, ref.text), hash_seed)
            stack.callback(end, self.child.process)
            # Not only by close: an interrupted parent ends it on its way out.
            self._ending = weakref.finalize(
                self, _end_own, stack.pop_all(), os.getpid()
            )
        request = {"ref": _reference(ref, place), "profile": profile}
        self._loading = self.child.ask("load", request, import_timeout)

    @classmethod
    def start(
        cls,
        ref: SubjectRef,
        label: Label,
        *,
        timeout: float = TIMEOUT,
        import_timeout: float = IMPORT_TIMEOUT,
        profile: str = "seed-001",
        hash_seed: int = 0,
    ) -> Self:
        """Start a child and load the subject; raises SideFault, or GitFailedError."""
        side = cls(
            ref,
            label,
            timeout=timeout,
            import_timeout=import_timeout,
            profile=profile,
            hash_seed=hash_seed,
        )
        try:
            side.wait()
        except BaseException:
            side.close()
            raise
        return side

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the child and all that it started, and remove what was made for it."""
        closed = self.child.fault("closed", "it is closed")
        if self.child.busy:
            self.child.give_up(closed)
        self.child.over = self.child.over or closed
        self._ending()
        for request in tuple(self._addresses):
            self._played_at(request)

    def wait(self) -> None:
        """Wait until the subject is loaded; raises SideFault."""
        wait_for([(self.child, self._loading)])
        try:
            reply = self.result(self._loading)
        except SideFault as fault:
            self.child.give_up(fault)
            raise
        if self._known is None:
            self._known = SideLoaded.told(reply, self._loading.printed)

    @property
    def alive(self) -> bool:
        """Whether it can be played further."""
        return self.child.over is None

    @property
    def loaded(self) -> SideLoaded:
        """What is known of the subject's code; waits for it, and raises SideFault."""
        while self._known is None:
            self.wait()
        return self._known

    def ask(self, world: Scenario, number: int | None = None) -> Asked:
        """Ask for a world without waiting."""
        request: dict[str, object] = {"world": _written(world)}
        if self.ways:
            request["ways"] = list(self.ways)
        if self.wire is None:
            return self.child.ask("play", request, self._timeout, number)
        request["wire"] = address = self.wire.begin(world)
        try:
            asked = self.child.ask("play", request, self._timeout, number)
        except SideFault:
            self.wire.end(address)
            raise
        self._addresses[asked.id] = address
        return asked

    def _played_at(self, request: int) -> None:
        """Let the server forget the world of a request, if it was played there."""
        address = self._addresses.pop(request, None)
        if self.wire is not None and address is not None:
            self.wire.end(address)

    def result(self, asked: Asked) -> Reply:
        """Return what came of a request; raises SideFault."""
        self._played_at(asked.id)
        if asked.answer is None:
            raise self.child.over or self.child.fault("harness", "there is no answer")
        fault = asked.answer.get("fault")
        if fault is not None:
            raise self.child.fault(fault["kind"], fault["text"], asked.world)
        return asked.answer

    def played(self, asked: Asked) -> SidePlayed:
        """Return what came of a world; raises SideFault."""
        reply = self.result(asked)
        self.loaded.learn(reply)
        arms = frozenset[int](reply["taken"])
        way = reply.get("way")
        return SidePlayed(reply["trace"], reply["hooks"], arms, asked.printed, way)

    def play(self, scenario: Scenario, world: int | None = None) -> SidePlayed:
        """Play one world; raises SideFault, in which it is called ``world``."""
        asked = self.ask(scenario, world)
        wait_for([(self.child, asked)])
        return self.played(asked)

    def play_all(
        self, scenarios: Iterable[Scenario], first: int = 0
    ) -> Generator[SidePlayed, None, None]:
        """Play worlds without a round trip each; they are numbered from ``first``."""
        for (played,) in play_together([self], scenarios, first):
            yield played

    def broken_intents(self, trace: Trace | str, world: int | None = None) -> list[str]:
        """Return which intended effects a trace does not show; raises SideFault."""
        jsonl = trace if isinstance(trace, str) else trace.to_jsonl()
        asked = self.child.ask("intends", {"trace": jsonl}, self._timeout, world)
        wait_for([(self.child, asked)])
        return [str(text) for text in self.result(asked)["broken"]]


def play_together(
    sides: Sequence[Side], scenarios: Iterable[Scenario], first: int = 0
) -> Generator[tuple[SidePlayed, ...], None, None]:
    """Play the same worlds on several sides at the same time; raises SideFault.

    Yields what each side played, world by world. All worlds are asked for at once, and
    the sides work on while the caller looks at what it has. After a fault, sides that
    are alive can be played further.
    """
    asked: deque[list[tuple[Side, Asked]]] = deque()
    try:
        for number, scenario in enumerate(scenarios, first):
            asked.append([(side, side.ask(scenario, number)) for side in sides])
        while asked:
            pairs = asked.popleft()
            wait_for([(side.child, each) for side, each in pairs])
            yield tuple(side.played(each) for side, each in pairs)
    finally:
        for side in sides:
            side.child.forget_unsent()


def _written(scenario: Scenario) -> str:
    return scenario.model_dump_json(exclude_defaults=True)


def _reference(ref: SubjectRef, place: Place) -> dict[str, object]:
    """Return the reference as the child reads it."""
    return {
        "folder": str(place.folder),
        "name": ref.name,
        "file": None if place.file is None else str(place.file),
        "module": ref.module,
        "moved": None if place.moved is None else [str(each) for each in place.moved],
    }


def _end_own(stack: ExitStack, owner: int) -> None:
    """End what this process started; a forked copy of it leaves that alone."""
    if os.getpid() == owner:
        stack.close()

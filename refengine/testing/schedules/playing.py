"""Playing a program once under one schedule, and what came of it.

A program is a function that makes a coroutine. Whatever it shares between its tasks it
makes anew each time, or one schedule would leave something to the next.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from refengine.testing.schedules.loop import (
    Choose,
    Director,
    Schedule,
    ScheduledLoop,
    label,
)

T = TypeVar("T")
Program: TypeAlias = Callable[[], Coroutine[Any, Any, T]]
"""Makes the coroutine that is played; called once a schedule."""
Check: TypeAlias = Callable[[T], str | None]
"""Is given what the program returned; returns what is wrong with it, None if nothing.

It may raise AssertionError instead.
"""


class ProgramError(TypeError):
    """What is to be played is not a function that makes a coroutine."""

    def __init__(self, program: object) -> None:
        self.program = program
        super().__init__(
            f"{program!r} is not a function that makes a coroutine: give the async"
            " function itself, not what calling it returned, since it is played often"
        )


class CheckError(TypeError):
    """A check returned what says nothing."""

    def __init__(self, got: object) -> None:
        self.got = got
        super().__init__(
            f"the check returned {got!r}: it should return a text that says what is"
            " wrong, or None if nothing is"
        )


class UnrepeatableError(Exception):
    """One schedule gave two different plays, so what is found means nothing."""

    def __init__(self, point: int) -> None:
        self.point = point
        super().__init__(
            "the program does not do the same every time: an earlier play of the same"
            f" schedule went another way before choice point {point}. Let it make all"
            " that it shares anew, and use no wall clock, no threads, no random numbers"
            " of its own and no order of sets"
        )


class UnseenError(Exception):
    """A task or a callback failed and nobody looked."""

    def __init__(self, unseen: str) -> None:
        super().__init__(
            f"{unseen}; wait for each task that was made, or catch its error"
        )


@dataclass(slots=True)
class PlayedSchedule:
    """What came of one play: ``value``, or the ``error`` or the finding of the check.

    ``widths`` has the number of tasks at each choice point, ``schedule`` the
    deviations that were taken, ``story`` a line for each of them.
    """

    value: object = None
    error: BaseException | None = None
    found: str | None = None
    widths: list[int] = field(default_factory=list[int])
    schedule: Schedule = field(default_factory=Schedule)
    story: tuple[str, ...] = ()

    @property
    def what(self) -> str | None:
        """What went wrong, None if nothing did."""
        if self.error is not None:
            return f"{type(self.error).__name__}: {self.error}"
        return self.found

    @property
    def kind(self) -> type | None:
        """What sort of failure it is: shrinking does not go from one to another."""
        if self.error is not None:
            return type(self.error)
        return None if self.found is None else str


def keeping(schedule: Schedule) -> Choose:
    """Return the choices of a schedule."""
    picks = dict(schedule.deviations)
    return lambda point, _: picks.get(point, 0)


class Stage:
    """Plays one program again and again, each time on a clean loop.

    Close it after use: it keeps a loop.
    """

    def __init__(self, program: Program[Any], check: Check[Any] | None = None) -> None:
        if inspect.iscoroutine(program):
            program.close()  # else Python says that it was never awaited
        if not callable(program):
            raise ProgramError(program)
        self._program = program
        self._check = check
        self._loop: ScheduledLoop | None = None
        self.count: int = 0

    def play(self, choose: Choose, *, telling: bool = False) -> PlayedSchedule:
        """Play the program once; raises RuntimeError within a running loop."""
        if asyncio._get_running_loop() is not None:  # noqa: SLF001  # None, and no exception
            raise RuntimeError("a program cannot be explored from a running event loop")
        self.count += 1
        loop = self._loop or ScheduledLoop()
        self._loop = None
        director = Director(choose, telling=telling)
        played = PlayedSchedule(widths=director.widths)
        loop.begin(director)
        try:
            with _uncollected():
                self._fill(played, loop)
        finally:
            loop.end()
            self._leave(loop)
        played.schedule = Schedule(tuple(director.taken))
        played.story = tuple(director.story)
        return played

    def close(self) -> None:
        """Close the loop that is kept."""
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    def _fill(self, played: PlayedSchedule, loop: ScheduledLoop) -> None:
        main = self._program()
        if not inspect.iscoroutine(main):
            raise ProgramError(self._program)
        try:
            played.value = loop.run_until_complete(loop.create_task(main))
            unseen = _unseen(loop)
            if unseen is not None:
                raise UnseenError(unseen)
            played.found = self._checked(played.value)
        except CheckError:
            raise
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  # it is what is looked for
            played.error = error

    def _checked(self, value: object) -> str | None:
        if self._check is None:
            return None
        found: object = self._check(value)
        if not (found is None or (isinstance(found, str) and found)):
            raise CheckError(found)
        return found

    def _leave(self, loop: ScheduledLoop) -> None:
        """Keep a loop in which nothing is left; end what is left, and close it."""
        loop.tasks = []
        if loop.is_clean:
            loop.rewind()
            self._loop = loop
            return
        with asyncio.Runner(loop_factory=lambda: loop):
            pass  # it cancels what waits, and closes the loop


def _unseen(loop: ScheduledLoop) -> str | None:
    """Return the first failure that nobody looked at; of tasks, in their order."""
    for task in loop.tasks:
        if task.done() and getattr(task, "_log_traceback", False):
            error = task.exception()
            return f"{label(task)} failed with {error!r} and nobody looked"
    return loop.unseen[0] if loop.unseen else None


@contextmanager
def _uncollected() -> Generator[None]:
    """Collect no garbage: it may close things, at a time that is not the program's."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()

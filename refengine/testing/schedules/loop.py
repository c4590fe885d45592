"""An event loop on which a schedule decides which task goes on next.

asyncio goes on with whoever became ready first. In another run, on another machine, the
others take longer and another one is first. Here that is a choice: whenever several
tasks could go on there is a *choice point*, and a schedule says where to deviate from
asyncio's own order. Two deviations are possible. Another task goes first, for one step;
or the one whose turn it is is held back until nothing else can go on, as if what it
waits for took long.

Only tasks are chosen from. Callbacks are asyncio's machinery and run in its order.
Time is virtual (``refengine.testing.clock``) and is kept: a longer wait never ends
before a shorter one, and timers that are due together make their tasks ready together.

In the story of a schedule names do not change from run to run: a task has the name it
was given, or its number in the order in which tasks were made, and files are named
without their folder.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextvars import Context
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final, SupportsIndex, TypeAlias, TypeVar

from refengine.testing.clock import VirtualLoop

_KINDS: Final = ("cr", "ag", "gi")
_ASYNCIO: Final = str(Path(asyncio.__file__).parent)


def went_first(task: asyncio.Task[Any], passed: asyncio.Task[Any]) -> str:
    """Return that a task went on though it was another one's turn."""
    return f"{told_of(task)} goes on before {told_of(passed)}"


def were_held(task: asyncio.Task[Any], other: asyncio.Task[Any]) -> str:
    """Return that a task was held back and which one went on instead."""
    return f"{told_of(task)} is held back, {told_of(other)} goes on"


def told_of(task: asyncio.Task[Any]) -> str:
    """Return a task's name and where it is: function, file, line."""
    return f"{label(task)} at {location(task)}"


def label(task: asyncio.Task[Any]) -> str:
    """Return a task's own name, or its number, which is the same in every run."""
    number = getattr(task, "number", None)
    if number is None or getattr(task, "named", False):
        return repr(task.get_name())
    return "the program" if number == 0 else f"task {number}"


def location(task: asyncio.Task[Any]) -> str:
    """Return where a task that waits will go on, without asyncio's own functions."""
    frames = list(_frames(task.get_coro()))
    own = [each for each in frames if not _is_asyncio(each)] or frames
    if not own:
        return "its end"
    at = own[-1]
    code = at.f_code
    line = f"{Path(code.co_filename).name}:{at.f_lineno}"
    begins = "the start of " if _is_new(task) else ""
    return f"{begins}{code.co_qualname.rpartition('<locals>.')[2]} ({line})"


def _frames(waits: object) -> Iterator[FrameType]:
    """Yield the frames of a coroutine and of what it awaits, outermost first."""
    while waits is not None:
        kind = _kind_of(waits)
        if kind is None:
            waits = _inside(waits)
            continue
        frame: FrameType | None = getattr(waits, f"{kind}_frame")
        if frame is not None:
            yield frame
        waits = getattr(waits, "gi_yieldfrom" if kind == "gi" else f"{kind}_await")


def _kind_of(waits: object) -> str | None:
    """Return how the attributes of a coroutine or generator begin."""
    return next((each for each in _KINDS if hasattr(waits, f"{each}_frame")), None)


def _inside(waits: object) -> object:
    """Return the generator or coroutine in what ``await`` made of it, if there is one.

    Python tells nobody but its collector which one that is.
    """
    if isinstance(waits, asyncio.Future):
        return None
    inside = gc.get_referents(waits)
    return next((each for each in inside if _kind_of(each) is not None), None)


def _is_asyncio(frame: FrameType) -> bool:
    return str(Path(frame.f_code.co_filename).parent) == _ASYNCIO


def _is_new(task: asyncio.Task[Any]) -> bool:
    coro = task.get_coro()
    made = inspect.CORO_CREATED
    return inspect.iscoroutine(coro) and inspect.getcoroutinestate(coro) == made


T = TypeVar("T")

HELD: Final = -1
"""A pick: the task whose turn it is is held back."""

PATIENCE: Final = 200
"""Steps of others after which a task that is held back goes on in any case.

Else one that asks again and again whether another is done would be asked for ever.
"""

STEPS: Final = 100_000
"""Steps after which a program is taken to be without an end."""

Choose: TypeAlias = Callable[[int, int], int]
"""Takes the number of a choice point and of its tasks; returns a pick, 0 for none."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Where a program deviates from asyncio's own order.

    ``deviations`` are pairs in order: the number of a choice point, and which of its
    tasks goes first there (1 is the second in line), or ``HELD``. At every other
    choice point the first in line goes on. It is a value: its repr can be pasted.
    """

    deviations: tuple[tuple[int, int], ...] = ()


class DeadlockError(Exception):
    """Nothing can go on: every task waits, and no timer will wake one."""

    def __init__(self, waiting: Sequence[str]) -> None:
        self.waiting: tuple[str, ...] = tuple(waiting)
        super().__init__(
            f"nothing can go on and no timer is set: {'; '.join(waiting)};"
            " make sure that something wakes one of them"
        )


class EndlessError(Exception):
    """A program did not come to its end."""

    def __init__(self) -> None:
        super().__init__(
            f"no end after {STEPS} steps: something goes on for ever, or the program"
            " is too long to be explored; give it less to do"
        )


class NumberedTask(asyncio.Task[T]):
    """A task whose hash is its number, so that sets of tasks keep one order."""

    def __init__(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        number: int,
        **more: Any,  # noqa: ANN401  # as asyncio.Task, whose arguments grow
    ) -> None:
        self.number = number
        self.named: bool = more.get("name") is not None
        super().__init__(coro, **more)

    def set_name(self, value: object, /) -> None:
        """Name it, as ``asyncio.create_task`` does once the task is made."""
        self.named = True
        super().set_name(value)

    def __hash__(self) -> int:
        return self.number


class Director:
    """Decides who goes on, and keeps what there was to choose from.

    ``widths`` has the number of tasks at each choice point, ``taken`` the deviations,
    ``story`` a line for each of them if ``telling``.
    """

    def __init__(self, choose: Choose, *, telling: bool = False) -> None:
        self.widths: list[int] = []
        self.taken: list[tuple[int, int]] = []
        self.story: list[str] = []
        self._choose = choose
        self._telling = telling
        self._steps = 0
        self._held: dict[asyncio.Handle, int] = {}

    def next(self, ready: Sequence[asyncio.Handle]) -> asyncio.Handle:
        """Return which of what is ready goes on; raises EndlessError."""
        self._steps += 1
        if self._steps > STEPS:
            raise EndlessError
        self._lose_patience()
        live = [each for each in ready if not each.cancelled()]
        free = [each for each in live if each not in self._held]
        if not live or (free and task_of(free[0]) is None):
            return free[0] if free else ready[0]
        line = [each for each in free if task_of(each) is not None]
        line += [each for each in self._held if each in live]
        chosen = line[0] if len(line) == 1 else self._chosen(line)
        self._held.pop(chosen, None)
        return chosen

    def _chosen(self, line: Sequence[asyncio.Handle]) -> asyncio.Handle:
        point = len(self.widths)
        self.widths.append(len(line))
        pick = self._choose(point, len(line))
        if pick == 0 or not HELD <= pick < len(line):
            return line[0]
        self.taken.append((point, pick))
        if self._telling:
            self.story.append(_line_of(line, pick))
        if pick != HELD:
            return line[pick]
        self._held.pop(line[0], None)  # held again, it is the last of those
        self._held[line[0]] = self._steps
        return line[1]

    def _lose_patience(self) -> None:
        long_ago = self._steps - PATIENCE
        late = [each for each, since in self._held.items() if since < long_ago]
        for each in late:
            del self._held[each]


def _line_of(line: Sequence[asyncio.Handle], pick: int) -> str:
    """Return what is told of one deviation."""
    tasks = [task for each in line if (task := task_of(each)) is not None]
    if pick == HELD:
        return were_held(tasks[0], tasks[1])
    return went_first(tasks[pick], tasks[0])


def task_of(handle: asyncio.Handle) -> asyncio.Task[Any] | None:
    """Return the task that a handle goes on with, None if it is a callback."""
    callback = getattr(handle, "_callback", None)
    task: asyncio.Task[Any] | None = getattr(callback, "__self__", None)
    return task if isinstance(task, asyncio.Task) else None


class _Ready(deque[asyncio.Handle]):
    """What asyncio's loop takes from the left; here the director says what that is."""

    director: Director | None = None

    def popleft(self) -> asyncio.Handle:
        """Take out what goes on next."""
        if self.director is None:
            return super().popleft()
        chosen = self.director.next(self)
        del self[_index(self, chosen)]
        return chosen


def _index(ready: Sequence[asyncio.Handle], handle: asyncio.Handle) -> SupportsIndex:
    """Return where a handle stands, by identity: timers compare by time."""
    return next(at for at, each in enumerate(ready) if each is handle)


class ScheduledLoop(VirtualLoop):
    """A loop on virtual time whose order is a director's."""

    def __init__(self) -> None:
        super().__init__()
        # Where asyncio looks for what is ready.
        self._ready = self._line = _Ready()
        self.tasks: list[NumberedTask[Any]] = []
        self.unseen: list[str] = []

    def begin(self, director: Director) -> None:
        """Let the director decide from now, until ``end``."""
        self._line.director = director
        self.tasks = []
        self.unseen = []

    def end(self) -> None:
        """Go on in asyncio's own order."""
        self._line.director = None

    def create_task(  # type: ignore[override]  # its arguments grow with Python
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
        **more: Any,  # noqa: ANN401  # as NumberedTask
    ) -> asyncio.Task[T]:
        """Make a task and keep it: its number is the same in every run."""
        more |= {"loop": self, "name": name, "context": context}
        task = NumberedTask(coro, len(self.tasks), **more)
        self.tasks.append(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what asyncio would only log."""
        error = context.get("exception")
        told = "" if error is None else f": {type(error).__name__}: {error}"
        self.unseen.append(f"{context.get('message')}{told}")

    def _run_once(self) -> None:
        if self._line.director is not None and self._is_stuck():
            waiting = [told_of(each) for each in self.tasks if not each.done()]
            raise DeadlockError(waiting)
        super()._run_once()  # type: ignore[misc]  # asyncio keeps it to itself

    def _is_stuck(self) -> bool:
        """Whether nothing is ready and nothing but a file or a thread could wake it."""
        known: Any = self  # what asyncio keeps to itself
        timers: Sequence[asyncio.TimerHandle] = known._scheduled  # noqa: SLF001  # as said
        return not (
            known._stopping  # noqa: SLF001  # as said
            or self._jump.files > 1  # its own is that by which threads wake it
            or any(not each.cancelled() for each in self._line)
            or any(not each.cancelled() for each in timers)
        )

"""What is kept of a run, so that it can go on later and elsewhere (contract SER, §5).

A run that is kept is a row of steps. Each says what changed since the one before: its
messages as a splice (keep the first ``keep``, then these), its run-local values by key,
and the point at which the run stands. Folding them gives a ``Saved``, from which
another process goes on. How a step becomes bytes is told in ``refengine.state``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Protocol, TypeAlias

from refengine.events import AgentAction
from refengine.interrupts import Address, Pending
from refengine.messages import Json, Message, MessageChunk

Phase: TypeAlias = Literal[
    "iteration", "before", "model", "after", "tools", "after_agent", "end"
]
"""Where a run stands: before an iteration, in one of its parts, or at its end."""
GONE: Final = object()
"""Stands for the value of a run-local key that was deleted."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of a call that a wrapper has seen: its class by name, and its text.

    ``layer`` is the place of the wrapper that raised it, -1 for tool or model.
    ``base`` is the nearest of Python's own classes that it can be caught by again, None
    if that is ``kind`` or there is none.
    """

    kind: str
    text: str
    layer: int
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """What an entry changed besides what it gave; None is what it did not change.

    ``name``, ``arguments`` and ``call_id`` stand in the input of a tool call, which
    wrappers may change in place. ``taken`` is the id that the call goes by since, where
    a profile lets wrappers choose it; ``ignored`` a name and id that were asked for in
    vain; ``action`` what the call asks of the run besides.
    """

    name: str | None = None
    arguments: str | None = None
    call_id: str | None = None
    taken: str | None = None
    ignored: tuple[str, str] | None = None
    action: AgentAction | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one entry into a hook, a wrapper, a tool or a model.

    One that is ``done`` has its result: a text (tool), a message (model), the chunks of
    either in a stream, or a failure, perhaps after chunks. One that is not is entered
    again; then ``inner`` are the calls it had made, ``answers`` what it was told, and
    ``asked`` the questions that were.
    ``action`` is what a tool call asks of the run besides, ``changes`` what a finished
    entry changed in the input of its call.
    """

    hook: str
    owner: str
    done: bool = False
    text: str | None = None
    message: Message | None = None
    chunks: tuple[str | MessageChunk, ...] | None = None
    failure: Failure | None = None
    inner: tuple[Entry, ...] = ()
    answers: tuple[Json, ...] = ()
    asked: tuple[Json, ...] = ()
    waiting: Pending | None = None
    action: AgentAction | None = None
    changes: Changes | None = None


@dataclass(frozen=True, slots=True)
class Splice:
    """A sequence of messages as a change of another: keep its first, then these."""

    keep: int = 0
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """Where the run stands after a step, and what going on from there needs.

    ``at`` is the hook of a pass that is entered next, by its place. ``ctx`` are the
    values that finished hooks of this iteration left in the context. ``sent`` is what
    the model is sent, where that is not the history. ``entries`` are the calls of the
    message in order, or the one hook or model call that was interrupted; None stands
    for a call that has not begun. ``attempt`` counts the calls of the model in this
    iteration, from 1. ``shown`` are the tools the model was told, ``told`` the places
    of calls whose events the consumer has had. ``answer`` is the response that decides
    how the run goes on, or what it ends with. ``used`` are the addresses that questions
    of this iteration have had: no other question gets one of them.
    """

    phase: Phase = "iteration"
    at: int = 0
    ctx: Mapping[str, object] = field(default_factory=dict[str, object])
    sent: Splice | None = None
    entries: tuple[Entry | None, ...] = ()
    attempt: int = 1
    shown: tuple[str, ...] | None = None
    told: tuple[int, ...] = ()
    answer: Message | None = None
    status: str | None = None
    used: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True)
class Start:
    """What does not change in a run: whose it is, and how it began.

    ``given`` is how many of the first step's messages the caller gave; one more stands
    before them if the engine put the instruction first (``has_first``).
    """

    agent: str
    profile: str
    streaming: bool
    given: int
    has_first: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One record of a run. ``start`` is set in the first one, and only there.

    ``locals`` are the run-local values that changed, ``GONE`` for those deleted.
    """

    seq: int
    iteration: int
    splice: Splice
    point: Point
    locals: Mapping[str, object] = field(default_factory=dict[str, object])
    pending: tuple[Pending, ...] = ()
    start: Start | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """A run as its steps leave it; ``steps`` is how many there are."""

    start: Start
    steps: int
    iteration: int
    messages: tuple[Message, ...]
    locals: Mapping[str, object]
    point: Point
    pending: tuple[Pending, ...]
    given: tuple[Message, ...]
    first: Message | None = None


class TypeRegistry(Protocol):
    """Knows which values can be kept; ``refengine.Types`` is one."""

    def pack(self, value: object, *, at: str = "") -> object:
        """Return the value as a tree of JSON; raises Refused."""
        ...

    def unpack(self, tree: object, *, at: str = "") -> object:
        """Return the value that was packed."""
        ...

    def check_extra(self, extra: Mapping[str, Json], *, at: str = "extra") -> None:
        """Raise Refused if a message's ``extra`` would not come back as it is."""
        ...


class Keeper(Protocol):
    """Keeps the steps of runs by key; ``refengine.state.Checkpoints`` is one."""

    @property
    def types(self) -> TypeRegistry:
        """The registry by which values that are kept are checked and packed."""
        ...

    async def write(self, key: str, step: Step) -> None:
        """Keep a step; it is safe when this returns.

        Raises CheckpointConflictError if another step of that number is kept already,
        which also is so if a new run (``step.seq`` 0) is given a key that is in use.
        """
        ...

    async def read(self, key: str) -> Saved:
        """Return the run under that key; raises CheckpointNotFoundError."""
        ...


def folded(steps: Sequence[Step]) -> Saved:
    """Return the run that these steps, from the first one on, leave."""
    first = steps[0]
    if first.start is None:
        raise AssertionError
    messages: list[Message] = []
    values: dict[str, object] = {}
    for step in steps:
        del messages[step.splice.keep :]
        messages += step.splice.messages
        values.update(step.locals)
    own = int(first.start.has_first)
    given = first.splice.messages
    last = steps[-1]
    return Saved(
        first.start,
        len(steps),
        last.iteration,
        tuple(messages),
        {key: value for key, value in values.items() if value is not GONE},
        last.point,
        last.pending,
        given[own:],
        given[0] if own else None,
    )


def entries_in(root: Entry) -> Iterator[Entry]:
    """Yield an entry and all within it, outermost first."""
    left = [root]
    while left:
        at = left.pop()
        yield at
        left.extend(reversed(at.inner))


def pending_in(root: Entry) -> Iterator[Pending]:
    """Yield what an entry and those within it wait for."""
    return (each.waiting for each in entries_in(root) if each.waiting is not None)


def answered(root: Entry, answer: Callable[[Pending], tuple[Json, ...]]) -> Entry:
    """Return an entry in which what was asked has its answer, where there is one.

    ``answer`` gives it, or nothing. Without recursion: an onion is deeper than Python.
    """
    made: dict[int, Entry] = {}
    for each in reversed([*entries_in(root)]):  # those within stand behind
        inner = tuple(made[id(one)] for one in each.inner)
        given = () if each.waiting is None else answer(each.waiting)
        made[id(each)] = replace(each, inner=inner)
        if each.waiting is not None and given:
            made[id(each)] = replace(
                made[id(each)],
                answers=(*each.answers, *given),
                asked=(*each.asked, each.waiting.payload),
                waiting=None,
            )
    return made[id(root)]


def goes_on(root: Entry) -> bool:
    """Tell whether an interrupted call is entered again, or waits further.

    Those innermost that were left open decide: one of them has its answer, or never
    asked.
    """
    left = [root]
    while left:
        at = left.pop()
        within = [each for each in at.inner if not each.done]
        if not within and at.waiting is None:
            return True
        left.extend(within)
    return False

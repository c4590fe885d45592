"""A pass of hooks in an agent that keeps its runs: it can stop before any of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from refengine.chain import LayerName, Pipeline
from refengine.interrupts import Interrupt
from refengine.messages import History, as_history
from refengine.resume.journal import LiveEntry, refuse_other
from refengine.struct_middleware import LegacyPass, Rewrite, StateCell

if TYPE_CHECKING:
    from refengine.context import Context
    from refengine.interrupts import Pending
    from refengine.messages import Message
    from refengine.resume.checkpoint import Entry
    from refengine.resume.steps import StepWriter


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a pass was interrupted: before which hook, and what it had come to."""

    at: int
    ctx: Context
    messages: History
    entry: Entry
    pending: Pending


Phases = Sequence["LegacyPass | Pipeline"]


class KeptPass:
    """The hooks of one pass, one by one."""

    __slots__ = ("_phases", "_stop", "_writer")

    def __init__(self, phases: Phases, writer: StepWriter) -> None:
        self._phases = phases
        self._writer = writer
        self._stop: Stop | None = None

    def stopped(self) -> Stop:
        """Return where the pass was interrupted."""
        if self._stop is None:
            raise AssertionError
        return self._stop

    async def rewrite(
        self,
        ctx: Context,
        messages: Sequence[Message],
        cell: StateCell,
        *,
        start: int = 0,
        entered_at: int = 0,
        entry: Entry | None = None,
    ) -> tuple[Context, Sequence[Message]]:
        """Send a history through the hooks from ``start`` on.

        ``entry`` is what is known of the hook at ``entered_at``, which interrupted the
        run. Raises what the hooks raise, NotKeepableError, or Interrupt (``stopped``).
        """
        hooks = list(self._hooks(cell))
        self._refuse_gone(entry, entered_at, [name for _, name, _ in hooks])
        for at, name, enter in hooks:
            if at < start:
                continue
            live = self._live(name, entry if at == entered_at else None)
            old = ctx, _fixed(messages)
            try:
                ctx, messages = await live.enclosed(enter, ctx, messages)
            except Interrupt as stop:
                await live.stop(stop)
                self._stop = Stop(at, *_kept(*old), live.entry(), live.pending)
                raise
            self._writer.hook(name, (ctx, messages), old)
        return ctx, messages

    async def observe(
        self,
        ctx: Context,
        value: History,
        start: int = 0,
        entry: Entry | None = None,
    ) -> None:
        """Show a history to the hooks from ``start`` on; raises as ``rewrite``."""
        pipelines = [each for each in self._phases if isinstance(each, Pipeline)]
        hooks = [each for one in pipelines for each in one.one_by_one()]
        self._refuse_gone(entry, start, [name for name, _ in hooks])
        for at, (name, hook) in enumerate(hooks[start:], start):
            live = self._live(name, entry if at == start else None)
            try:
                new = await live.enclosed(hook.observe, ctx, value)
            except Interrupt as stop:
                await live.stop(stop)
                self._stop = Stop(at, ctx, value, live.entry(), live.pending)
                raise
            self._writer.hook(name, (new, value), (ctx, value))
            ctx = new

    def _hooks(self, cell: StateCell) -> Iterator[tuple[int, LayerName, Rewrite]]:
        at = 0
        for phase in self._phases:
            found: list[tuple[LayerName, Rewrite]] = (
                [(name, one.rewrite) for name, one in phase.one_by_one()]
                if isinstance(phase, Pipeline)
                else phase.one_by_one(cell)
            )
            for name, enter in found:
                yield at, name, enter
                at += 1

    def _refuse_gone(
        self, entry: Entry | None, at: int, names: Sequence[LayerName]
    ) -> None:
        """Raise ChangedAgentError if the hook that entered_at is there no more."""
        if at >= len(names):
            refuse_other("a hook", entry, None)

    def _live(self, name: LayerName, entry: Entry | None) -> LiveEntry:
        """Return the place of a hook; raises ChangedAgentError if another one stood."""
        refuse_other("a hook", entry, (name.hook, name.owner))
        return self._writer.journal.root(name.hook, name.owner, entry)


def _fixed(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages as they are now; what cannot change is not copied.

    A hook may edit a list in place that another one left, and then interrupt the run.
    """
    same = isinstance(messages, (History, tuple))
    return messages if same else tuple(messages)


def _kept(ctx: Context, messages: Sequence[Message]) -> tuple[Context, History]:
    return ctx, as_history(messages)

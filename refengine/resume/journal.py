"""The journal of a run: its entries into hooks, wrappers, tools and models.

A coroutine cannot be stored. So on resume whatever stood on the stack is entered again,
and what it had finished gives what it gave (contract INT).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from refengine.chain import INNERMOST
from refengine.interrupts import ENTERED, Address, Interrupt, Pending, interrupt_in
from refengine.resume.checkpoint import Changes, Entry, answered, goes_on
from refengine.resume.errors import ChangedAgentError
from refengine.resume.keepable import check
from refengine.resume.outcome import Blame, Outcome, blamed, failure_of

if TYPE_CHECKING:
    from refengine.chain import CallScope
    from refengine.messages import Json
    from refengine.resume.checkpoint import Saved, TypeRegistry


T = TypeVar("T")


class LiveEntry:
    """One entry, and those within it in the order they were made."""

    __slots__ = (
        "_asked",
        "_call",
        "_hook",
        "_inner",
        "_journal",
        "_made",
        "_outer",
        "_owner",
        "_raised",
        "_waiting",
        "_within",
        "answers",
        "changes",
        "done",
        "gave",
        "old",
        "questions",
        "reentry",
        "stopped",
    )

    def __init__(
        self,
        journal: Journal,
        hook: str,
        owner: str,
        old: Entry | None,
        call: tuple[str, str] | None,
        outer: LiveEntry | None = None,
    ) -> None:
        self._journal = journal
        self._hook = hook
        self._owner = owner
        self.old: Entry | None = old
        self._call = call
        self._inner: list[LiveEntry] = []
        self._asked = 0
        self._waiting: Pending | None = None
        self._made: Entry | None = None
        self._outer = outer
        self._raised: Interrupt | None = None
        self._within: Interrupt | None = None
        self.gave: Outcome = Outcome()
        self.changes: Changes | None = None
        self.stopped: Interrupt | None = None
        self.done: bool = False
        self.reentry: bool = False
        self.answers: tuple[Json, ...] = ()
        self.questions: tuple[Json, ...] = ()
        if old is not None:
            self.recall(old)

    def recall(self, old: Entry) -> None:
        """Know again what was kept of this entry."""
        self.changes = old.changes
        self.done = old.done
        self.reentry = not old.done
        self.answers = old.answers
        self.questions = old.asked

    @property
    def where(self) -> tuple[str, str]:
        """The name of the extension or tool, and its hook."""
        return self._owner, self._hook

    @property
    def pending(self) -> Pending:
        """What an interrupt that left this entry asks; raises before there is one."""
        if self.stopped is None or self.stopped.pending is None:
            raise AssertionError
        return self.stopped.pending

    def enter(self, hook: str, owner: str) -> LiveEntry:
        """Return the next entry within this one: as it was, or a new one.

        Raises ChangedAgentError if another layer stood there when the run was kept, and
        an interrupt that was caught here: what comes after it is done when it has its
        answer, and not before as well.
        """
        stopped = self.swallowed()
        if stopped is not None:
            raise stopped
        at = len(self._inner)
        known = () if self.old is None else self.old.inner
        old = known[at] if at < len(known) else None
        refuse_other("a layer", old, (hook, owner))
        made = LiveEntry(self._journal, hook, owner, old, self._call, self)
        self._inner.append(made)
        return made

    async def enclosed(self, call: Callable[..., Awaitable[T]], *given: Any) -> T:  # noqa: ANN401  # what the call takes
        """Return what the call gives, which is made within this entry.

        An interrupt that was raised within comes out whatever became of it: swallowed,
        turned into an error, or held by the group of a TaskGroup.
        """
        token = ENTERED.set(self)
        try:
            result = await call(*given)
        except (Exception, BaseExceptionGroup) as error:
            stopped = interrupt_in(error) or self.swallowed()
            if stopped is None:
                raise
            raise stopped from error
        finally:
            ENTERED.reset(token)
        stopped = self.swallowed()
        if stopped is not None:
            raise stopped
        return result

    async def around(self, call: Callable[..., Awaitable[T]], *given: Any) -> T:  # noqa: ANN401  # as enclosed
        """Return what a call gives that is made within this entry, wherever one is."""
        token = ENTERED.set(self)
        try:
            return await call(*given)
        finally:
            ENTERED.reset(token)

    def ask(self, payload: Json) -> Json:
        """Return the next answer; raises Interrupt if there is none yet."""
        at = self._asked
        self._asked += 1
        check(self._journal.types, payload, self.where, "payload")
        if at < len(self.answers):
            if at < len(self.questions) and payload != self.questions[at]:
                # Else the yes to one question would be one to another.
                raise ChangedAgentError("a question", self.questions[at], payload)
            return self._journal.copied(self.answers[at])
        stop = Interrupt(self._journal.copied(payload))
        self._raised = self._raised or stop
        raise stop

    def forget(self, stop: Interrupt) -> None:
        """Take back a question of an open stream: it became an error by name."""
        if self._raised is stop:
            self._raised = None

    def again(self, blame: Blame) -> Any:  # noqa: ANN401  # what a layer of either kind of onion gave
        """Return what this entry gave when it was made, or raise it again."""
        if self.old is None:
            raise AssertionError
        return self.gave.again(self.old, blame, tool=self._call is not None)

    def finished(self, result: Any) -> Any:  # noqa: ANN401  # as ``again``
        """Note what was given; a stream is given on as one whose chunks are kept."""
        self._end()
        return self.gave.take(result)

    def failed(self, error: Exception, layer: int) -> None:
        """Note that an error was given, which a wrapper around may have caught."""
        self._end()
        self.gave.fail(error, layer)

    async def stop(self, stop: Interrupt) -> None:
        """Note that an interrupt left this entry; the first one it leaves raised it.

        What was opened within is read to its end: it cannot be opened again.
        Raises NotKeepableError if what is asked cannot be kept.
        """
        if stop.pending is None and self._raised is not None:
            stop.payload = self._raised.payload
        self.stopped = stop
        if self._outer is not None:
            self._outer.left_by(stop)
        for inner in self._inner:
            await inner.gave.read_rest()
        if stop.pending is None:
            check(self._journal.types, stop.payload, self.where, "payload")
            stop.pending = self._pending(stop.payload)
            self._waiting = stop.pending
        self._made = self._unfinished()

    def left_by(self, stop: Interrupt) -> None:
        """Note that an interrupt left an entry within; of several the first counts."""
        self._within = self._within or stop

    def swallowed(self) -> Interrupt | None:
        """Return an interrupt that was raised here or within and did not come out."""
        return self._within or self._raised if self._journal.raises_again else None

    def entry(self) -> Entry:
        """Return what is known of this entry, to be kept."""
        if not self.done:
            return self._made or self._unfinished()
        return self.gave.entry(self._hook, self._owner, self.changes)

    def failed_stream(
        self, scope: CallScope, chunks: Sequence[object], error: Exception
    ) -> Entry:
        """Return what is kept of a call whose stream was told and then failed."""
        failure = failure_of(error, blamed(scope, error, INNERMOST))
        texts = tuple(each for each in chunks if isinstance(each, str))
        told = Entry(self._hook, self._owner, done=True)
        return replace(told, chunks=texts, failure=failure)

    def _unfinished(self) -> Entry:
        """Return this entry with those within it, and those it had not come to again.

        Those within were stopped before it and have made theirs, so that an onion of
        10,000 layers is not recursion.
        """
        known = () if self.old is None else self.old.inner
        made = tuple(each.entry() for each in self._inner)
        return Entry(
            self._hook,
            self._owner,
            inner=(*made, *known[len(made) :]),
            answers=self.answers,
            asked=self.questions,
            waiting=self._waiting,
        )

    def _pending(self, payload: Json) -> Pending:
        """Return what is asked with its address: that which it had, if it had one."""
        before = None if self.old is None else self.old.waiting
        if before is not None and before.payload == payload:
            return before
        return Pending(self._address(), payload)

    def _address(self) -> Address:
        tool, call_id = self._call or (None, None)
        journal = self._journal
        address = Address(
            *(journal.run_path, journal.iteration, self._hook, self._owner),
            *(tool, call_id, 1 + len(self.answers)),
        )
        return journal.asks(address)

    def _end(self) -> None:
        """Let go of what was entered within: it becomes what this one gave."""
        self.done = True
        for inner in self._inner:
            inner.gave.let_go()
        self._inner = []


def refuse_other(what: str, kept: Entry | None, now: tuple[str, str] | None) -> None:
    """Raise ChangedAgentError if another hook was kept than ``now``: hook and owner.

    ``now`` is None where the agent has none in its place: a gate would be passed
    because it was taken away.
    """
    if kept is None or (kept.hook, kept.owner) == now:
        return
    has = "none in its place" if now is None else f"{now[0]} of {now[1]}"
    raise ChangedAgentError(what, f"{kept.hook} of {kept.owner}", has)


def here() -> LiveEntry | None:
    """Return the entry around this point, of a run that is kept.

    None where a stream is read whose source goes on after its entry has ended.
    """
    return cast("LiveEntry | None", ENTERED.get())


class Journal:
    """What all entries of one run share."""

    __slots__ = (
        "addresses",
        "answers",
        "iteration",
        "raises_again",
        "run_path",
        "types",
    )

    def __init__(
        self, run_path: tuple[str, ...], types: TypeRegistry, *, raises_again: bool
    ) -> None:
        self.run_path: tuple[str, ...] = run_path
        self.types: TypeRegistry = types
        self.raises_again: bool = raises_again
        self.iteration: int = 0
        self.answers: Mapping[str, Json] | None = None
        self.addresses: set[Address] = set()

    def asks(self, address: Address) -> Address:
        """Return the address, made another one if something waits under it already."""
        while address in self.addresses:
            address = replace(address, ordinal=address.ordinal + 1)
        self.addresses.add(address)
        return address

    def root(
        self,
        hook: str,
        owner: str,
        old: Entry | None = None,
        *,
        call: tuple[str, str] | None = None,
    ) -> LiveEntry:
        """Return the outermost entry of a hook, or of a call ``(tool, call id)``."""
        return LiveEntry(self, hook, owner, old, call)

    def go_on(self, saved: Saved, answers: Mapping[str, Json] | None) -> Saved:
        """Return the run with these answers given; None answers all with None.

        What is asked from now on gets no address that was taken already.
        """
        self.answers = answers
        self.addresses.update(saved.point.used)
        if not saved.pending:
            return saved
        self.addresses.update(each.address for each in saved.pending)
        given = self.answered
        entries = tuple(e and answered(e, given) for e in saved.point.entries)
        left = tuple(each for each in saved.pending if not given(each))
        point = replace(saved.point, entries=entries)
        return replace(saved, point=point, pending=left)

    def answered(self, waiting: Pending) -> tuple[Json, ...]:
        """Return the answer to what an entry waits for, if it was given one."""
        if self.answers is None:
            return (None,)
        given = str(waiting.address)
        return (self.answers[given],) if given in self.answers else ()

    def goes_on(self, entry: Entry) -> bool:
        """Tell whether an interrupted call is entered again, or waits further."""
        return goes_on(entry)

    def used(self) -> tuple[Address, ...]:
        """Return the addresses that questions of this iteration have had."""
        now = (each for each in self.addresses if each.iteration == self.iteration)
        return tuple(sorted(now, key=str))

    def copied(self, value: Json) -> Json:
        """Return a value as it would come back: what is kept is nobody's to change."""
        return cast("Json", self.types.unpack(self.types.pack(value)))

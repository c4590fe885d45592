"""The journal of an iteration: which hooks and calls were entered, and what they gave.

A coroutine cannot be stored. So on resume whatever stood on the stack is entered again,
and what it had finished gives what it gave: ``Place`` is one entry into a hook, a layer
of an onion, a tool or a model, and knows the entries within it. Only agents that keep
their runs have a journal; for all others nothing here is called.
"""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

from refengine.border import check
from refengine.checkpoint import Address, Changes, Entry, Failure, Pending
from refengine.errors import ChangedAgentError, JournalledError, journalled
from refengine.interrupts import ENTERED, Interrupt, interrupt_in
from refengine.messages import Json, Message, MessageChunk
from refengine.scope import INNERMOST, SCOPE, Scope
from refengine.stream import StreamReader, convert_stream, read_rest
from refengine.tools import StreamToolCallResult, ToolCallResult

if TYPE_CHECKING:
    from refengine.values import Types

T = TypeVar("T")
Blame: TypeAlias = Callable[[BaseException, int], None]
_ALL: Final = None
"""Answers of who resumes without any: everything that waits is entered again."""


class Journal:
    """What all entries of one run share.

    ``answers`` are those of who resumed the run, by the text of an address.
    """

    __slots__ = (
        "_asked",
        "answers",
        "iteration",
        "raises_again",
        "resumed",
        "run_path",
        "types",
    )

    def __init__(
        self, run_path: tuple[str, ...], types: Types, *, raises_again: bool
    ) -> None:
        self.run_path = run_path
        self.types = types
        self.raises_again = raises_again
        self.iteration = 0
        self.resumed = False
        self.answers: Mapping[str, Json] | None = _ALL
        self._asked: set[Address] = set()

    def asks(self, address: Address) -> Address:
        """Return the address, made another one if something waits under it already."""
        while address in self._asked:
            address = replace(address, ordinal=address.ordinal + 1)
        self._asked.add(address)
        return address

    def root(
        self,
        hook: str,
        owner: str,
        old: Entry | None = None,
        *,
        call: tuple[str, str] | None = None,
    ) -> Place:
        """Return the outermost entry of a hook, or of a call ``(tool, call id)``."""
        return Place(self, hook, owner, old, call)

    def answered(self, waiting: Pending | None) -> tuple[Json, ...]:
        """Return the answer to what an entry waits for, if it was given one."""
        if waiting is None or not self.resumed:
            return ()
        if self.answers is None:
            return (None,)
        given = str(waiting.address)
        return (self.answers[given],) if given in self.answers else ()

    def goes_on(self, entry: Entry) -> bool:
        """Tell whether an interrupted call is entered again, or waits further."""
        if self.answers is None:
            return True
        waiting = [each.address for each in pending_in(entry)]
        if not waiting or any(str(each) in self.answers for each in waiting):
            return True
        self._asked.update(waiting)
        return False


class Place:
    """One entry, and those within it in the order they were made."""

    __slots__ = (
        "_answers",
        "_asked",
        "_call",
        "_chunks",
        "_failure",
        "_hook",
        "_inner",
        "_journal",
        "_made",
        "_message",
        "_owner",
        "_raised",
        "_reader",
        "_text",
        "_waiting",
        "changes",
        "done",
        "old",
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
    ) -> None:
        self._journal = journal
        self._hook = hook
        self._owner = owner
        self.old = old
        self._call = call
        self._inner: list[Place] = []
        self._asked = 0
        self._waiting: Pending | None = None
        self._made: Entry | None = None
        self._text: str | None = None
        self._message: Message | None = None
        self._chunks: list[str | MessageChunk] | None = None
        self._reader: StreamReader[Any] | None = None
        self._failure: Failure | None = None
        self._raised: Interrupt | None = None
        self.changes: Changes | None = None if old is None else old.changes
        self.stopped: Interrupt | None = None
        self.done = old is not None and old.done
        self.reentry = old is not None and not old.done
        waiting = None if old is None else old.waiting
        told = () if old is None else old.answers
        self._answers = (*told, *journal.answered(waiting))

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

    def enter(self, hook: str, owner: str) -> Place:
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
        made = Place(self._journal, hook, owner, old, self._call)
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

    def ask(self, payload: Json) -> Json:
        """Return the next answer; raises Interrupt if there is none yet."""
        at = self._asked
        self._asked += 1
        if at < len(self._answers):
            self._refuse_other(at, payload)
            return self._answers[at]
        check(self._journal.types, payload, self.where, "payload")
        stop = Interrupt(payload)
        self._raised = self._raised or stop
        raise stop

    def _refuse_other(self, at: int, payload: Json) -> None:
        """Raise ChangedAgentError where another thing is asked than was answered."""
        waiting = None if self.old is None else self.old.waiting
        told = () if self.old is None else self.old.answers
        if waiting is None or at != len(told) or payload is None:
            return
        if payload != waiting.payload:
            raise ChangedAgentError("a question", waiting.payload, payload)

    def again(self, blame: Blame) -> Any:  # noqa: ANN401  # what a layer of either kind of onion gave
        """Return what this entry gave when it was made, or raise it again."""
        old = cast("Entry", self.old)
        self._keep_old(old)
        if old.chunks is not None:
            stream = StreamReader(_again(old, blame))
            return StreamToolCallResult(stream) if self._call else stream
        if old.failure is not None:
            raise _failed_again(old.failure, blame)
        if old.message is not None:
            return old.message
        return ToolCallResult(old.text or "")

    def finished(self, result: Any) -> Any:  # noqa: ANN401  # as ``again``
        """Note what was given; a stream is given on as one whose chunks are kept."""
        self.done = True
        self._forget_inner()
        if isinstance(result, Message):
            self._message = result
        elif isinstance(result, ToolCallResult):
            self._text = result.result
        elif isinstance(result, StreamToolCallResult):
            return StreamToolCallResult(self._kept(result.result))
        elif isinstance(result, StreamReader):
            return self._kept(cast("Any", result))  # mypy names it, pyright cannot
        return result

    def failed(self, error: Exception, layer: int) -> None:
        """Note that an error was given, which a wrapper around may have caught."""
        self.done = True
        self._forget_inner()
        self._failure = _failure(error, layer)

    async def stop(self, stop: Interrupt) -> None:
        """Note that an interrupt left this entry; the first one it leaves raised it.

        What was opened within is read to its end: it cannot be opened again.
        Raises NotKeepableError if what is asked cannot be kept.
        """
        if stop.pending is None and self._raised is not None:
            stop.payload = self._raised.payload
        self.stopped = stop
        for inner in self._inner:
            await inner.read_rest()
        if stop.pending is None:
            check(self._journal.types, stop.payload, self.where, "payload")
            stop.pending = Pending(self._address(), stop.payload)
            self._waiting = stop.pending
        self._made = self._unfinished()

    def swallowed(self) -> Interrupt | None:
        """Return an interrupt that was raised here or within and did not come out."""
        if not self._journal.raises_again:
            return None
        within = (each.stopped for each in self._inner if each.stopped)
        return next(within, self._raised)

    def entry(self) -> Entry:
        """Return what is known of this entry, to be kept."""
        if not self.done:
            return self._made or self._unfinished()
        chunks = None if self._chunks is None else tuple(self._chunks)
        return Entry(
            *(self._hook, self._owner, True, self._text, self._message),
            *(chunks, self._failure),
            changes=self.changes,
        )

    def failed_stream(
        self, scope: Scope, chunks: Sequence[object], error: Exception
    ) -> Entry:
        """Return what is kept of a call whose stream was told and then failed."""
        failure = _failure(error, blamed(scope, error, INNERMOST))
        texts = tuple(each for each in chunks if isinstance(each, str))
        told = Entry(self._hook, self._owner, done=True)
        return replace(told, chunks=texts, failure=failure)

    def _unfinished(self) -> Entry:
        """Return this entry with those within it, and those it had not come to again.

        Those within were stopped before it and have made theirs, so that an onion of
        10,000 layers is no recursion.
        """
        known = () if self.old is None else self.old.inner
        made = tuple(each.entry() for each in self._inner)
        return Entry(
            self._hook,
            self._owner,
            inner=(*made, *known[len(made) :]),
            answers=self._answers,
            waiting=self._waiting,
        )

    def _address(self) -> Address:
        tool, call_id = self._call or (None, None)
        journal = self._journal
        address = Address(
            *(journal.run_path, journal.iteration, self._hook, self._owner),
            *(tool, call_id, 1 + len(self._answers)),
        )
        return journal.asks(address)

    def _kept(self, reader: StreamReader[Any]) -> StreamReader[Any]:
        self._chunks = []
        self._reader = convert_stream(reader, self._keep)
        return self._reader

    def _keep(self, chunk: Any) -> Any:  # noqa: ANN401  # of a tool or of a model
        if self._chunks is not None:
            self._chunks.append(chunk)
        return chunk

    async def read_rest(self) -> None:
        """Read what is left of the stream that was given, for its chunks are kept."""
        if self._reader is None:
            return
        reader, self._reader = self._reader, None
        try:
            await read_rest(reader)
        except Exception as error:  # noqa: BLE001  # it is given again with the chunks
            layer = blamed(SCOPE.get(None), error, INNERMOST)
            self._failure = _failure(error, layer)

    def _keep_old(self, old: Entry) -> None:
        self._text, self._message, self._failure = old.text, old.message, old.failure
        self._chunks = None if old.chunks is None else list(old.chunks)

    def let_go(self) -> None:
        """Keep no chunks further."""
        self._reader = self._chunks = None

    def _forget_inner(self) -> None:
        """Let go of what was entered within: it has become what this one gave."""
        for inner in self._inner:
            inner.let_go()
        self._inner = []


def pending_in(entry: Entry) -> Iterator[Pending]:
    """Yield what an entry and those within it wait for."""
    left = [entry]
    while left:
        at = left.pop()
        if at.waiting is not None:
            yield at.waiting
        left.extend(reversed(at.inner))


def blamed(scope: Scope | None, error: Exception, otherwise: int) -> int:
    """Return the place of the layer that raised an error, which others passed on."""
    faults = (scope and scope.faults) or {}
    return faults[id(error)][1] if id(error) in faults else otherwise


def refuse_other(what: str, kept: Entry | None, now: tuple[str, str] | None) -> None:
    """Raise ChangedAgentError if another hook was kept than ``now``: hook and owner.

    ``now`` is None where the agent has none in its place: a gate would be passed
    because it was taken away.
    """
    if kept is None or (kept.hook, kept.owner) == now:
        return
    has = "none in its place" if now is None else f"{now[0]} of {now[1]}"
    raise ChangedAgentError(what, f"{kept.hook} of {kept.owner}", has)


def here() -> Place:
    """Return the entry around this point, of a run that is kept."""
    return cast("Place", ENTERED.get())


async def _again(old: Entry, blame: Blame) -> AsyncIterator[Any]:
    for chunk in old.chunks or ():
        yield chunk
    if old.failure is not None:
        raise _failed_again(old.failure, blame)


def _failure(error: Exception, layer: int) -> Failure:
    kind = error.kind if isinstance(error, JournalledError) else type(error).__name__
    return Failure(kind, str(error), layer)


def _failed_again(failure: Failure, blame: Blame) -> Exception:
    error = journalled(failure.kind, failure.text)
    blame(error, failure.layer)
    return error

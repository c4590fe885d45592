"""Streams: a single pass, closed once, errors wrapped once (contract STR).

A converted stream keeps a link to the one it came from and flattens the links when it
is first read, so 10,000 conversions are a loop over 10,000 functions and no recursion.
A stream that a wrapper rebuilt with an async generator of its own cannot be flattened;
those are read through ``on_shallow_stack``, which leaves a stack that has grown deep.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Final, Generic, TypeAlias, TypeVar, cast

from refengine.awaiting import on_shallow_stack
from refengine.errors import InterruptInStreamError, StreamConsumedError
from refengine.interrupts import Interrupt, take_back

T = TypeVar("T")
U = TypeVar("U")
ErrorWrapper: TypeAlias = Callable[[Exception], Exception]
_Convert: TypeAlias = Callable[[object], object]
_OnError: TypeAlias = "Callable[[Exception, Exception], None] | None"
_OnBroken: TypeAlias = "Callable[[Exception], None]"


class _Dropped:
    """The type of DROP."""


_SOURCE: Final = -1
"""Stands for the place of a conversion where the source itself raised."""
DROP: Final = _Dropped()
"""What a conversion returns to leave a chunk out."""


class StreamReader(Generic[T]):
    """An async iterator that is read once and can be closed at any time.

    ``error_wrapper`` turns an error of the source into what the consumer sees. It is
    applied once, by the reader that is iterated, however often that was converted:
    seed 000 §3.4 asks every conversion to keep it. An error of a conversion is none of
    the source and stays as it is.
    """

    __slots__ = (
        "_closed",
        "_converts",
        "_deep",
        "_error_wrapper",
        "_from",
        "_notes",
        "_on_broken",
        "_on_error",
        "_on_source_error",
        "_root",
        "_source",
        "_spent",
    )

    def __init__(
        self, source: AsyncIterator[T], *, error_wrapper: ErrorWrapper | None = None
    ) -> None:
        self._source: AsyncIterator[object] = source
        self._from: tuple[StreamReader[object], _Convert] | None = None
        self._root: StreamReader[object] | None = None
        self._converts: tuple[tuple[_Convert, _OnError], ...] | None = None
        self._error_wrapper = error_wrapper
        self._notes: tuple[tuple[int, _OnBroken], ...] = ()
        self._on_broken: _OnBroken | None = None
        self._on_error: _OnError = None
        self._on_source_error: _OnError = None
        self._spent = False
        self._closed = False
        self._deep = False

    def __aiter__(self) -> StreamReader[T]:
        return self

    async def __anext__(self) -> T:
        if self._spent:
            if self._converts is None:  # never opened: convert_stream used it up
                raise StreamConsumedError
            raise StopAsyncIteration
        try:
            return cast("T", await self._pull(self._opened()))
        except Exception:
            self._spent = True
            raise

    async def aclose(self) -> None:
        """Close the source; again, here or where it was converted, does nothing.

        Nothing is flattened for it: an engine closes every reader of a chain of
        conversions, and each would walk the rest of the chain.
        """
        if not self._spent:
            self._spent = True
            self._converts = self._converts or ()
        root = self._root or self
        if root._closed:
            return
        root._closed = True
        close = getattr(self._source, "aclose", None)
        if close is not None:
            await (on_shallow_stack(close) if self._deep else close())

    async def _pull(self, converts: tuple[tuple[_Convert, _OnError], ...]) -> object:
        blame = self._on_source_error
        chunk: object = DROP  # also while the source is waited for
        convert: _Convert | None = None
        try:
            while True:
                blame = self._on_source_error
                pull = self._source.__anext__
                chunk = await (on_shallow_stack(pull) if self._deep else pull())
                for convert, blame in converts:  # noqa: B007  # for the except below
                    chunk = convert(chunk)
                    if chunk is DROP:
                        break
                else:
                    return chunk
        except StopAsyncIteration:
            raise
        except Interrupt as stop:
            # Whoever reads has had the first chunks, and they cannot be taken back.
            take_back(stop)
            raise InterruptInStreamError from stop
        except Exception as error:
            at = _SOURCE if chunk is DROP else _index_of(converts, convert)
            seen = self._seen_by_reader(error, at, blame)
            if seen is error:
                raise
            raise seen from error

    def _seen_by_reader(self, error: Exception, at: int, blame: _OnError) -> Exception:
        """Return what the reader sees of an error, once all are told who have to know.

        ``at`` is the place of the conversion that raised it. Streams further in than
        that have not failed.
        """
        wrapper = self._error_wrapper if at == _SOURCE else None
        seen = error if wrapper is None else wrapper(error)
        if blame is not None:
            blame(error, seen)
        for index, note in self._notes:
            if index > at:
                note(seen)
        return seen

    def _opened(self) -> tuple[tuple[_Convert, _OnError], ...]:
        """Flatten the links to the stream this one came from, at the first use."""
        if self._converts is None:
            self._converts = self._links()
            self._from = None
        return self._converts

    def _links(self) -> tuple[tuple[_Convert, _OnError], ...]:
        converts: list[tuple[_Convert, _OnError]] = []
        notes: list[tuple[int, _OnBroken]] = []
        blame: _OnError = None  # one that nobody looks after belongs to whoever went on
        at: StreamReader[object] = cast("StreamReader[object]", self)
        while at._from is not None:
            blame = at._on_error or blame
            if at._on_broken is not None:
                notes.append((len(converts), at._on_broken))
            at, convert = at._from
            converts.append((convert, blame))
        self._on_source_error = at._on_error or blame
        self._notes = tuple((len(converts) - n, note) for n, note in notes)
        return tuple(reversed(converts))


def _index_of(
    converts: tuple[tuple[_Convert, _OnError], ...], failed: _Convert | None
) -> int:
    places = (at for at, (each, _) in enumerate(converts) if each is failed)
    return next(places, _SOURCE)


def convert_stream(reader: StreamReader[T], fn: Callable[[T], U]) -> StreamReader[U]:
    """Return a stream of ``fn(chunk)``; chunks that become DROP are left out.

    The error wrapper is kept and still applied once. ``reader`` itself is used up:
    raises StreamConsumedError if it was read, converted or closed before, and reading
    it later does.
    """
    if reader._converts is not None or reader._spent:
        raise StreamConsumedError
    made = cast("StreamReader[U]", object.__new__(StreamReader))
    made._source = reader._source
    made._from = (cast("StreamReader[object]", reader), cast("_Convert", fn))
    made._root = reader._root or cast("StreamReader[object]", reader)
    made._converts = None
    made._error_wrapper = reader._error_wrapper
    made._notes = ()
    made._on_broken = None
    made._on_error = None
    made._on_source_error = None
    made._spent = False
    made._closed = False
    made._deep = reader._deep
    reader._spent = True
    return made


async def read_rest(reader: StreamReader[T]) -> None:
    """Read what is left of a stream that was handed on, for what its conversions keep.

    It may have been converted further and read in part: what is left comes through the
    conversions up to this one. Raises what the source or a conversion raises.
    """
    links = reader._links() if reader._converts is None else reader._converts
    while True:
        try:
            await reader._pull(links)
        except StopAsyncIteration:
            return

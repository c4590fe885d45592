"""What an entry gave: noted when it is made, and given again when it is not.

A text (tool), a message (model), the chunks of either in a stream, or a failure,
perhaps after chunks (contract INT).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from refengine.chain import INNERMOST, SCOPE
from refengine.messages import Message, MessageChunk
from refengine.resume.checkpoint import Changes, Entry, Failure
from refengine.resume.errors import JournalledError, base_of, journalled
from refengine.stream import StreamReader, convert_stream, read_rest
from refengine.tools import StreamToolCallResult, ToolCallResult

if TYPE_CHECKING:
    from refengine.chain import CallScope

Blame: TypeAlias = Callable[[BaseException, int], None]


class Outcome:
    """What one entry gave; empty until it gives something."""

    __slots__ = ("_chunks", "_failure", "_message", "_reader", "_text")

    def __init__(self) -> None:
        self._text: str | None = None
        self._message: Message | None = None
        self._chunks: list[str | MessageChunk] | None = None
        self._reader: StreamReader[Any] | None = None
        self._failure: Failure | None = None

    def take(self, result: Any) -> Any:  # noqa: ANN401  # of a layer of either kind of onion
        """Note what was given; a stream is given on as one whose chunks are kept."""
        if isinstance(result, Message):
            self._message = result
        elif isinstance(result, ToolCallResult):
            self._text = result.result
        elif isinstance(result, StreamToolCallResult):
            return StreamToolCallResult(self._kept(result.result))
        elif isinstance(result, StreamReader):
            return self._kept(cast("Any", result))  # mypy names it, pyright cannot
        return result

    def fail(self, error: Exception, layer: int) -> None:
        """Note that the layer at that place raised this error."""
        self._failure = failure_of(error, layer)

    def again(self, old: Entry, blame: Blame, *, tool: bool) -> Any:  # noqa: ANN401  # as take
        """Return what an entry, of a tool or of the model, gave; or raise it again."""
        self._text, self._message, self._failure = old.text, old.message, old.failure
        self._chunks = None if old.chunks is None else list(old.chunks)
        if old.chunks is not None:
            stream = StreamReader(_again(old, blame))
            return StreamToolCallResult(stream) if tool else stream
        if old.failure is not None:
            raise _blamed_again(old.failure, blame)
        if old.message is not None:
            return old.message
        return ToolCallResult(old.text or "")

    def entry(self, hook: str, owner: str, changes: Changes | None) -> Entry:
        """Return it as it is kept, for the entry that gave it."""
        chunks = None if self._chunks is None else tuple(self._chunks)
        return Entry(
            *(hook, owner, True, self._text, self._message, chunks, self._failure),
            changes=changes,
        )

    async def read_rest(self) -> None:
        """Read what is left of the stream that was given, for its chunks are kept."""
        if self._reader is None:
            return
        reader, self._reader = self._reader, None
        try:
            await read_rest(reader)
        except Exception as error:  # noqa: BLE001  # it is given again with the chunks
            self._broke(error)

    def let_go(self) -> None:
        """Keep no chunks further."""
        self._reader = self._chunks = None

    def _kept(self, reader: StreamReader[Any]) -> StreamReader[Any]:
        self._chunks = []
        self._reader = convert_stream(reader, self._keep)
        self._reader._on_broken = self._broke  # noqa: SLF001  # engine
        return self._reader

    def _broke(self, error: Exception) -> None:
        """Note the error that whoever reads meets: later it is not met again."""
        self.fail(error, blamed(SCOPE.get(None), error, INNERMOST))

    def _keep(self, chunk: Any) -> Any:  # noqa: ANN401  # of a tool or of a model
        if self._chunks is not None:
            self._chunks.append(chunk)
        return chunk


def blamed(scope: CallScope | None, error: Exception, otherwise: int) -> int:
    """Return the place of the layer that raised an error, which others passed on."""
    faults = (scope and scope.faults) or {}
    return faults[id(error)][1] if id(error) in faults else otherwise


def failure_of(error: Exception, layer: int) -> Failure:
    """Return an error as it is kept; one that was raised again as it was before."""
    kind = error.kind if isinstance(error, JournalledError) else type(error).__name__
    base = base_of(error)
    return Failure(kind, str(error), layer, None if base == kind else base)


async def _again(old: Entry, blame: Blame) -> AsyncIterator[Any]:
    for chunk in old.chunks or ():
        yield chunk
    if old.failure is not None:
        raise _blamed_again(old.failure, blame)


def failed_again(failure: Failure) -> JournalledError:
    """Return the error that was kept, as far as its class can come back."""
    return journalled(failure.kind, failure.text, failure.base)


def _blamed_again(failure: Failure, blame: Blame) -> JournalledError:
    error = failed_again(failure)
    blame(error, failure.layer)
    return error

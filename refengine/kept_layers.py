"""Layers of an onion in an agent that keeps its runs: each entry is in the journal.

As the layers of ``chain``, and besides: what a layer gave is noted, so that a wrapper
around it that is entered again is given just that; and an interrupt that a wrapper did
not let out is raised again (contract INT).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from refengine.errors import NotKeepableError
from refengine.interrupts import ENTERED, Interrupt
from refengine.kept_input import Given, changes, given, put_back
from refengine.outcome import blamed
from refengine.place import here
from refengine.resume.errors import ChangedAgentError
from refengine.scope import INNERMOST, SCOPE, LayerName, Scope
from refengine.stream import StreamReader

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from refengine.chain import Call, Keep, Refuse, Value, Wrap
    from refengine.context import Context
    from refengine.place import Place


def kept_layer(  # what a layer of any onion is made of
    name: LayerName,
    at: int,
    wrap: Wrap,
    inner: Call,
    refuse: Refuse,
    keep: Keep | None,
) -> Call:
    """Return a layer around ``inner`` whose entries are noted."""

    async def enter(ctx: Context, value: Value) -> Value:
        scope = SCOPE.get()
        place = _entered(scope, name.hook, name.owner)
        if place.done:
            put_back(scope, value, place.changes)
            return _looked_after(place.again(scope.blame), at, name, keep)
        before = given(scope, value)
        try:
            result = await place.enclosed(wrap, ctx, value, _within(place, inner))
            refuse(result, name)
            return place.finished(_looked_after(result, at, name, keep))
        except Interrupt as stop:
            await place.stop(stop)
            raise
        except Exception as error:
            scope.blame(error, at)
            place.failed(error, blamed(scope, error, at))
            raise
        finally:
            _note_changes(place, scope, value, before)

    return enter


def kept_call(hook: str, call: Call) -> Call:
    """Return the innermost call, of a tool or of the model, with its entries noted."""

    async def enter(ctx: Context, value: Value) -> Value:
        scope = SCOPE.get()
        owner = "model" if scope.tool is None else scope.tool.info.name
        place = _entered(scope, hook, owner)
        if place.done:
            put_back(scope, value, place.changes)
            return _closed_with(scope, place.again(scope.blame))
        before = given(scope, value)
        try:
            return place.finished(await place.enclosed(call, ctx, value))
        except Interrupt as stop:
            await place.stop(stop)
            raise
        except Exception as error:
            place.failed(error, blamed(scope, error, INNERMOST))
            raise
        finally:
            _note_changes(place, scope, value, before)

    return enter


def _within(place: Place, inner: Call) -> Call:
    """Return the ``next`` of one entry: what it leads to stands within that entry.

    Also where it is called in the generator of a stream, which somebody else reads.
    """

    def call(ctx: Context, value: Value) -> Awaitable[Value]:
        if ENTERED.get() is place:
            return inner(ctx, value)
        return place.around(inner, ctx, value)

    return call


def _entered(scope: Scope, hook: str, owner: str) -> Place:
    """Return the next entry; raises ChangedAgentError, which no call is blamed for."""
    place = here() or scope.place
    if place is None:
        raise AssertionError
    scope.place = scope.place or place
    try:
        return place.enter(hook, owner)
    except ChangedAgentError as error:
        raise scope.own(error) from None


def _note_changes(
    place: Place, scope: Scope, value: Value, before: Given | None
) -> None:
    """Note what a finished entry changed; raises NotKeepableError, as _entered does."""
    if not place.done:
        return
    try:
        place.changes = changes(scope, value, before, place.where)
    except NotKeepableError as error:
        raise scope.own(error) from None


def _looked_after(result: Any, at: int, name: LayerName, keep: Keep | None) -> Any:  # noqa: ANN401  # what a layer of either kind of onion gives
    if keep is not None:
        keep(result, at, name)
    return result


def _closed_with(scope: Scope, result: Any) -> Any:  # noqa: ANN401  # as _looked_after
    """See that a stream which is given again is closed with the call."""
    reader = getattr(result, "result", result)
    if isinstance(reader, StreamReader):
        scope.readers.append(cast("Any", reader))  # pyright cannot name it
    return result

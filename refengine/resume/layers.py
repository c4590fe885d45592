"""Layers of an onion in an agent that keeps its runs: each entry is in the journal.

As the layers of ``chain``, and besides: what a layer gave is noted, so that a wrapper
around it that is entered again is given just that; and an interrupt that a wrapper did
not let out is raised again (contract INT).

What a call changed besides what it gave is noted too: its input in live, and the id it
goes by. A wrapper may change the input it was handed, and one around it that calls
``next`` once more hands on what that left. So an entry that is not made again puts back
what it had changed (contract WRAP). Options are not kept, here as elsewhere. The
request of a model call is frozen: a list that wrappers share in it is theirs to copy.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from refengine.chain import INNERMOST, SCOPE, CallScope, LayerName
from refengine.errors import NotKeepableError, Refused
from refengine.interrupts import ENTERED, Interrupt
from refengine.resume.checkpoint import Changes
from refengine.resume.errors import ChangedAgentError
from refengine.resume.journal import here
from refengine.resume.outcome import blamed
from refengine.stream import StreamReader
from refengine.tools import ToolCallInput

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from refengine.chain import Call, CallScope, Keep, Refuse, Value, Wrap
    from refengine.context import Context
    from refengine.resume.journal import LiveEntry
    from refengine.resume.keepable import Where


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
        live = _entered(scope, name.hook, name.owner)
        if live.done:
            put_back(scope, value, live.changes)
            return _looked_after(live.again(scope.blame), at, name, keep)
        before = given(scope, value)
        try:
            result = await live.enclosed(wrap, ctx, value, _within(live, inner))
            refuse(result, name)
            return live.finished(_looked_after(result, at, name, keep))
        except Interrupt as stop:
            await live.stop(stop)
            raise
        except Exception as error:
            scope.blame(error, at)
            live.failed(error, blamed(scope, error, at))
            raise
        finally:
            _note_changes(live, scope, value, before)

    return enter


def kept_call(hook: str, call: Call) -> Call:
    """Return the innermost call, of a tool or of the model, with its entries noted."""

    async def enter(ctx: Context, value: Value) -> Value:
        scope = SCOPE.get()
        owner = "model" if scope.tool is None else scope.tool.info.name
        live = _entered(scope, hook, owner)
        if live.done:
            put_back(scope, value, live.changes)
            return _closed_with(scope, live.again(scope.blame))
        before = given(scope, value)
        try:
            return live.finished(await live.enclosed(call, ctx, value))
        except Interrupt as stop:
            await live.stop(stop)
            raise
        except Exception as error:
            live.failed(error, blamed(scope, error, INNERMOST))
            raise
        finally:
            _note_changes(live, scope, value, before)

    return enter


def _within(live: LiveEntry, inner: Call) -> Call:
    """Return the ``next`` of one entry: what it leads to stands within that entry.

    Also where it is called in the generator of a stream, which somebody else reads.
    """

    def call(ctx: Context, value: Value) -> Awaitable[Value]:
        if ENTERED.get() is live:
            return inner(ctx, value)
        return live.around(inner, ctx, value)

    return call


def _entered(scope: CallScope, hook: str, owner: str) -> LiveEntry:
    """Return the next entry; raises ChangedAgentError, which no call is blamed for."""
    live = here() or cast("LiveEntry | None", scope.entry)
    if live is None:
        raise AssertionError
    scope.entry = scope.entry or live
    try:
        return live.enter(hook, owner)
    except ChangedAgentError as error:
        raise scope.own(error) from None


def _note_changes(
    live: LiveEntry, scope: CallScope, value: Value, before: Given | None
) -> None:
    """Note what a finished entry changed; raises NotKeepableError, as _entered does."""
    if not live.done:
        return
    try:
        live.changes = changes(scope, value, before, live.where)
    except NotKeepableError as error:
        raise scope.own(error) from None


def _looked_after(result: Any, at: int, name: LayerName, keep: Keep | None) -> Any:  # noqa: ANN401  # what a layer of either kind of onion gives
    if keep is not None:
        keep(result, at, name)
    return result


def _closed_with(scope: CallScope, result: Any) -> Any:  # noqa: ANN401  # as _looked_after
    """See that a stream which is given again is closed with the call."""
    reader = getattr(result, "result", result)
    if isinstance(reader, StreamReader):
        scope.readers.append(cast("Any", reader))  # pyright cannot name it
    return result


Given: TypeAlias = "tuple[object, ...]"
"""The fields of Changes, in their order, as if all had been changed.

A tuple, since each layer of each call makes two: as objects they made a kept run with
100 wrappers a quarter slower.
"""
_FIELDS: Final = tuple(each.name for each in fields(Changes))


def given(scope: CallScope, value: object) -> Given | None:
    """Return a tool call's input and id as they are now; None for a model call."""
    if not isinstance(value, ToolCallInput):
        return None
    in_scope = scope.call_id, scope.changed, scope.action
    return value.name, value.arguments, value.call_id, *in_scope


def changes(
    scope: CallScope, value: object, before: Given | None, where: Where
) -> Changes | None:
    """Return what differs from ``before``; None if nothing does.

    Raises NotKeepableError for what is not text: no tool and no model takes it.
    """
    now = given(scope, value)
    if before is None or now is None or now == before:
        return None
    pairs = zip(_FIELDS, now, before, strict=True)
    differ: dict[str, Any] = {name: new for name, new, old in pairs if new != old}
    found = Changes(**differ)
    for name, text in _texts(found):
        if text is not None and text.__class__ is not str:
            advice = "a text stands there: give a str"
            raise Refused(f"input.{name}", type(text).__name__, advice).at(*where)
    return found


def _texts(found: Changes) -> Iterator[tuple[str, object]]:
    """Yield what wrappers gave, with the field of the input that it stood in."""
    name, call_id = found.ignored or (None, None)
    yield from (("name", found.name), ("name", name))
    yield from (("call_id", found.call_id), ("call_id", call_id))
    yield from (("call_id", found.taken), ("arguments", found.arguments))


def put_back(scope: CallScope, value: object, kept: Changes | None) -> None:
    """Change the input of a call, and its scope, as the entry that is kept did."""
    if kept is None or not isinstance(value, ToolCallInput):
        return
    value.name = value.name if kept.name is None else kept.name
    value.arguments = value.arguments if kept.arguments is None else kept.arguments
    value.call_id = value.call_id if kept.call_id is None else kept.call_id
    scope.call_id = scope.call_id if kept.taken is None else kept.taken
    scope.changed = scope.changed if kept.ignored is None else kept.ignored
    scope.action = scope.action if kept.action is None else kept.action

"""What a call changed besides what it gave: its input in place, and the id it goes by.

A wrapper may change the input it was handed, and one around it that calls ``next`` once
more hands on what that left. So an entry that is not made again puts back what it had
changed (contract WRAP, INT). Options are not kept, here as elsewhere. The request of a
model call is frozen: a list that wrappers share in it is theirs to copy.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from refengine.checkpoint import Changes
from refengine.errors import Refused
from refengine.tools import ToolCallInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from refengine.border import Where
    from refengine.scope import Scope

Given: TypeAlias = "tuple[object, ...]"
"""The fields of Changes, in their order, as if all had been changed.

A tuple, since each layer of each call makes two: as objects they made a kept run with
100 wrappers a quarter slower.
"""
_FIELDS: Final = tuple(each.name for each in fields(Changes))


def given(scope: Scope, value: object) -> Given | None:
    """Return a tool call's input and id as they are now; None for a model call."""
    if not isinstance(value, ToolCallInput):
        return None
    in_scope = scope.call_id, scope.changed, scope.action
    return value.name, value.arguments, value.call_id, *in_scope


def changes(
    scope: Scope, value: object, before: Given | None, where: Where
) -> Changes | None:
    """Return what differs from ``before``; None if nothing does.

    Raises NotKeepableError for what is no text: no tool and no model takes it.
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


def put_back(scope: Scope, value: object, kept: Changes | None) -> None:
    """Change the input of a call, and its scope, as the entry that is kept did."""
    if kept is None or not isinstance(value, ToolCallInput):
        return
    value.name = value.name if kept.name is None else kept.name
    value.arguments = value.arguments if kept.arguments is None else kept.arguments
    value.call_id = value.call_id if kept.call_id is None else kept.call_id
    scope.call_id = scope.call_id if kept.taken is None else kept.taken
    scope.changed = scope.changed if kept.ignored is None else kept.ignored
    scope.action = scope.action if kept.action is None else kept.action

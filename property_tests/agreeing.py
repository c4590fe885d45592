"""Telling at a glance that what was observed twice is the same.

Nearly all that is compared is equal, and to write both sides out as JSON first costs
more than the runs they come from. So values are compared as they are, and only what is
not plainly equal is written out: a glance never says that two things differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from refengine.messages import (
    NOTHING,
    FrozenDict,
    History,
    Message,
    MessageChunk,
    ToolCall,
    ToolCallChunk,
)
from refengine.tools import ToolInfo

Known: TypeAlias = "set[tuple[int, int]]"
"""Pairs of messages, tools and histories that are known to agree, by identity."""
Fields: TypeAlias = Callable[[Any], tuple[object, ...]]

_PLAIN: Final = frozenset((str, int, bool, type(None)))
_TEXTS: Final = frozenset((str, type(None)))
_ROWS: Final = frozenset((tuple, list, History))
_TABLES: Final = frozenset((dict, FrozenDict, MappingProxyType))
_FIELDS: Final[Mapping[type, Fields]] = MappingProxyType(
    {
        Message: attrgetter(
            "role", "content", "tool_calls", "tool_call_id", "name", "id", "extra"
        ),
        ToolCall: attrgetter("id", "name", "arguments"),
        MessageChunk: attrgetter("content", "tool_calls", "id", "name", "extra"),
        ToolCallChunk: attrgetter("index", "id", "name", "arguments"),
        ToolInfo: attrgetter("name", "description", "parameters"),
    }
)
_BARE: Final[Mapping[type, Fields]] = MappingProxyType(
    {
        Message: attrgetter("role", "content", "tool_call_id", "name", "id"),
        MessageChunk: attrgetter("content", "id", "name"),
    }
)
"""The fields of a message that is text alone, as most of them are."""
_ABSENT: Final = object()


def agree(ours: object, theirs: object, known: Known | None = None) -> bool:
    """Tell at once that two values come to the same JSON; False says nothing.

    Type-strict, as JSON is: 1, 1.0 and true differ. ``known`` keeps what was found of
    messages and histories, which are seen again in every request; they must outlive it.
    """
    kind = ours.__class__
    if kind in _PLAIN:
        return kind is theirs.__class__ and ours == theirs
    return _agree_parts(ours, theirs, set() if known is None else known)


def agree_tables(
    ours: Mapping[str, object],
    theirs: Mapping[str, object],
    known: Known,
    but: frozenset[str] = frozenset(),
) -> bool:
    """Tell at once that two objects agree, whatever they have under ``but``."""
    if but and not (but.isdisjoint(ours) and but.isdisjoint(theirs)):
        ours = {key: value for key, value in ours.items() if key not in but}
        theirs = {key: value for key, value in theirs.items() if key not in but}
    return _agree_parts(ours, theirs, known)


def _agree_parts(ours: Any, theirs: Any, known: Known) -> bool:  # noqa: ANN401  # whatever was observed
    kind, other = ours.__class__, theirs.__class__
    if kind in _TABLES:
        return other in _TABLES and _agree_tables(ours, theirs, known)
    if kind in _ROWS and not (kind is other is History):
        return other in _ROWS and _agree_rows(ours, theirs, known)
    if kind is not other or not _agree_objects(ours, theirs, known):
        return False
    known.add((id(ours), id(theirs)))
    return True


def _agree_objects(ours: Any, theirs: Any, known: Known) -> bool:  # noqa: ANN401  # of one class
    kind = ours.__class__
    if kind is History:
        return _agree_rows(ours, theirs, known)
    bare = _BARE.get(kind)
    if bare is not None and _is_bare(ours) and _is_bare(theirs):
        left, right = bare(ours), bare(theirs)
        return left == right and _TEXTS.issuperset(map(type, (*left, *right)))
    fields = _FIELDS.get(kind)
    return fields is not None and _agree_rows(fields(ours), fields(theirs), known)


def _is_bare(message: Any) -> bool:  # noqa: ANN401  # a message or a chunk of one
    return message.extra is NOTHING and message.tool_calls == ()


def _agree_rows(ours: Sequence[object], theirs: Sequence[object], known: Known) -> bool:
    if len(ours) != len(theirs):
        return False
    for a, b in zip(ours, theirs, strict=True):
        kind = a.__class__
        if kind in _PLAIN:
            if kind is not b.__class__ or a != b:
                return False
        elif (id(a), id(b)) not in known and not _agree_parts(a, b, known):
            return False
    return True


def _agree_tables(
    ours: Mapping[Any, object], theirs: Mapping[Any, object], known: Known
) -> bool:
    if len(ours) != len(theirs):
        return False
    for key, value in ours.items():
        other = theirs.get(key, _ABSENT)
        kind = value.__class__
        if key.__class__ is not str or other is _ABSENT:
            return False
        if kind in _PLAIN:
            if kind is not other.__class__ or value != other:
                return False
        elif (id(value), id(other)) not in known and not _agree_parts(
            value, other, known
        ):
            return False
    return True

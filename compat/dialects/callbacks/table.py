"""The table of callbacks: a new type is one row, and nothing else knows its name.

Names and data are those of the seed's callbacks. Owners stand in the order in which
they are served; each hears a fact exactly once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final

from compat.dialects.callbacks.errors import (
    CallbackTypeError,
    CallbackValueError,
    EqualTypesError,
)

Owner: TypeAlias = Literal["manager", "client", "listener"]
Callback: TypeAlias = "Callable[..., Any]"


@dataclass(frozen=True, slots=True)
class CallbackType:
    """One row: the name, the names of what it is called with, and who hears it."""

    name: str
    data: tuple[str, ...]
    owners: tuple[Owner, ...]


@final
class CallbackTable(Mapping[str, CallbackType]):
    """Rows by name. Raises EqualTypesError for two of one name."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Iterable[CallbackType]) -> None:
        self._rows: dict[str, CallbackType] = {}
        for each in rows:
            if each.name in self._rows:
                raise EqualTypesError(each.name)
            self._rows[each.name] = each

    def __getitem__(self, name: str) -> CallbackType:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, name: str) -> CallbackType:
        """Return the row of that name; raises CallbackTypeError with a suggestion."""
        if name not in self._rows:
            raise CallbackTypeError(name, tuple(self._rows))
        return self._rows[name]

    def with_row(self, row: CallbackType) -> CallbackTable:
        """Return a table with one type more."""
        return CallbackTable((*self._rows.values(), row))


CALLBACK_TYPES: Final = CallbackTable(
    (
        CallbackType("on_session_start", ("session_id",), ("manager", "client")),
        CallbackType("load_agent_storage", ("session_id",), ("client", "manager")),
        CallbackType(
            "on_agent_step", ("step_index", "messages"), ("client", "listener")
        ),
        CallbackType("on_llm_text_delta", ("text",), ("client",)),
        CallbackType("on_llm_text_done", ("text",), ("client",)),
        CallbackType("on_tool_call_start", ("call",), ("client",)),
        CallbackType(
            "on_tool_execution_end",
            ("name", "call_id", "result", "error"),
            ("client", "listener"),
        ),
        CallbackType("on_error", ("error", "where"), ("client", "listener")),
        CallbackType("on_state_storage", ("state",), ("manager", "client")),
        CallbackType("on_session_end", ("session_id", "status"), ("manager", "client")),
    )
)


@final
class AgentCallbacks:
    """A set of callbacks by type; each may be async. It does not change.

    Raises CallbackTypeError for a name that the table does not have, because a callback
    that is never called is a fault that nobody sees.
    """

    __slots__ = ("_functions",)

    def __init__(
        self, *, table: CallbackTable = CALLBACK_TYPES, **functions: Callback | None
    ) -> None:
        self._functions: dict[str, Callback] = {}
        for name, function in functions.items():
            table.row(name)
            if function is None:
                continue
            if not callable(function):
                raise CallbackValueError(name, function)
            self._functions[name] = function

    def get(self, name: str) -> Callback | None:
        """Return the callback of that type, None if there is none."""
        return self._functions.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The types that it has a callback of."""
        return tuple(self._functions)

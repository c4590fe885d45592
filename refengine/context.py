"""The context: an immutable value that threads through every hook of a run.

Contract §0 and CTX. Values are looked up in the block of the newest entries and then
outwards; a block holds at most ``BLOCK`` entries, so a chain of 10,000 handlers that
each add a key costs a bounded copy an entry, not one that grows with the chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias, TypeVar

from refengine.errors import NoRunLocalError

BLOCK = 32
_T = TypeVar("_T")
RunLocals: TypeAlias = "dict[str, object]"


class Context:
    """Immutable values plus where in a run one is.

    ``run_path`` names the agents from the outermost inwards; ``tool_call_id`` is set
    inside a tool call. Both are the engine's and cannot be lost: whatever context a
    wrapper hands on, the innermost point sets them again.
    """

    __slots__ = ("_locals", "_outer", "_run_path", "_tool_call_id", "_values")

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        self._values: dict[str, object] = dict(values or {})
        self._outer: Context | None = None
        self._run_path: tuple[str, ...] = ()
        self._tool_call_id: str | None = None
        self._locals: RunLocals | None = None

    @property
    def run_path(self) -> tuple[str, ...]:
        """The names of the agents around this point, outermost first."""
        return self._run_path

    @property
    def tool_call_id(self) -> str | None:
        """The id of the tool call around this point, if there is one."""
        return self._tool_call_id

    def get(self, key: str, default: _T | None = None) -> object | _T | None:
        """Look ``key`` up, newest value first."""
        at: Context | None = self
        while at is not None:
            if key in at._values:
                return at._values[key]
            at = at._outer
        return default

    def with_value(self, key: str, value: object) -> Context:
        """Return this context with one value more; the old one stays as it is."""
        if len(self._values) < BLOCK or key in self._values:
            made = self._copy()
            made._values = {**self._values, key: value}
            return made
        made = self._copy()
        made._values = {key: value}
        made._outer = self
        return made

    def items(self) -> Iterator[tuple[str, object]]:
        """Iterate over the visible values, each key once, newest block first."""
        seen: set[str] = set()
        at: Context | None = self
        while at is not None:
            for key, value in at._values.items():
                if key not in seen:
                    seen.add(key)
                    yield key, value
            at = at._outer

    def __repr__(self) -> str:
        return f"Context({dict(self.items())!r}, run_path={self._run_path!r})"

    def _copy(self) -> Context:
        made = Context.__new__(Context)
        made._values = self._values
        made._outer = self._outer
        made._run_path = self._run_path
        made._tool_call_id = self._tool_call_id
        made._locals = self._locals
        return made


def at_point(
    ctx: Context,
    run_path: tuple[str, ...],
    call_id: str | None,
    run_locals: RunLocals | None,
) -> Context:
    """Return a context as seen at a point of a run; for the engine and for doors."""
    if (
        ctx._locals is run_locals
        and ctx._run_path == run_path
        and ctx._tool_call_id == call_id
    ):
        return ctx
    made = Context.__new__(Context)  # not by ``_copy``: each call needs one
    made._values = ctx._values
    made._outer = ctx._outer
    made._run_path = run_path
    made._tool_call_id = call_id
    made._locals = run_locals
    return made


def at_point_of(ctx: Context, other: Context) -> Context:
    """Return a context where the other one stands, whoever made it anew."""
    return at_point(ctx, other._run_path, other._tool_call_id, other._locals)


def lay_over(base: Context, over: Context | None) -> Context:
    """Lay the values of ``over`` over ``base``; those of ``over`` win (contract CTX).

    The run path is that of ``over``: an agent inside a tool stands inside its agent.
    """
    if over is None:
        return base
    merged = base
    for key, value in reversed(list(over.items())):
        merged = merged.with_value(key, value)
    return at_point(merged, over.run_path, None, None)


def set_run_local(ctx: Context, key: str, value: object) -> None:
    """Keep a value for the rest of this run, whatever happens to the context.

    Raises NoRunLocalError outside a run, ``before_agent`` included.
    """
    _run_locals(ctx, key)[key] = value


def get_run_local(ctx: Context, key: str, default: object = None) -> object:
    """Read a run-local value; raises NoRunLocalError outside a run."""
    return _run_locals(ctx, key).get(key, default)


def delete_run_local(ctx: Context, key: str) -> None:
    """Drop a run-local value, if it is set; raises NoRunLocalError outside a run."""
    _run_locals(ctx, key).pop(key, None)


def _run_locals(ctx: Context, key: str) -> RunLocals:
    found = ctx._locals  # the other half of Context, in this module
    if found is None:
        raise NoRunLocalError(key)
    return found

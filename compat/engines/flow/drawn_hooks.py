"""Hooks of generated Flow worlds: which there are, and what each does.

Needs the extra ``testing``. Most abstain or do one thing, so that a check can say what
is to come of it; some do several.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from compat.engines.flow.operations import OF_HOOK
from compat.engines.flow.themes import FlowTheme

Doc: TypeAlias = "dict[str, Any]"
Todo: TypeAlias = "list[dict[str, Any]]"

KEYS: Final = ("x", "app:x", "user:x", "temp:x")

_OF_STATE: Final = ("count_state", "read_state")


@cache
def drawn_callbacks(
    theme: FlowTheme, hooks: Sequence[str]
) -> st.SearchStrategy[dict[str, list[Todo]]]:
    """Draw the callbacks of an agent, which may have these."""
    mine = [each for each in theme.hooks if each in hooks]
    if not mine:
        return st.just({})
    chosen = st.lists(
        st.sampled_from(mine),
        min_size=min(theme.least_hooks, 1),
        max_size=2,
        unique=True,
    )
    return chosen.flatmap(
        lambda names: st.fixed_dictionaries(
            {
                each: st.lists(_todo(each, theme), min_size=1, max_size=2)
                for each in names
            }
        )
    )


@cache
def drawn_plugins(theme: FlowTheme) -> st.SearchStrategy[list[Doc]]:
    """Draw the plugins of a runner."""
    if not theme.hooks:
        return st.just([])
    chosen = st.lists(st.sampled_from(theme.hooks), max_size=3, unique=True)
    todo = chosen.flatmap(
        lambda names: st.fixed_dictionaries(
            {each: _todo(each, theme) for each in names}
        )
    )
    return st.lists(todo, max_size=2).map(
        lambda made: [{"name": f"p{at}", "hooks": each} for at, each in enumerate(made)]
    )


@cache
def drawn_processors() -> st.SearchStrategy[list[Doc]]:
    """Draw request processors of a user's own, and where they stand."""
    todo: tuple[Todo, ...] = (
        [],
        [{"op": "edit_request", "append_instruction": "More."}],
        [{"op": "return", "text": "from a processor"}],
        [{"op": "raise", "text": "a processor fails"}],
    )
    one = st.fixed_dictionaries(
        {"do": st.sampled_from(todo), "at": st.sampled_from((None, 0, 3, 6))}
    )
    return st.lists(one, min_size=1, max_size=2)


@cache
def state_ops() -> st.SearchStrategy[Doc]:
    """Draw an operation on the state."""
    ops: list[Doc] = [{"op": op, "key": key} for op in _OF_STATE for key in KEYS]
    ops.extend({"op": "write_state", "key": key, "value": ["w"]} for key in KEYS)
    return st.sampled_from(ops)


@cache
def _todo(hook: str, theme: FlowTheme) -> st.SearchStrategy[Todo]:
    """Draw what a hook does: nothing, one thing, or several."""
    if theme.states:
        return st.lists(_state_of(hook), max_size=2)
    several = st.lists(_ops(hook), max_size=2)
    return st.one_of(st.just([]), st.just([_gives(hook)]), several, _sharp(hook))


def _sharp(hook: str) -> st.SearchStrategy[Todo]:
    """Draw one thing that is done each time."""
    alone: list[Doc] = [_gives(hook), {"op": "raise", "text": f"{hook} fails"}]
    if "tool" in hook:
        alone.append({"op": "return", "result": {}})
    alone += _edits(hook)
    return st.sampled_from(alone).map(lambda each: [each])


def _state_of(hook: str) -> st.SearchStrategy[Doc]:
    """Draw what one writes and another reads: under few keys, so that they meet."""
    keys = KEYS[::3] if "write_state" in OF_HOOK[hook] else ()
    ops: list[Doc] = [{"op": "read_state", "key": key} for key in keys]
    ops += [{"op": "write_state", "key": key, "value": hook} for key in keys]
    return st.sampled_from(ops)


def _gives(hook: str) -> Doc:
    said = {"result": {"from": hook}} if "tool" in hook else {"text": f"from {hook}"}
    return {"op": "return", **said}


def _ops(hook: str) -> st.SearchStrategy[Doc]:
    ops: list[st.SearchStrategy[Doc]] = [
        st.just({**_gives(hook), "on_call": 1}),
        st.just({"op": "raise", "text": f"{hook} fails", "on_call": 2}),
    ]
    if "write_state" in OF_HOOK[hook]:
        ops[:0] = [state_ops(), state_ops()]
    ops.extend(st.just(each) for each in _edits(hook))
    return st.one_of(ops)


def _edits(hook: str) -> list[Doc]:
    edits: list[Doc] = []
    if "edit_request" in OF_HOOK[hook]:
        edits.append({"op": "edit_request", "append_instruction": "More."})
    if "edit_args" in OF_HOOK[hook]:
        edits.append({"op": "edit_args", "values": {"y": 1}})
    return edits

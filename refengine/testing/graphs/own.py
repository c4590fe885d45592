"""Tools of a subject's own, seen from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from langchain_core.tools import BaseTool

from refengine.testing.json_values import is_list, is_mapping

DEEPEST: Final = 4
"""So many functions and objects lie between a tool and one that it wraps, at most."""


def wraps_its_like(tool: BaseTool) -> bool:
    """Tell whether a tool is put around another one of its name.

    Both are begun when it is called, and the call is still one execution: that of the
    tool within. It is looked for in what the function has in it, and in its object.
    """
    seen: set[int] = set()
    reached: list[Any] = [tool]
    for _ in range(DEEPEST):
        reached = [
            each for one in reached for each in _within(one) if id(each) not in seen
        ]
        seen.update(map(id, reached))
        if any(_is_like(each, tool) for each in reached):
            return True
    return False


def _is_like(found: object, tool: BaseTool) -> bool:
    if not isinstance(found, BaseTool) or found is tool:
        return False
    return found.name == tool.name


def _within(value: Any) -> Iterator[object]:  # noqa: ANN401  # whatever a subject wrote
    """Yield what a tool, a function, a bound method or a collection holds."""
    if is_list(value):
        yield from value
        return
    if is_mapping(value):
        yield from value.values()
        return
    if isinstance(value, BaseTool):
        yield from (each for each in vars(value).values() if _may_hold(each))
        return
    for cell in getattr(value, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not given a value yet
            continue
    for name in ("__self__", "__wrapped__", "func", "args", "__defaults__"):
        found: object = getattr(value, name, None)
        yield from found if isinstance(found, tuple) else (found,)
    yield from (getattr(value, "keywords", None) or {}).values()
    yield from (getattr(value, "__kwdefaults__", None) or {}).values()


def _may_hold(value: object) -> bool:
    return isinstance(value, BaseTool) or callable(value) or is_list(value)

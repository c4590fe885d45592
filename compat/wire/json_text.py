"""JSON as it was sent, where it has one meaning; else it is no JSON to us.

Python's reader is generous: of two equal keys the last one wins, ``1e999`` becomes
infinite, ``NaN`` is taken. Two bodies that differ so would be read alike, so these are
refused here and compared byte by byte. So is what is nested deeper than DEPTH, since
how deep one can read depends on who calls, and the answer must not.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, Final, NoReturn, TypeAlias

from refengine.testing.narrowing import is_list, is_mapping

DEPTH: Final = 100

Tree: TypeAlias = Any  # JSON: None, bool, int, float, str, list, dict


class NotJsonError(ValueError):
    """The text is no JSON, or has more than one meaning."""


def tree_of(text: str | bytes) -> Tree:
    """Return what the text means; raises NotJsonError."""
    try:
        tree = json.loads(
            text,
            object_pairs_hook=_once,
            parse_float=_finite,
            parse_constant=_refused,
        )
    except (ValueError, RecursionError) as error:
        raise NotJsonError("no JSON, or more than one meaning") from error
    if not shallow(tree):
        raise NotJsonError(f"nested deeper than {DEPTH}")
    return tree


def text_of(tree: Tree) -> str:
    """Return the one text of a tree: keys in order, no space, ASCII only.

    ``1``, ``1.0``, ``true`` and ``"1"`` are four texts.
    """
    return json.dumps(tree, sort_keys=True, separators=(",", ":"))


def shallow(tree: Tree) -> bool:
    """Tell whether a tree is nested DEPTH levels at most."""
    level = [tree]
    for _ in range(DEPTH):
        level = [part for each in level for part in parts(each)]
        if not level:
            return True
    return False


def parts(tree: Tree) -> list[Tree]:
    """Return the values of an object or array that hold values themselves."""
    inside: list[Tree] = []
    if is_mapping(tree):
        inside = list(tree.values())
    elif is_list(tree):
        inside = list(tree)
    return [part for part in inside if isinstance(part, (dict, list))]


def _once(pairs: list[tuple[str, Tree]]) -> dict[str, Tree]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotJsonError("a key twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise NotJsonError("a number without an end")
    return number


def _refused(text: str) -> NoReturn:
    raise NotJsonError(text)

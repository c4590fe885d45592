"""JSON as it was sent, where it has one meaning, and where two trees of it differ.

Python's reader is generous: of two equal keys the last one wins, ``1e999`` becomes
infinite, ``NaN`` is taken. Two bodies that differ so would be read alike, so these are
refused here and compared byte by byte. So is what is nested deeper than DEPTH, since
how deep one can read depends on who calls, and the answer must not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import zip_longest
from math import isfinite
from typing import Any, Final, NoReturn, TypeAlias

from refengine.testing.json_values import is_list, is_mapping

DEPTH: Final = 100

Tree: TypeAlias = Any  # JSON: None, bool, int, float, str, list, dict


class NotJsonError(ValueError):
    """The text is not JSON, or has more than one meaning."""


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


_BEFORE: Final = 30
_AFTER: Final = 90
_NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class JsonDifference:
    """A path such as ``body.json.messages[1].content``, and both sides there.

    Sides are shown shortened around the place where they part; a value that is not
    there is ``(nothing)``.
    """

    path: str
    recorded: str
    sent: str

    def __str__(self) -> str:
        """Return path and both sides, on three lines."""
        return f"{self.path}\n  recorded: {self.recorded}\n  sent:     {self.sent}"


def first_difference(recorded: Tree, sent: Tree) -> JsonDifference | None:
    """Return the first difference, keys in order; None if the trees are equal.

    Types are strict: 1, 1.0 and true differ. ``arguments`` that are JSON on both sides
    are looked into.
    """
    return _differ("", recorded, sent)


def _differ(path: str, recorded: Tree, sent: Tree) -> JsonDifference | None:
    if is_mapping(recorded) and is_mapping(sent):
        for key in sorted({*recorded, *sent}):
            sides = recorded.get(key, _NOTHING), sent.get(key, _NOTHING)
            found = _differ(f"{path}.{key}" if path else key, *sides)
            if found:
                return found
        return None
    if is_list(recorded) and is_list(sent):
        pairs = zip_longest(recorded, sent, fillvalue=_NOTHING)
        for index, sides in enumerate(pairs):
            found = _differ(f"{path}[{index}]", *sides)
            if found:
                return found
        return None
    if _text(recorded) == _text(sent):
        return None
    return _inside(path, recorded, sent) or JsonDifference(
        path, *_shown(recorded, sent)
    )


def _inside(path: str, recorded: Tree, sent: Tree) -> JsonDifference | None:
    """Look into arguments, which are JSON within a string."""
    if not (path.endswith(".arguments") and _both_text(recorded, sent)):
        return None
    try:
        return _differ(path, tree_of(recorded), tree_of(sent))
    except NotJsonError:
        return None


def _both_text(recorded: Tree, sent: Tree) -> bool:
    return isinstance(recorded, str) and isinstance(sent, str)


def _shown(recorded: Tree, sent: Tree) -> tuple[str, str]:
    one, other = _text(recorded), _text(sent)
    pairs = enumerate(zip_longest(one, other))
    part = next((index for index, (a, b) in pairs if a != b), 0)
    return _window(one, part), _window(other, part)


def _text(value: Tree) -> str:
    # No text of JSON is in brackets, so that this one is told from all of them.
    return "(nothing)" if value is _NOTHING else text_of(value)


def _window(text: str, part: int) -> str:
    start = max(part - _BEFORE, 0)
    end = part + _AFTER
    head = "…" if start else ""
    return f"{head}{text[start:end]}{'…' if end < len(text) else ''}"

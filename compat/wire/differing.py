"""Where two trees of JSON differ first, so that an error can say it in one line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from compat.wire.json_text import NotJsonError, Tree, text_of, tree_of
from refengine.testing.narrowing import is_list, is_mapping

_BEFORE: Final = 30
_AFTER: Final = 90
_NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class Difference:
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


def first_difference(recorded: Tree, sent: Tree) -> Difference | None:
    """Return the first difference, keys in order; None if the trees are equal.

    Types are strict: 1, 1.0 and true differ. ``arguments`` that are JSON on both sides
    are looked into.
    """
    return _differ("", recorded, sent)


def _differ(path: str, recorded: Tree, sent: Tree) -> Difference | None:
    if is_mapping(recorded) and is_mapping(sent):
        for key in sorted({*recorded, *sent}):
            sides = recorded.get(key, _NOTHING), sent.get(key, _NOTHING)
            found = _differ(f"{path}.{key}" if path else key, *sides)
            if found:
                return found
        return None
    if is_list(recorded) and is_list(sent):
        pairs = zip_longest(recorded, sent, fillvalue=_NOTHING)
        for place, sides in enumerate(pairs):
            found = _differ(f"{path}[{place}]", *sides)
            if found:
                return found
        return None
    if _text(recorded) == _text(sent):
        return None
    return _inside(path, recorded, sent) or Difference(path, *_shown(recorded, sent))


def _inside(path: str, recorded: Tree, sent: Tree) -> Difference | None:
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
    part = next((place for place, (a, b) in pairs if a != b), 0)
    return _window(one, part), _window(other, part)


def _text(value: Tree) -> str:
    # No text of JSON is in brackets, so that this one is told from all of them.
    return "(nothing)" if value is _NOTHING else text_of(value)


def _window(text: str, part: int) -> str:
    start = max(part - _BEFORE, 0)
    end = part + _AFTER
    head = "…" if start else ""
    return f"{head}{text[start:end]}{'…' if end < len(text) else ''}"

"""Two recordings of one session, compared: what was drawn anew, and what else differs.

A field that a program draws anew (an id, a time) makes no two recordings alike, and no
replay. Two of the same session tell such fields from all others. What is proposed is
tried: with these fields taken out the requests are equal, or it is said which are not.
Only requests are compared, without their origin, as in a replay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from compat.wire.canonical import canonical_request
from compat.wire.errors import DRAWN
from compat.wire.exchanges import Exchange, Request
from compat.wire.json_trees import NotJsonError, Tree, text_of, tree_of
from compat.wire.scrubbing import Scrubber
from refengine.testing.json_values import is_list, is_mapping

ORIGIN: Final = frozenset(("url.scheme", "url.host", "url.port"))
"""What of an address no replay compares."""
TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
)
EPOCH: Final = range(1_000_000_000, 4_000_000_000)
"""Seconds since 1970, from 2001 to 2096; thousandths of them are times, too."""
_ID: Final = re.compile(rf"(?<!\w){DRAWN}(?!\w)")
_INDEX: Final = re.compile(r"\[(?:\d+|\*)\]")
NOTHING: Final = "(nothing)"


@dataclass(frozen=True, slots=True)
class ComparedField:
    """A place in which requests differ: of how many, how, and one pair of values.

    ``looks`` is ``id`` or ``time`` where all its values look so, ``text`` where ids or
    times within a longer text are all that differs, and empty for everything else.
    """

    path: str
    requests: int
    looks: str
    values: tuple[str, str]

    @property
    def name(self) -> str:
        """What ``--field`` calls it."""
        return _INDEX.sub("", self.path).rpartition(".")[2]

    @property
    def volatile(self) -> bool:
        """Whether taking the field out loses nothing but what was drawn."""
        return self.looks in {"id", "time"} and not self.path.startswith("url.path")


@dataclass(frozen=True, slots=True)
class ComparedRecordings:
    """What came of a comparison; ``unequal`` are pairs that differ in other things."""

    pairs: int
    alone: tuple[int, int]
    """So many requests of each recording have no counterpart."""
    fields: tuple[ComparedField, ...]
    proposed: tuple[str, ...]
    """Names for ``--field``."""
    unequal: int

    @property
    def alike(self) -> bool:
        """Whether one replays as the other, with what is proposed taken out."""
        return not self.unequal and self.alone == (0, 0)


def compare(
    one: Sequence[Exchange], other: Sequence[Exchange], fields: Sequence[str] = ()
) -> ComparedRecordings:
    """Compare the requests of two recordings, each with its counterpart.

    ``fields`` are names that are taken out already.
    """
    rules = Scrubber(fields=fields)
    sides = [[rules.request(each.request) for each in side] for side in (one, other)]
    pairs = [*_paired(*sides)]
    found = _fields(pairs)
    names = tuple(dict.fromkeys(each.name for each in found if each.volatile))
    proposed = Scrubber(fields=(*fields, *names))
    unequal = sum(
        canonical_request(_nowhere(proposed.request(a))).digest
        != canonical_request(_nowhere(proposed.request(b))).digest
        for a, b in pairs
    )
    alone = len(sides[0]) - len(pairs), len(sides[1]) - len(pairs)
    return ComparedRecordings(len(pairs), alone, found, names, unequal)


def _paired(
    one: Sequence[Request], other: Sequence[Request]
) -> Iterator[tuple[Request, Request]]:
    """Yield requests that are one but for what was drawn, then the others in order.

    So requests that came at one time are compared whatever order they came in.
    """
    left: list[Request] = []
    open_ = [*other]
    for each in one:
        same = next(
            (e for e in open_ if _without_drawn(e) == _without_drawn(each)), None
        )
        if same is None:
            left.append(each)
        else:
            open_.remove(same)
            yield each, same
    yield from zip(left, open_, strict=False)


def _without_drawn(request: Request) -> list[tuple[str, str]]:
    return [(path, _masked(value)) for path, value in _leaves_of(request).items()]


def _fields(pairs: Sequence[tuple[Request, Request]]) -> tuple[ComparedField, ...]:
    """Return each place that differs in some pair, indices of lists left out."""
    seen: dict[str, list[tuple[Tree, Tree]]] = {}
    for pair in pairs:
        one, other = map(_leaves_of, pair)
        of_pair: dict[str, tuple[Tree, Tree]] = {}
        for path in dict.fromkeys((*one, *other)):
            sides = one.get(path, NOTHING), other.get(path, NOTHING)
            if text_of(sides[0]) != text_of(sides[1]):
                of_pair.setdefault(_INDEX.sub("[*]", path), sides)
        for path, sides in of_pair.items():
            seen.setdefault(path, []).append(sides)
    return tuple(
        ComparedField(path, len(of), _looks(of), (_shown(of[0][0]), _shown(of[0][1])))
        for path, of in seen.items()
    )


def _looks(of: Sequence[tuple[Tree, Tree]]) -> str:
    values = [value for pair in of for value in pair]
    if all(map(_is_time, values)):
        return "time"
    if all(re.fullmatch(DRAWN, str(value)) for value in values):
        return "id"
    return "text" if all(_masked(a) == _masked(b) for a, b in of) else ""


def _is_time(value: Tree) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value) in EPOCH or int(value) // 1000 in EPOCH
    return isinstance(value, str) and TIME.fullmatch(value) is not None


def _masked(value: Tree) -> str:
    """Return a value's text without what looks drawn."""
    if _is_time(value):
        return "*"
    return _ID.sub("*", TIME.sub("*", text_of(value)))


def _shown(value: Tree) -> str:
    return NOTHING if value == NOTHING else text_of(value)


def _nowhere(request: Request) -> Request:
    """Return a request to no origin, as replays compare it."""
    path = re.sub(r"^[^/]*//[^/?]*", "http://origin", request.url)
    return Request(request.method, path, request.headers, request.body)


def _leaves_of(request: Request) -> Mapping[str, Tree]:
    """Return what a request says, by paths; without what no replay compares."""
    tree = canonical_request(request).tree
    return {path: each for path, each in _leaves("", tree) if path not in ORIGIN}


def _leaves(path: str, tree: Tree) -> Iterator[tuple[str, Tree]]:
    if path.endswith(".arguments") and isinstance(tree, str):
        try:
            tree = tree_of(tree)
        except NotJsonError:
            yield path, tree
            return
    if is_mapping(tree) and tree:
        for key in sorted(tree):
            yield from _leaves(f"{path}.{key}" if path else key, tree[key])
    elif is_list(tree) and tree:
        for at, each in enumerate(tree):
            yield from _leaves(f"{path}[{at}]", each)
    else:
        yield path, tree

"""Worlds on two engines, and the differences that are known, each with its reason."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from hypothesis.strategies import SearchStrategy

from refengine.messages import Json
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.trace import MISSING, Divergence, same


@dataclass(frozen=True, slots=True)
class Explained:
    """A known difference: where it stands in an observation, and why it stays.

    ``path``, ``left`` and ``right`` are regular expressions over the whole place and
    over both values as JSON. ``world`` is a scenario that shows it: which worlds are
    drawn does not decide whether an entry is still needed. Where the run goes another
    way from there on, ``ends`` says that nothing behind it is compared.
    """

    name: str
    path: str
    reason: str
    left: str = ".*"
    right: str = ".*"
    world: str = ""
    ends: bool = False

    def covers(self, found: Divergence) -> bool:
        """Tell whether a difference is this one."""
        texts = found.path, json.dumps(found.left), json.dumps(found.right)
        patterns = self.path, self.left, self.right
        pairs = zip(patterns, texts, strict=True)
        return all(re.fullmatch(pattern, text) for pattern, text in pairs)


def read_explained(file: Path) -> tuple[Explained, ...]:
    """Read a file of them; raises TypeError for an entry with other fields."""
    raw = tomllib.loads(file.read_text("utf-8"))
    return tuple(Explained(name=name, **each) for name, each in raw.items())


def differences(left: Sequence[Json], right: Sequence[Json]) -> Iterator[Divergence]:
    """Yield all differences of two sequences; where one is shorter, that is one.

    Two observations of different kinds differ as a whole, which has no path.
    """
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if is_mapping(a) and is_mapping(b) and a.get("kind") != b.get("kind"):
            yield Divergence(index, "", a, b)
            continue
        for path, x, y in _within(a, b, ""):
            yield Divergence(index, path, x, y)
    if len(left) != len(right):
        index = min(len(left), len(right))
        a = left[index] if index < len(left) else MISSING
        b = right[index] if index < len(right) else MISSING
        yield Divergence(index, "", a, b)


def _within(a: Any, b: Any, path: str) -> Iterator[tuple[str, Json, Json]]:
    if is_mapping(a) and is_mapping(b):
        for key in sorted({*a, *b}):
            yield from _within(
                a.get(key, MISSING), b.get(key, MISSING), f"{path}.{key}"
            )
    elif is_list(a) and is_list(b) and len(a) == len(b):
        for at, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _within(x, y, f"{path}[{at}]")
    elif is_list(a) or is_mapping(a) or is_list(b) or is_mapping(b):
        if a != b:
            yield path, a, b
    elif not same(a, b):
        yield path, a, b


def first_unexplained(
    found: Iterator[Divergence],
    explained: Sequence[Explained],
    used: dict[str, int],
) -> Divergence | None:
    """Return the first difference that nothing covers; count what covered others."""
    seen: set[str] = set()
    first: Divergence | None = None
    for each in found:
        covering = next((one for one in explained if one.covers(each)), None)
        if covering is None:
            first = each
            break
        seen.add(covering.name)
        if covering.ends:
            break
    for name in seen:
        used[name] = used.get(name, 0) + 1
    return first


class Skipped(Enum):
    """Why a world is not compared."""

    REFUSED = auto()
    """one of the engines has no place for what it needs"""
    LUCK = auto()
    """luck decides what happens in it"""


Seen: TypeAlias = "tuple[Sequence[Json], Sequence[Json]]"
"""What ours and theirs saw of one world, in a form in which it can be compared."""


class Pair(Protocol):
    """Two engines for agents of one kind: what they are asked to play, and how."""

    def worlds(self) -> SearchStrategy[Any]:
        """Return what worlds are drawn from."""
        ...

    def read(self, text: str) -> Any:
        """Read a world that an explained difference has itself; raises ValueError."""
        ...

    def seen(self, scenario: Any) -> Seen | Skipped:
        """Play a world on both, if that says anything."""
        ...


@dataclass(frozen=True, slots=True)
class Look:
    """What one world showed on two engines, if it is compared.

    ``used`` names what explains differences in it; ``found`` is the first that nothing
    explains.
    """

    skipped: Skipped | None = None
    used: Sequence[str] = ()
    found: Divergence | None = None


def look(pair: Pair, explained: Sequence[Explained], scenario: Any) -> Look:
    """Play a world on both, and return what that shows."""
    seen = pair.seen(scenario)
    if isinstance(seen, Skipped):
        return Look(seen)
    used: dict[str, int] = {}
    found = first_unexplained(differences(*seen), explained, used)
    return Look(None, tuple(used), found)

"""A subject's own words, and texts that its regular expressions match or just miss.

Not ``st.from_regex``: that draws, and a class of which one range was changed is then
found by luck. Here each range, each branch and each end of a repetition of a pattern is
in some text *by construction*, the same ones on every Python and without Hypothesis.
As the patterns of both sides are looked at, what only one of them matches is there.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any, Final, TypeVar

from refengine.messages import Json

T = TypeVar("T")

NEUTRAL_NAMES: Final = ("search", "fetch", "delete")
NEUTRAL_TEXTS: Final = ("ok", "one two", "Zwei Wörter", "end\n", "[x")
NEUTRAL_NUMBERS: Final = (1, 3)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression of the subject and its flags, as ``re`` counts them."""

    regex: str
    flags: int = 0

    def compiled(self) -> re.Pattern[str]:
        """Return it as ``re`` has it; it was seen to compile when it was harvested."""
        return re.compile(self.regex, self.flags)


@dataclass(frozen=True, slots=True)
class Words:
    """What a subject's source holds: texts, names as tools have, patterns, numbers.

    Names stand in the order in which they matter: those that are compared or collected
    first. Source: verdicts, Worlds and corpora.
    """

    texts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    numbers: tuple[int, ...] = ()
    errors: tuple[str, ...] = ()
    """Classes of errors that the source tells apart."""
    edge_calls: tuple[tuple[tuple[str, ...], str], ...] = ()
    """Calls at the edges of schemas: names of tools, and arguments as JSON."""
    edge_answers: tuple[tuple[tuple[str, ...], str], ...] = ()
    """Structured answers there: the name of a tool, none for plain text, and JSON."""
    typical_answers: tuple[tuple[str, str], ...] = ()
    """One that fits for each name of such a tool: the name, and JSON."""
    own_tools: tuple[str, ...] = ()
    """Names of tools that the subject makes, and by which it answers."""
    calls_own: bool = False
    """Whether own tools are called by number: who plays them says what they are."""
    folds: bool = False
    """Whether the source compares texts whose case counts for nothing."""
    trims: bool = False
    """Whether it trims texts anywhere, or folds their case."""
    parses: bool = False
    """Whether it reads texts as JSON."""
    times: bool = False
    """Whether it asks what time it is."""
    options: tuple[tuple[str, tuple[Json, ...]], ...] = ()
    """Options that a caller gives to runs, and what each may be."""

    @property
    def some_names(self) -> tuple[str, ...]:
        """The names, or neutral ones if there are none."""
        return self.names or NEUTRAL_NAMES

    @property
    def some_texts(self) -> tuple[str, ...]:
        """The texts and the neutral ones."""
        return tuple(dict.fromkeys((*self.texts, *NEUTRAL_TEXTS)))

    @property
    def some_numbers(self) -> tuple[int, ...]:
        """The numbers and the neutral ones, in order."""
        return tuple(sorted({*self.numbers, *NEUTRAL_NUMBERS}))


class Dice:
    """Choices by a seed, the same ones everywhere.

    Only ``Random.random`` is used, since it alone is promised to give the same numbers
    on every Python.
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)  # noqa: S311  # it has to be repeatable

    def below(self, end: int) -> int:
        """Return a number from 0 up to ``end``, which is left out."""
        return int(self._random.random() * end)

    def pick(self, some: Sequence[T]) -> T:
        """Return one of them."""
        return some[self.below(len(some))]

    def chance(self, of: int) -> bool:
        """Tell whether one of so many equal chances came true."""
        return self.below(of) == 0

    def shuffled(self, some: Sequence[T]) -> list[T]:
        """Return them in another order."""
        left = list(some)
        return [left.pop(self.below(len(left))) for _ in range(len(left))]


# The module behind re is private; what is read of its trees is the same from 3.11 on.
_PARSER: Final[Any] = import_module("re._parser")

POOL: Final = "aZ5_ -.\n/@é0"
"""What stands where anything may, or where a class names only what it excludes."""
CATEGORIES: Final = {
    "CATEGORY_DIGIT": (r"\d", "07٣"),
    "CATEGORY_NOT_DIGIT": (r"\D", POOL),
    "CATEGORY_SPACE": (r"\s", " \n\u00a0"),
    "CATEGORY_NOT_SPACE": (r"\S", POOL),
    "CATEGORY_WORD": (r"\w", "aZ_9é"),
    "CATEGORY_NOT_WORD": (r"\W", POOL),
}
VARIANTS: Final = 12
"""So many texts are made of one pattern; a class of more ranges is rare."""
BESIDE: Final = 24
"""So many near misses have a neighbour of a class in its place."""
LONGEST: Final = 300
"""A class is repeated so often at most, where the pattern has an end at all."""


@cache
def matching(pattern: Pattern) -> tuple[str, ...]:
    """Return texts in which the pattern is found; none if none could be made."""
    found = pattern.compiled()
    tree = _PARSER.parse(pattern.regex, pattern.flags)
    made = (
        _Maker(
            variant, asserts=asserts, any_of=_any_of(tree), ascii=_ascii_of(tree)
        ).all(tree)
        for asserts in (False, True)
        for variant in range(VARIANTS)
    )
    return tuple(dict.fromkeys(text for text in made if found.search(text)))


@cache
def near_misses(pattern: Pattern) -> tuple[str, ...]:
    """Return texts that differ a little from matching ones.

    Nobody asks the pattern about them: some make one with nested repetitions take
    hours, and the subject runs where a time-out watches it.
    """
    tree = _PARSER.parse(pattern.regex, pattern.flags)
    neighbour = [
        _Maker(0, neighbour=(node, char), ascii=_ascii_of(tree)).all(tree)
        for node in _parts(tree, CLASSES)
        for char in _outside(_named(node), _ascii_of(tree))
    ]
    changed = [near for text in matching(pattern)[:2] for near in _changed(text)]
    return tuple(dict.fromkeys([*neighbour[:BESIDE], *changed]))


@cache
def at_bounds(pattern: Pattern) -> tuple[str, ...]:
    """Return texts at the bounds of each repetition of a pattern, and one beyond.

    ``[0-9]{13,16}`` gives 12, 13, 16 and 17 digits, of which the last may be met by
    nothing else.
    """
    tree = _PARSER.parse(pattern.regex, pattern.flags)
    made = (
        _Maker(0, counted=(value, times), ascii=_ascii_of(tree)).all(tree)
        for value in _parts(tree, REPEATS)
        for times in _bounds(int(value[0]), int(value[1]))
    )
    return tuple(dict.fromkeys(made))


def _bounds(least: int, most: int) -> list[int]:
    """Return how often something may be repeated, just not, and just not any more."""
    ends = [least - 1, least] if least > 1 else []
    ends += [most, most + 1] if 1 < most <= LONGEST else []
    return ends if least <= LONGEST else []


def forms(text: str) -> tuple[str, ...]:
    """Return where a text may stand: alone, in a longer one, twice, in another case."""
    return (
        text,
        f"see {text}, ok",
        text.swapcase(),
        f"{text} {text}",
        f"x{text}x",
        f"a\n{text}\nb",
        f"{text}\n",
        f"so {text}",
        f"{text} more",
    )


def _changed(text: str) -> Iterator[str]:
    middle = len(text) // 2
    yield text[:-1]
    yield text[1:]
    yield text[:middle] + text[middle : middle + 1] + text[middle:]
    yield text[:middle] + text[middle + 1 :]
    yield "_" + text[1:]
    yield text[:-1] + "é"


@dataclass(slots=True)
class _Maker:
    """Makes one text: ``variant`` says which branch, range and number it takes.

    ``neighbour`` is a class and a character that stands in its place, though not in it;
    ``asserts`` writes what is looked at ahead or behind. ``counted`` is a repetition
    and how often it is written; ``ascii`` is the flag by which a
    digit is one of ASCII.
    """

    variant: int
    asserts: bool = False
    neighbour: tuple[object, str] | None = None
    any_of: str = POOL
    groups: dict[int, str] = field(default_factory=dict[int, str])
    counted: tuple[object, int] | None = None
    ascii: int = 0

    def all(self, tree: Iterable[Any]) -> str:
        """Return a text for a sequence of nodes."""
        return "".join(self._one(node.name, value) for node, value in tree)

    def _one(self, kind: str, value: Any) -> str:  # noqa: ANN401  # parse trees have no types
        make = _MAKERS.get(kind)
        return "" if make is None else make(self, value)

    def literal(self, value: int) -> str:
        return chr(value)

    def other(self, value: int) -> str:
        return self._taken([char for char in POOL if ord(char) != value])

    def anything(self, _: object) -> str:
        return self._taken(self.any_of)

    def one_of(self, items: Sequence[tuple[Any, Any]]) -> str:
        if self.neighbour is not None and self.neighbour[0] is items:
            return self.neighbour[1]
        named = _named(items)
        if named[0][0] == "NEGATE":
            inside = _inside(named, self.ascii)
            held = (_holds(named[1:], char, self.ascii) for char in inside)
            return self._taken(
                [c for c, holds in zip(inside, held, strict=True) if not holds]
            )
        return self._taken(_inside(named, self.ascii))

    def branch(self, value: tuple[None, Sequence[Any]]) -> str:
        # What is left of the number chooses inside, or a class in the third of three
        # branches would be met by its third member alone.
        _, ways = value
        left, way = divmod(self.variant, len(ways))
        return replace(self, variant=left).all(ways[way])

    def repeat(self, value: tuple[int, int, Any]) -> str:
        least, most, inner = int(value[0]), int(value[1]), value[2]
        counts = [max(least, min(most, 1)), min(most, least + 2), least]
        leaf = len(inner) == 1 and inner[0][0].name in _LEAVES
        if most <= (LONGEST if leaf else least + 3):
            counts.insert(1, most)
        count = counts[self.variant % len(counts)]
        if self.counted is not None and self.counted[0] is value:
            count = self.counted[1]
        return "".join(self._turned(at).all(inner) for at in range(count))

    def group(self, value: tuple[int | None, int, int, Any]) -> str:
        number, _, _, inner = value
        text = self.all(inner)
        if number is not None:
            self.groups[number] = text
        return text

    def again(self, number: int) -> str:
        return self.groups.get(number, "")

    def if_group(self, value: tuple[int, Any, Any]) -> str:
        number, yes, no = value
        return self.all((yes if number in self.groups else no) or ())

    def looked_at(self, value: tuple[int, Any]) -> str:
        return self.all(value[1]) if self.asserts else ""

    def _turned(self, by: int) -> _Maker:
        """Return a maker for one repetition: every second text mixes its classes."""
        variant = self.variant + by * (self.variant % 2)
        return replace(self, variant=variant)  # of the same groups

    def _taken(self, some: Sequence[str]) -> str:
        return some[self.variant % len(some)] if some else ""


_LEAVES: Final = {"LITERAL", "NOT_LITERAL", "ANY", "IN"}
_MAKERS: Final[dict[str, Callable[[_Maker, Any], str]]] = {
    "LITERAL": _Maker.literal,
    "NOT_LITERAL": _Maker.other,
    "ANY": _Maker.anything,
    "IN": _Maker.one_of,
    "BRANCH": _Maker.branch,
    "MAX_REPEAT": _Maker.repeat,
    "MIN_REPEAT": _Maker.repeat,
    "POSSESSIVE_REPEAT": _Maker.repeat,
    "SUBPATTERN": _Maker.group,
    "ATOMIC_GROUP": _Maker.all,
    "GROUPREF": _Maker.again,
    "GROUPREF_EXISTS": _Maker.if_group,
    "ASSERT": _Maker.looked_at,
}
"""By node of a parse tree; others (anchors, what must not follow) write nothing."""


def _any_of(tree: Any) -> str:  # noqa: ANN401  # parse trees have no types
    """Return what a dot may stand for, the line's end first where that counts."""
    without = POOL.replace("\n", "")
    return f"{without[0]}\n{without[1:]}" if tree.state.flags & re.DOTALL else without


def _named(items: Any) -> list[tuple[str, Any]]:  # noqa: ANN401  # parse trees have no types
    return [(node.name, value) for node, value in items]


def _ascii_of(tree: Any) -> int:  # noqa: ANN401  # parse trees have no types
    return int(tree.state.flags & re.ASCII)


CLASSES: Final = frozenset(("IN",))
REPEATS: Final = frozenset(("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"))


def _parts(tree: Any, kinds: Collection[str]) -> Iterator[Any]:  # noqa: ANN401  # parse trees have no types
    """Yield what the nodes of these kinds hold, anywhere in a parse tree."""
    for part in tree:
        if isinstance(part, tuple) and part and str(part[0]) in kinds:  # pyright: ignore[reportUnknownArgumentType]  # see above
            yield part[1]
            yield from _parts(part[1:], kinds)
        elif isinstance(part, (tuple, list)) or hasattr(part, "data"):
            yield from _parts(part, kinds)


def _inside(items: list[tuple[str, Any]], flag: int) -> list[str]:
    """Return characters of a class; of one that excludes, some that may be in it."""
    if items[0][0] == "NEGATE":
        return [*_edges(items[1:], 1, flag), *POOL]
    return list(_edges(items, 0, flag))


def _outside(items: list[tuple[str, Any]], flag: int) -> list[str]:
    """Return characters that a class does not hold, next to those that it does."""
    if items[0][0] == "NEGATE":
        return list(_edges(items[1:], 0, flag))
    near = dict.fromkeys([*_edges(items, 1, flag), "_", "-", " "])
    return [char for char in near if not _holds(items, char, flag)]


def _edges(items: Iterable[tuple[str, Any]], out: int, flag: int) -> Iterator[str]:
    """Yield the ends of each range of a class, or the neighbours ``out`` of them.

    A neighbour is what a shorthand holds elsewhere, and with this flag does not.
    """
    for kind, value in items:
        if kind == "LITERAL":
            yield chr(value)
        elif kind == "RANGE":
            yield chr(max(value[0] - out, 0))
            yield chr(min(value[1] + out, 0x10FFFF))
        elif kind == "CATEGORY":
            shorthand, some = CATEGORIES[value.name]
            known = 0 if out else flag
            yield from (c for c in some if re.match(shorthand, c, known))


def _holds(items: Iterable[tuple[str, Any]], char: str, flag: int) -> bool:
    """Tell whether a class holds a character."""
    for kind, value in items:
        if kind == "LITERAL" and ord(char) == value:
            return True
        if kind == "RANGE" and value[0] <= ord(char) <= value[1]:
            return True
        if kind == "CATEGORY" and re.match(CATEGORIES[value.name][0], char, flag):
            return True
    return False

"""The worlds in which each clause about a store is judged.

Each clause has worlds of its own, made of nothing but what it is about: the worlds of
all but one have the same three plain keys, so that a store which confuses keys is told
that, and not that it loses records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeAlias

from property_tests.stores import places
from property_tests.stores.calls import Do, StoreStep, StoreWorld
from property_tests.stores.expected import FaultKind

Draw: TypeAlias = Callable[[Random], Sequence[StoreStep]]
Fixed: TypeAlias = Callable[[], Iterator[Sequence[StoreStep]]]

KEYS: Final = ("k", "other", "third")
ODD_BYTES: Final = (
    "",
    "\0",
    " ",
    "\n",
    "\r\n",
    "line\nline\n",
    "{}",
    "null",
    "\xff\xfe",
    "\x80",
    "\xc3\xa4",
    "trailing  \t",
    "\0\0\0",
    "'; DROP",
    "".join(map(chr, range(256))),
)
"""Records that a store which looks into them would change."""
ODD_KEYS: Final = (
    ("a", "A"),
    ("a", "aa", "ab"),
    ("a", "a/b", "a/", "/a", "a//b"),
    (".", "..", "a.b", "a."),
    ("ä", "a\u0308"),
    ("a", "a ", " a", " "),
    ("a", "a\0", "a\0b", "\0"),
    ("k" * 300, "k" * 299, "k" * 5_000),
    ("é" * 200, "é" * 199),
    ("ß", "ss", "SS"),
    ("\u0131", "i", "I", "\u0130"),
    ("1", "01", "1.0"),
    ("a:b", "a%3Ab", "a_b", "a-b", "a?b", "a*b", "a%b"),
    ("line\nbreak", "line break", "line\r\nbreak"),
    ("🜂", "\ue000", "\uffff"),
    ("null", "None", "con", "nul"),
    ("a\\b", "a|b", '"a"', "'a'"),
    ("'; DROP TABLE records; --", "%", "_"),
    ("keys", "__init__", "..%2f..", "../up", "~"),
    ("\u202eabc", "abc", "\ufeffabc"),
)
"""Keys that one store or another takes for each other, or cannot write down."""
BAD_KEYS: Final = (
    ("", ""),
    ("a\ud800", ""),
    ("k", "bytes"),
    ("k", "int"),
    ("k", "no key"),
)
SIZES: Final = (
    *(255, 256, 4_095, 4_096, 4_097, 8_191, 65_535, 65_536, 65_537),
    *(262_143, 400_001, 999_999, 1_048_575, 1_048_577, 4_194_305, 16_777_217),
)
"""Bytes around what columns, pages and messages hold, up to 16 MiB and one."""
MANY: Final = 1_100
"""More than the thousand at which lists are often broken into pages."""


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """What judges one clause: worlds, and the faults that are another clause's."""

    clause: str
    fixed: Fixed
    draw: Draw
    needs: frozenset[str] = frozenset()
    also: FaultKind | None = None
    """What is a fault here and nowhere else."""

    @property
    def ignored(self) -> frozenset[FaultKind]:
        """The faults that are judged by another clause."""
        own: frozenset[FaultKind] = frozenset(("missing", "fields", "sorted", "type"))
        return own - {self.also}

    def worlds(self, drawn: int, seed: int) -> list[StoreWorld]:
        """Return the fixed worlds, and so many that are drawn, always the same."""
        found = [StoreWorld(tuple(each)) for each in self.fixed()]
        chance = Random(f"{seed} {self.clause}")  # noqa: S311  # no secret
        found.extend(
            StoreWorld(tuple(self.draw(chance)), fixed=False) for _ in range(drawn)
        )
        return found


def add(
    key: str = "k", record: str = "r", *, by: str = "1a", seq: int = -1
) -> StoreStep:
    """Return an append."""
    return StoreStep("append", by, key, seq, record)


def get(key: str = "k", *, by: str = "1a") -> StoreStep:
    """Return a read."""
    return StoreStep("read", by, key)


def _rows(chance: Random, keys: Sequence[str] = KEYS, most: int = 6) -> list[StoreStep]:
    """Return appends to some keys, each record another one."""
    count = chance.randint(1, most)
    return [add(chance.choice(keys), f"r{at}") for at in range(count)]


def _order() -> Iterator[Sequence[StoreStep]]:
    for count in range(1, 10):
        yield [*(add("k", f"r{at}") for at in range(count)), get()]
    for count in (11, 101):
        yield [*(add("k", f"r{at}") for at in range(count)), get()]
    yield [step for at in range(5) for step in (add("k", f"r{at}"), get())]
    yield [add(), add(), add("k", "s"), add(), get()]
    both = [add(key, f"{key} {at}") for at in range(4) for key in ("k", "other")]
    yield [*both, get("k"), get("other")]
    yield [add("k", f"r{9 - at}") for at in range(9)] + [get()]


def _draw_order(chance: Random) -> Sequence[StoreStep]:
    steps = [step for each in _rows(chance, most=14) for step in (each, get(each.key))]
    return [e for e in steps if e.do == "append" or chance.random() < 0.3] + [
        get(key) for key in dict.fromkeys(each.key for each in steps)
    ]


def _bytes() -> Iterator[Sequence[StoreStep]]:
    for each in ODD_BYTES:
        yield [add("k", each), add("k", "r"), get()]


def _draw_bytes(chance: Random) -> Sequence[StoreStep]:
    texts = [
        "".join(chr(chance.randrange(256)) for _ in range(chance.randint(0, 40)))
        for _ in range(chance.randint(1, 4))
    ]
    return [*(add("k", each) for each in texts), get()]


READ_OR_DELETE: Final[tuple[Do, ...]] = ("read", "delete")
KEYED: Final[tuple[Do, ...]] = ("append", "read", "delete")


def _numbers() -> Iterator[Sequence[StoreStep]]:
    for have in (0, 1, 3):
        rows = [add("k", f"r{at}") for at in range(have)]
        for seq in (0, 1, 2, 4, 2**31, 2**63, 2**80, -2, -(2**63)):
            if seq != have:
                wrong = add("k", "wrong", seq=seq)
                yield [*rows, wrong, get(), add("k", "right"), get()]
    yield [add(), add("k", "r", seq=0), get()]
    yield [add("k", "r"), add("other", "o", seq=1), get("other"), get()]


def _draw_numbers(chance: Random) -> Sequence[StoreStep]:
    steps = _rows(chance)
    for _ in range(chance.randint(1, 4)):
        key = chance.choice(KEYS)
        wrong = StoreStep(
            "append", "1a", key, chance.randint(0, 9), f"w{chance.random()}"
        )
        steps.insert(chance.randint(0, len(steps)), wrong)
    return [*steps, *map(get, KEYS)]


def _missing() -> Iterator[Sequence[StoreStep]]:
    for first in ((), (add(),), (add("k", "r"), StoreStep("keys"))):
        for do in READ_OR_DELETE:
            missing = StoreStep(do, "1a", "other")
            yield [*first, missing, missing, add("other", "r"), get("other")]
    yield [add("k", "r", seq=3), get()]
    yield [add(), StoreStep("delete", "1a", "k"), StoreStep("delete", "1a", "k"), get()]
    for key in ("kk", "K", "key", "k ", "k\0", "k/", "%", "*"):
        yield [add(), get(key), StoreStep("delete", "1a", key), get()]


def _draw_missing(chance: Random) -> Sequence[StoreStep]:
    steps = _rows(chance, KEYS[:2])
    for _ in range(chance.randint(2, 6)):
        do = chance.choice(READ_OR_DELETE)
        step = StoreStep(do, "1a", chance.choice(KEYS))
        steps.insert(chance.randint(0, len(steps)), step)
    return steps


def _delete() -> Iterator[Sequence[StoreStep]]:
    gone = StoreStep("delete", "1a", "k")
    for count in (1, 2, 3, 4, 12):
        rows = [add("k", f"r{at}") for at in range(count)]
        yield [*rows, gone, get(), add("k", "new"), get(), StoreStep("keys")]
        yield [*rows, gone, StoreStep("keys"), *rows, get()]
        yield [*rows, gone, add("k", "early", seq=count), get()]
    yield [add(), gone] * 4 + [add("k", "last"), get()]


def _draw_delete(chance: Random) -> Sequence[StoreStep]:
    steps: list[StoreStep] = []
    for _ in range(chance.randint(1, 4)):
        steps += [add("k", f"r{at}") for at in range(chance.randint(1, 4))]
        steps += [StoreStep("delete", "1a", "k"), get()][: chance.randint(1, 2)]
    return [*steps, add("k", "new"), get(), StoreStep("keys")]


def _delete_others() -> Iterator[Sequence[StoreStep]]:
    for mine in KEYS:
        for count in (1, 3):
            rows = [add(key, f"{key} {at}") for at in range(count) for key in KEYS]
            yield [
                *rows,
                StoreStep("delete", "1a", mine),
                *map(get, KEYS),
                StoreStep("keys"),
            ]
    for key in ("kk", "k2", "k-x", "k.x", "kx", "xk", "k_", "k1", "k9"):
        both = (add("k", "mine"), add(key, "theirs"))
        yield [*both, StoreStep("delete", "1a", "k"), get(key), StoreStep("keys")]


def _draw_delete_others(chance: Random) -> Sequence[StoreStep]:
    keys = [f"{chance.choice('kx')}{chance.randint(0, 20)}" for _ in range(5)]
    gone = [StoreStep("delete", "1a", chance.choice(keys)) for _ in range(2)]
    return [*(add(key, key) for key in keys), *gone, *map(get, keys), StoreStep("keys")]


def _keys() -> Iterator[Sequence[StoreStep]]:
    keys = StoreStep("keys")
    yield [keys]
    yield [get("k"), keys]
    yield [add("k", "r", seq=1), keys]
    yield [add(), keys, StoreStep("delete", "1a", "k"), keys]
    yield [add(), add(), add(), keys]
    yield [StoreStep("delete", "1a", "k"), keys]
    for count in range(2, 11):
        rows = [add(f"k{at}", "r") for at in range(count)]
        yield [*rows, keys, StoreStep("delete", "1a", "k1"), keys, add("k1", "r"), keys]


def _draw_keys(chance: Random) -> Sequence[StoreStep]:
    steps: list[StoreStep] = []
    for _ in range(chance.randint(3, 10)):
        key = chance.choice(KEYS)
        steps.append(
            chance.choice((add(key), StoreStep("delete", "1a", key), get(key)))
        )
        steps += [StoreStep("keys")] * (chance.random() < 0.5)
    return [*steps, StoreStep("keys")]


SORTED: Final = (
    ("b", "a"),
    ("a", "B", "A", "b"),
    ("10", "9", "1"),
    ("z", "ä", "a", "Z"),
    ("a b", "a", "a-b", "ab"),
    ("a10", "a9", "a"),
    ("\U0001f702", "\uffee", "a"),
    ("\ue000", "\U00010000", "z"),
    ("é", "e\u0301", "f", "e"),
    ("_", "A", "~", "a", " "),
    ("a/b", "a.b", "a0", "a"),
    ("ß", "st", "ss"),
    ("-1", "1", "0"),
    ("", "x", "y")[1:],
)
"""Keys whose order by case, number, language or UTF-16 is another one."""


def _sorted() -> Iterator[Sequence[StoreStep]]:
    for keys in SORTED:
        yield [*(add(key, "r") for key in keys), StoreStep("keys")]
        yield [*(add(key, "r") for key in reversed(keys)), StoreStep("keys")]


def _draw_sorted(chance: Random) -> Sequence[StoreStep]:
    letters = "aAbBzZ09 _-.äé~"
    keys = {"".join(chance.choices(letters, k=chance.randint(1, 3))) for _ in range(8)}
    mixed = chance.sample(sorted(keys), len(keys))
    return [*(add(key, "r") for key in mixed), StoreStep("keys")]


def _apart() -> Iterator[Sequence[StoreStep]]:
    for keys in ODD_KEYS:
        rows = [add(key, f"r{at}") for at, key in enumerate(keys)]
        yield [*rows, *map(get, keys), StoreStep("keys")]
        gone = StoreStep("delete", "1a", keys[0])
        yield [*rows, gone, *map(get, keys[1:]), StoreStep("keys")]


def _draw_apart(chance: Random) -> Sequence[StoreStep]:
    letters = "aA/.\\ \0:%_äÄß\u0308\u200b🜂\n"
    drawn = ["".join(chance.choices(letters, k=chance.randint(1, 6))) for _ in range(6)]
    keys = list(dict.fromkeys(drawn))
    rows = [add(key, f"r{at}") for at, key in enumerate(keys)]
    gone = StoreStep("delete", "1a", keys[0])
    return [*rows, *map(get, keys), StoreStep("keys"), gone, *map(get, keys[1:])]


def _bad_keys() -> Iterator[Sequence[StoreStep]]:
    for key, kind in BAD_KEYS:
        for do in KEYED:
            bad = StoreStep(do, "1a", key, 0, "r", kind=kind)
            yield [bad, StoreStep("keys")]
            yield [add(), bad, get(), StoreStep("keys")]


def _draw_bad_keys(chance: Random) -> Sequence[StoreStep]:
    at = chance.choice((0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xD83D))
    place = chance.choice(("{}", "a{}", "{}a", "a{}b", "\ud83d{}"))
    key = place.format(chr(at))
    do = chance.choice(KEYED)
    return [
        *_rows(chance),
        StoreStep(do, "1a", key, 0, "r"),
        *map(get, KEYS),
        StoreStep("keys"),
    ]


def _bad_records() -> Iterator[Sequence[StoreStep]]:
    for kind in ("bytearray", "memoryview", "str", "None"):
        for first in ((), (add(),), (add(), add())):
            bad = StoreStep("append", "1a", "k", len(first), "text", kind=kind)
            yield [*first, bad, get(), StoreStep("keys")]
            yield [*first, bad, add("k", "right"), get()]


def _draw_bad_records(chance: Random) -> Sequence[StoreStep]:
    kind = chance.choice(("bytearray", "memoryview", "str", "None"))
    bad = StoreStep("append", "1a", chance.choice(KEYS), record="text", kind=kind)
    return [*_rows(chance), bad, *map(get, KEYS), StoreStep("keys")]


def _own() -> Iterator[Sequence[StoreStep]]:
    spoil = StoreStep("spoil", "1a", "k")
    for count in (1, 2, 3, 5, 10):
        rows = [add("k", f"r{at}") for at in range(count)]
        yield [*rows, spoil, get(), StoreStep("keys")]
        yield [*rows, get(), spoil, add("k", "next"), get()]
        yield [*rows, add("other", "o"), spoil, get("other"), get(), StoreStep("keys")]


def _draw_own(chance: Random) -> Sequence[StoreStep]:
    steps = [add(), *_rows(chance, most=8)]
    for _ in range(chance.randint(1, 3)):
        spoil = StoreStep("spoil", "1a", "k")
        steps.insert(chance.randint(1, len(steps)), spoil)
    return [*steps, *map(get, KEYS), StoreStep("keys")]


def _sizes() -> Iterator[Sequence[StoreStep]]:
    for size in SIZES:
        big = StoreStep(
            "append", "1a", "k", record="\x00\xff\x80" + "x" * 13, times=size // 16
        )
        rest = StoreStep("append", "1a", "k", record="y", times=size % 16 or 1)
        yield [big, get(), rest, get()]
        yield [StoreStep("append", "1a", "k", record="z", times=size), get()]


def _draw_sizes(chance: Random) -> Sequence[StoreStep]:
    sizes = [int(2 ** chance.uniform(0, 18)) for _ in range(chance.randint(1, 4))]
    letters = [chr(chance.randrange(256)) for _ in sizes]
    bigs = [
        StoreStep("append", "1a", "k", record=letter, times=size)
        for letter, size in zip(letters, sizes, strict=True)
    ]
    return [*bigs, get()]


def _many() -> Iterator[Sequence[StoreStep]]:
    rows = [add("k", f"r{at}") for at in range(MANY)]
    yield [*rows, get(), add("k", "one more"), get()]
    yield [*(add(f"key {at:04}", "r") for at in range(MANY)), StoreStep("keys")]
    for count in (17, 33, 65, 101, 129, 201, 257):
        rows = [add("k", f"r{at}") for at in range(count)]
        yield [*rows, get(), StoreStep("delete", "1a", "k"), get()]
        yield [*(add(f"key {at:03}", "r") for at in range(count)), StoreStep("keys")]


def _draw_many(chance: Random) -> Sequence[StoreStep]:
    count = chance.randint(10, 60)
    keys = [f"key {chance.randint(0, 15)}" for _ in range(count)]
    rows = [add(key, f"r{at}") for at, key in enumerate(keys)]
    return [*rows, *map(get, dict.fromkeys(keys)), StoreStep("keys")]


def checks() -> tuple[StoreCheck, ...]:
    """Return what judges each clause, in the order of their ids."""
    alone = (
        StoreCheck("STO-001", _order, _draw_order),
        StoreCheck("STO-002", _bytes, _draw_bytes, also="type"),
        StoreCheck("STO-003", _numbers, _draw_numbers),
        StoreCheck("STO-004", _numbers, _draw_numbers, also="fields"),
        StoreCheck("STO-005", _missing, _draw_missing, also="missing"),
        StoreCheck("STO-006", _delete, _draw_delete),
        StoreCheck("STO-007", _delete_others, _draw_delete_others),
        StoreCheck("STO-008", _keys, _draw_keys),
        StoreCheck("STO-009", _sorted, _draw_sorted, also="sorted"),
        StoreCheck("STO-010", _apart, _draw_apart),
        StoreCheck("STO-011", _bad_keys, _draw_bad_keys),
        StoreCheck("STO-012", _bad_records, _draw_bad_records),
        StoreCheck("STO-013", _own, _draw_own),
        StoreCheck("STO-014", _sizes, _draw_sizes),
        StoreCheck("STO-015", _many, _draw_many),
    )
    placed = (
        StoreCheck(clause, fixed, draw, frozenset(needs))
        for clause, fixed, draw, needs in places.PLACED
    )
    return (*alone, *placed)

"""Worlds of several writers, several processes, and processes that are killed.

Where in a call a process is killed is a line of the store's own code, or a time in
milliseconds. The lines are found by making the call once before: those before which a
file was changed, and some between. Where a time falls is the machine's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Final, TypeAlias

from property_tests.stores.calls import Do, How, StoreStep

Draw: TypeAlias = Callable[[Random], Sequence[StoreStep]]
Fixed: TypeAlias = Callable[[], Iterator[Sequence[StoreStep]]]

POINTS: Final = range(15)
"""Places in an append or delete at which it is killed: after each change of a file."""
FARTHEST: Final = 40
"""The place that is drawn at most."""
BIG: Final = 20_000
"""Characters of a record that no buffer keeps back as a whole."""
MIXED: Final[tuple[Do, ...]] = ("append", "append", "read", "delete")
WRITING: Final[tuple[Do, ...]] = ("append", "append", "append", "delete")
ENDS: Final = (StoreStep("read"), StoreStep("keys"))


def racing(how: How) -> tuple[Fixed, Draw]:
    """Return the worlds in which several append at the same time."""

    def fixed() -> Iterator[Sequence[StoreStep]]:
        for racers in (2, 3, 4, 6):
            for many in (2, 5, 9):
                who = tuple((_object(how, at), "k") for at in range(racers))
                race = StoreStep("race", how=how, racers=who, many=many)
                yield [race, *ENDS]
                yield [StoreStep("append", record="first"), race, *ENDS]
        who = tuple((_object(how, at), f"k{at}") for at in range(4))
        race = StoreStep(
            "race", how=how, racers=who, many=5, record="x" * 40, times=100
        )
        yield [
            race,
            *(StoreStep("read", key=f"k{at}") for at in range(4)),
            StoreStep("keys"),
        ]
        who = tuple((_object(how, at), f"k{at % 2}") for at in range(4))
        race = StoreStep("race", how=how, racers=who, many=5)
        yield [
            race,
            StoreStep("read", key="k0"),
            StoreStep("read", key="k1"),
            StoreStep("keys"),
        ]

    def draw(chance: Random) -> Sequence[StoreStep]:
        keys = [f"k{at}" for at in range(chance.randint(1, 3))]
        who = tuple(
            (_object(how, at), chance.choice(keys))
            for at in range(chance.randint(2, 5))
        )
        race = StoreStep(
            *("race",),
            how=how,
            racers=who,
            many=chance.randint(2, 9),
            record="x" * chance.randint(0, 30),
            times=chance.choice((1, 1, 50, 500)),
        )
        used = dict.fromkeys(key for _, key in who)
        return [race, *(StoreStep("read", key=key) for key in used), StoreStep("keys")]

    return fixed, draw


def _object(how: How, at: int) -> str:
    return f"{at % 3 + 1}a" if how == "processes" else "1a"


def _others() -> Iterator[Sequence[StoreStep]]:
    for by in ("1b", "2a"):
        for count in (1, 2, 5):
            rows = [StoreStep("append", record=f"r{at}") for at in range(count)]
            see = [StoreStep("read", by), StoreStep("keys", by)]
            yield [*see, *rows, *see]
            yield [*rows, *see, StoreStep("delete"), *see]
            yield [
                *rows,
                StoreStep("append", by, record="theirs"),
                StoreStep("read"),
                *see,
            ]
            yield [
                *rows,
                StoreStep("delete", by),
                *ENDS,
                StoreStep("append", record="new"),
                *see,
            ]
        turns = ("1a", by, "1a", by)
        yield [
            s for who in turns for s in (StoreStep("append", who, record=who), *ENDS)
        ]
        wrong = StoreStep("append", by, seq=0, record="theirs")
        yield [StoreStep("append", record="mine"), wrong, *ENDS, StoreStep("read", by)]


def _draw_others(chance: Random) -> Sequence[StoreStep]:
    steps: list[StoreStep] = []
    for at in range(chance.randint(3, 10)):
        by, key = chance.choice(("1a", "1b", "2a")), chance.choice(("k", "other"))
        do = chance.choice(MIXED)
        steps.append(StoreStep(do, by, key, record=f"r{at}"))
        reader = chance.choice(("1a", "1b", "2a"))
        steps.append(StoreStep("read", reader, key))
    return [*steps, StoreStep("keys", "2a"), StoreStep("keys", "1b")]


def _loops() -> Iterator[Sequence[StoreStep]]:
    def own(do: str, at: int = 0) -> StoreStep:
        kinds = {"append": StoreStep("append", record=f"r{at}", how="loop")}
        return kinds.get(do) or (
            StoreStep("read", how="loop")
            if do == "read"
            else StoreStep("keys", how="loop")
        )

    for count in range(1, 11):
        rows = [own("append", at) for at in range(count)]
        yield [*rows, own("read"), own("keys")]
        yield [StoreStep("append"), *rows, *ENDS, own("read")]
        yield [s for at in range(count) for s in (own("append", at), StoreStep("read"))]


def _draw_loops(chance: Random) -> Sequence[StoreStep]:
    def how() -> How:
        return "loop" if chance.random() < 0.6 else ""

    rows = [StoreStep("append", record=f"r{at}", how=how()) for at in range(6)]
    steps = [s for each in rows for s in (each, StoreStep("read", how=how()))]
    return [*steps, StoreStep("keys", how=how())]


def _cancelled() -> Iterator[Sequence[StoreStep]]:
    for turns in range(12):
        cut = StoreStep("cancel", record="cut", many=turns)
        go_on = [StoreStep("append", record="next"), StoreStep("append", record="last")]
        yield [cut, StoreStep("read"), *go_on, *ENDS]
        yield [
            StoreStep("append"),
            cut,
            StoreStep("append", key="other"),
            *go_on,
            *ENDS,
        ]
        yield [StoreStep("append"), cut, cut, cut, *go_on, *ENDS]


def _draw_cancelled(chance: Random) -> Sequence[StoreStep]:
    rows = [StoreStep("append", record=f"r{at}") for at in range(chance.randint(0, 4))]
    cut = StoreStep("cancel", record="cut", many=chance.randint(0, 25), times=100)
    return [*rows, cut, StoreStep("read"), StoreStep("append", record="next"), *ENDS]


def _reopened() -> Iterator[Sequence[StoreStep]]:
    seen = [StoreStep("read", "2a"), StoreStep("keys", "2a")]
    for count in (1, 2, 3, 5, 8, 40):
        rows = [StoreStep("append", record=f"r{at}") for at in range(count)]
        yield [*rows, StoreStep("close"), *seen]
        yield [
            *rows,
            StoreStep("close"),
            *seen,
            StoreStep("append", "2a", record="new"),
            *seen,
        ]
        yield [*rows, StoreStep("delete"), StoreStep("close"), *seen]
        other = StoreStep("append", key="other", record="o")
        yield [
            *rows,
            other,
            StoreStep("delete"),
            StoreStep("close"),
            *seen,
            StoreStep("read", "2a", "other"),
        ]
        yield [*rows, StoreStep("close"), *seen, StoreStep("close", "2a"), *ENDS]


def _draw_reopened(chance: Random) -> Sequence[StoreStep]:
    steps: list[StoreStep] = []
    for turn in range(chance.randint(1, 3)):
        by = "12"[turn % 2] + "a"
        for at in range(chance.randint(1, 5)):
            key = chance.choice(("k", "other"))
            do = chance.choice(WRITING)
            steps.append(StoreStep(do, by, key, record=f"{turn} {at}"))
        steps.append(StoreStep("close", by))
    return [
        *steps,
        StoreStep("read", "3a"),
        StoreStep("read", "3a", "other"),
        StoreStep("keys", "3a"),
    ]


def _between() -> Iterator[Sequence[StoreStep]]:
    seen = [StoreStep("read", "2a"), StoreStep("keys", "2a")]
    kill = StoreStep("kill")
    for count in (1, 2, 3, 5, 8, 40):
        rows = [StoreStep("append", record=f"r{at}") for at in range(count)]
        yield [*rows, kill, *seen]
        yield [*rows, StoreStep("delete"), kill, *seen]
        yield [*rows, kill, *ENDS, StoreStep("append", record="new"), kill, *seen]
        other = StoreStep("append", key="other", record="o")
        yield [
            *rows,
            other,
            StoreStep("delete"),
            kill,
            *seen,
            StoreStep("read", "2a", "other"),
        ]
    big = StoreStep("append", record="b", times=BIG)
    yield [big, big, big, kill, *seen]


def _draw_between(chance: Random) -> Sequence[StoreStep]:
    steps: list[StoreStep] = []
    for at in range(chance.randint(1, 8)):
        key = chance.choice(("k", "other"))
        do = chance.choice(WRITING)
        steps.append(
            StoreStep(do, "1a", key, record=f"r{at}", times=chance.choice((1, 999)))
        )
        steps += [StoreStep("kill")] * (chance.random() < 0.2)
    return [
        *steps,
        StoreStep("kill"),
        StoreStep("read"),
        StoreStep("read", key="other"),
        StoreStep("keys"),
    ]


def _doomed(call: str, point: int = -1, after: float = 0.0) -> StoreStep:
    if call == "delete":
        return StoreStep("doom", call="delete", point=point, after=after)
    return StoreStep("doom", record="d", times=BIG, point=point, after=after)


def _inside(call: str) -> tuple[Fixed, Draw]:
    def fixed() -> Iterator[Sequence[StoreStep]]:
        rows = [StoreStep("append", record=f"r{at}", times=700) for at in range(3)]
        other = StoreStep("append", key="other", record="o")
        seen = [
            StoreStep("read", "2a"),
            StoreStep("read", "2a", "other"),
            StoreStep("keys", "2a"),
        ]
        for point in POINTS:
            yield [*rows, other, _doomed(call, point), *seen]
        if call == "append":
            for point in POINTS[::2]:
                yield [_doomed(call, point), *ENDS]
            for after in (0.3, 1, 2, 3, 5, 8, 13, 21):
                yield [*rows, _doomed(call, after=after), *ENDS]

    def draw(chance: Random) -> Sequence[StoreStep]:
        rows = [
            StoreStep("append", record=f"r{at}") for at in range(chance.randint(1, 5))
        ]
        point = chance.randint(0, FARTHEST)
        timed = call == "append" and chance.random() < 0.3
        after = round(chance.uniform(0.1, 12), 2) if timed else 0.0
        return [*rows, _doomed(call, -1 if timed else point, after), *ENDS]

    return fixed, draw


def _going_on() -> Iterator[Sequence[StoreStep]]:
    for call in ("append", "delete"):
        for point in POINTS:
            rows = [StoreStep("append", record=f"r{at}") for at in range(2)]
            other = StoreStep("append", key="other", record="o")
            yield [*rows, other, _doomed(call, point), *_on()]


def _on() -> Sequence[StoreStep]:
    """Return what a next process does: it reads, appends, deletes, and begins anew."""
    new = StoreStep("append", record="new")
    return [StoreStep("read"), new, StoreStep("read"), StoreStep("delete"), new, *ENDS]


def _draw_going_on(chance: Random) -> Sequence[StoreStep]:
    steps: list[StoreStep] = []
    for at in range(chance.randint(1, 3)):
        call = chance.choice(("append", "append", "delete"))
        point = chance.randint(0, FARTHEST)
        steps += [
            StoreStep("append", record=f"r{at}"),
            _doomed(call, point),
            StoreStep("read"),
        ]
    return [*steps, StoreStep("append", record="new"), *ENDS]


def _beside() -> Iterator[Sequence[StoreStep]]:
    for point in POINTS:
        mine = [
            StoreStep("append", record="r"),
            StoreStep("append", "2a", record="theirs"),
        ]
        after = [StoreStep("append", "2a", record="after"), StoreStep("read", "2a")]
        yield [*mine, _doomed("append", point), StoreStep("read", "2a"), *after]
        other = StoreStep("append", "2a", "other", record="o")
        seen = [StoreStep("read", "2a", "other"), StoreStep("keys", "2a")]
        yield [
            *mine,
            other,
            _doomed("delete", point),
            StoreStep("read", "2a"),
            *seen,
            *ENDS,
        ]


def _draw_beside(chance: Random) -> Sequence[StoreStep]:
    steps = [
        StoreStep("append", chance.choice(("1a", "2a")), chance.choice(("k", "other")))
        for _ in range(chance.randint(1, 5))
    ]
    call = chance.choice(("append", "delete"))
    doom = _doomed(call, chance.randint(0, FARTHEST))
    first = StoreStep("append", "2a", record="first")
    seen = [StoreStep("read", "2a"), StoreStep("append", "2a", "other", record="after")]
    return [
        first,
        *steps,
        doom,
        *seen,
        StoreStep("read", "2a", "other"),
        StoreStep("keys", "2a"),
    ]


def _torn() -> Iterator[Sequence[StoreStep]]:
    for torn in (0, 1, 10, 50, 100, 250, 333, 500, 666, 750, 900, 990, 999, 1000):
        cut = StoreStep("doom", record="t", times=3_000, torn=torn)
        yield [cut, *ENDS]
        rows = [StoreStep("append", record=f"r{at}", times=700) for at in range(3)]
        yield [*rows, cut, *_on()]


def _draw_torn(chance: Random) -> Sequence[StoreStep]:
    rows = [StoreStep("append", record=f"r{at}") for at in range(chance.randint(0, 4))]
    times = chance.choice((1, 100, BIG))
    cut = StoreStep("doom", record="t", times=times, torn=chance.randint(0, 1000))
    return [*rows, cut, *_on()]


PLACED: Final[tuple[tuple[str, Fixed, Draw, tuple[str, ...]], ...]] = (
    ("STO-016", *racing("tasks"), ()),
    ("STO-017", *racing("threads"), ("threads",)),
    ("STO-018", *racing("processes"), ("lasting", "processes")),
    ("STO-019", _others, _draw_others, ("lasting", "processes")),
    ("STO-020", _loops, _draw_loops, ("threads",)),
    ("STO-021", _cancelled, _draw_cancelled, ()),
    ("STO-022", _reopened, _draw_reopened, ("lasting",)),
    ("STO-023", _between, _draw_between, ("lasting",)),
    ("STO-024", *_inside("append"), ("lasting",)),
    ("STO-025", *_inside("delete"), ("lasting",)),
    ("STO-026", _going_on, _draw_going_on, ("lasting",)),
    ("STO-027", _beside, _draw_beside, ("lasting", "processes")),
    ("STO-028", _torn, _draw_torn, ("lasting", "files")),
)
"""Each clause with its worlds, and the capabilities that they need."""

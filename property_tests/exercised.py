"""What the scenarios of a corpus exercise: the clauses that each of them decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from compat.corpora.entries import CorpusEntry
from compat.spreading import Spread, UnitData
from property_tests.checks import CHECKS
from property_tests.corpus import VERSION
from property_tests.judging.spread_pool import KIND, answered

AT_ONCE: Final = 200
"""So many scenarios make a unit, which takes seconds."""
ROUND: Final = 32
"""So many units are under way: what is held is theirs."""
LIMIT: Final = 60.0


def with_exercised(
    entries: Iterable[CorpusEntry], spread: Spread | None = None
) -> Iterator[CorpusEntry]:
    """Yield the entries with the clauses that each decides on the reference engine.

    They are played here, or on a cluster; their order is kept. One that is refused, or
    that breaks off, decides none.
    """
    reading = iter(entries)
    while some := list(islice(reading, AT_ONCE * (ROUND if spread else 1))):
        parts = [some[at : at + AT_ONCE] for at in range(0, len(some), AT_ONCE)]
        units = [_unit(each) for each in parts]
        if spread is None:
            answers = dict(enumerate(map(answered, units)))
        else:
            answers = dict(spread.each(KIND, units))
        for at, part in enumerate(parts):
            replies = dict(answers[at]["replies"])
            for here, entry in enumerate(part):
                yield entry.with_exercised(replies.get(here, {}).get("decided", ()))


def _unit(entries: Sequence[CorpusEntry]) -> UnitData:
    worlds = [
        {"family": each.kind, "fixed": False, "scenario": each.scenario}
        for each in entries
    ]
    return {
        "about": {
            "engine": "reference",
            "profile": None,
            "clauses": sorted({each.clause for each in CHECKS}),
        },
        "corpus": {"version": VERSION, "seed": 0, "worlds": worlds},
        "requests": [{"op": "judge", "world": at} for at in range(len(worlds))],
        "limit": LIMIT,
        "cwd": str(Path.cwd()),
    }

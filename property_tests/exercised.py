"""What the scenarios of a corpus exercise: the clauses that each of them decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from compat.corpora.entries import CorpusEntry, answered_parts
from compat.spreading import Spread, UnitData, answers
from property_tests.checks import CHECKS
from property_tests.corpus import VERSION
from property_tests.judging.spread_pool import KIND, answered

AT_ONCE: Final = 100
"""So many scenarios make a unit, which takes seconds."""
LIMIT: Final = 60.0


def with_exercised(
    entries: Iterable[CorpusEntry], spread: Spread | None = None
) -> Iterator[CorpusEntry]:
    """Yield the entries with the clauses that each decides on the reference engine.

    They are played here, or on a cluster; their order is kept, and no more of them are
    held than are under way. One that is refused, or that breaks off, decides none.
    """

    def played(parts: Iterable[Sequence[CorpusEntry]]) -> Iterator[UnitData]:
        return answers(spread, KIND, answered, map(_unit, parts))

    for part, answer in answered_parts(entries, AT_ONCE, played):
        replies = dict(answer["replies"])
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

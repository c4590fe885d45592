"""Where in the user's code a divergence came about: the line that ran last before it.

Both sides play the smallest world once more, each statement of their own with a probe.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from compat.migration.differences import TraceChannels, index_of
from compat.migration.replies import SideFault
from compat.verdicts.migration import Difference, Migration, Side

if TYPE_CHECKING:
    from compat.migration.replies import SidePlayed
    from compat.migration.subject_runner import SubjectRunner


def with_places(
    verdict: Migration, old: SubjectRunner, new: SubjectRunner
) -> Migration:
    """Return the verdict with the lines of both sides, where they are known."""
    found, world = verdict.divergence, verdict.world
    if found is None or world is None:
        return verdict
    sides: tuple[tuple[Side, SubjectRunner], ...] = (("old", old), ("new", new))
    places: list[tuple[Side, str]] = []
    for name, runner in sides:
        try:
            played = runner.followed(world)
        except SideFault:  # it was played before: what is left out here is a hint
            continue
        for each in _before(found.difference, played):
            places.append((name, each))  # noqa: PERF401  # a comprehension loses types
    return replace(verdict, divergence=replace(found, places=tuple(places)))


def _before(difference: Difference, played: SidePlayed) -> Iterator[str]:
    """Yield the line that ran last before a difference, if any did."""
    entries = TraceChannels(played.jsonl).entries(difference.channel)
    at = index_of(difference.path)
    until = entries[at].seq if at < len(entries) else difference.seq
    # The world hears of what is done by what comes after it.
    before = [each for each in played.places if each.seen <= until]
    if before:
        last = max(before, key=lambda each: each.seen)
        yield f"{last.file}:{last.line}, in {last.function}"

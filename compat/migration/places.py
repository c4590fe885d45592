"""Where in the user's code a divergence came about: the line that ran last before it.

Both sides play the smallest world once more, each statement of their own with a probe.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from compat.migration.differences import TraceChannels, index_of
from compat.migration.replies import SideFault
from compat.verdicts.migration import DescribedDivergence, Migration, Side

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
        for each in _before(found, played, runner.builder):
            places.append((name, each))  # noqa: PERF401  # a comprehension loses types
    return replace(verdict, divergence=replace(found, places=tuple(places)))


def _before(
    found: DescribedDivergence, played: SidePlayed, builder: str
) -> Iterator[str]:
    """Yield the line that ran last before a difference, if any did.

    What only builds the agent has nothing to do with what differs in a run.
    """
    at = found.difference
    entries = TraceChannels(played.jsonl).entries(at.channel)
    place = index_of(at.path)
    until = entries[place].seq if place < len(entries) else at.seq
    # The world hears of what is done by what comes after it.
    before = [each for each in played.places if each.seen <= until]
    last = max(before, key=lambda each: each.seen, default=None)
    if last is None or (last.function == builder and found.where.startswith("run ")):
        return
    yield f"{last.file}:{last.line}, in {last.function}"

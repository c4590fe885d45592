"""Runs that were interrupted and went on, as the one run that each of them is.

Whoever asks about order, messages or tools asks it of a run, and not of the part of it
that came before a person was asked. What was entered again is left out, since it is the
same hook, wrapper or call that had begun before (contract INT, the law).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from property_tests.view import View, view
from refengine.profile import Profile
from refengine.testing.scenario import RunSpec, Scenario
from refengine.testing.trace import Observation, Trace

KEEPING: Final = frozenset(("resume", "checkpoint"))
"""Kinds of entries that tell that a run was kept, and of nothing in it."""


def joined(found: View) -> View | None:
    """Return the view of whole runs, None where their parts are not a whole.

    That is so under a profile that begins an interrupted iteration again or tells its
    events at once, and where a part has other options, or objects that count anew.
    """
    runs = found.scenario.runs
    if not found.scenario.keeps:
        return found
    rows = _rows(runs, found.trace)
    if not _is_law(found.profile) or _differ(found.scenario, rows):
        return None
    begun = [at for at, run in enumerate(runs, 1) if run.resume is None]
    numbers = {at: new for new, at in enumerate(begun, 1)}
    parts = {
        at: _Part(numbers[row[0]], first=at == row[0], last=at == row[-1])
        for row in rows
        for at in row
    }
    entries = Trace(_entries(found.trace, {0: _Part(0), **parts}))
    whole = view(_plain(found.scenario), found.profile, entries, found.variant)
    whole.resumed = len(runs) > len(whole.scenario.runs)
    return whole


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a run of that number, in the joined view."""

    run: int
    first: bool = True
    last: bool = True


def _rows(runs: Sequence[RunSpec], trace: Trace) -> list[list[int]]:
    """Return the numbers of the parts of each run, in order, from 1.

    What is resumed when its run has ended, or by another agent, is a part of no run.
    """
    asked = {each.run for each in trace if each.kind == "interrupt"}
    rows: list[list[int]] = []
    by_key: dict[str, list[int]] = {}
    for at, run in enumerate(runs, 1):
        if run.resume is None:
            rows.append([at])
            if run.checkpoint is not None:
                by_key[run.checkpoint] = rows[-1]
            continue
        row = by_key.get(run.resume, [])
        if row and row[-1] in asked and run.agent == runs[row[0] - 1].agent:
            row.append(at)
    return rows


def _is_law(profile: Profile) -> bool:
    """Tell whether a run is the same in parts as in one (contract INT)."""
    return (
        profile.resumed_iteration == "goes_on"
        and profile.events_at_interrupt == "held"
        and profile.tool_events == "call_order"
    )


def _differ(scenario: Scenario, rows: Sequence[Sequence[int]]) -> bool:
    """Tell whether a part of a run is another one than the run would have had."""
    parts = [[scenario.runs[at - 1] for at in row] for row in rows]
    if any(run.options != row[0].options for row in parts for run in row):
        return True
    anew = any(run.rebuild for row in parts for run in row)
    return anew and '"on_call"' in scenario.model_dump_json(exclude_defaults=True)


def _entries(trace: Trace, parts: dict[int, _Part]) -> Iterator[Observation]:
    """Yield the entries of whole runs, each under the number of its run."""
    for run, group in groupby(trace, key=lambda each: each.run):
        part = parts.get(run)
        if part is not None:
            seen = list(group)
            seen = seen if part.first else _further(seen)
            kept = (each for each in seen if part.last or not _ends(each))
            for each in kept:
                if each.kind not in KEEPING:
                    yield replace(each, run=part.run)


def _further(seen: Sequence[Observation]) -> list[Observation]:
    """Return what a further part of a run adds to it.

    Before it begins an agent may be built anew, from objects that are as the others.
    """
    begun = next((at for at, e in enumerate(seen) if e.kind == "run_start"), -1)
    return [e for e in seen[begun + 1 :] if e.data.get("reentry") is not True]


def _ends(seen: Observation) -> bool:
    """Tell whether an entry ends a part of a run that goes on."""
    told = seen.kind == "event" and seen.data.get("kind") == "interrupt"
    return told or seen.kind in {"run_end", "interrupt"}


def _plain(scenario: Scenario) -> Scenario:
    """Return the scenario without the runs that go on."""
    runs = tuple(each for each in scenario.runs if each.resume is None)
    return scenario.model_copy(update={"runs": runs})

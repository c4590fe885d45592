"""What workers do on one machine: throughput, what a unit costs, efficiency."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import repeat
from pathlib import Path
from typing import Final

from compat.cluster.opened import opened
from compat.cluster.units import packed
from compat.corpora.entries import CorpusEntry, read_entries, write_entries
from compat.corpora.operations import imported
from compat.observe.judging import KIND
from compat.spreading import Spread, UnitData
from property_tests.exercised import AT_ONCE, with_exercised
from refengine.errors import RefengineError
from refengine.testing.machine import facts
from tools.scale.million import ran, write_chats
from tools.scale.page import LARGE, Throughput, WorkerFigures

WORKERS: Final = (1, 2, 4)
ROUNDS: Final = 3
THIRD: Final = 3
"""Throughput, which is measured without the start, needs so much less of sessions."""
TASKS: Final = 1000
LARGE_TASKS: Final = 200


class OtherAnswerError(RefengineError):
    """Workers that answered something else than this process alone."""

    def __init__(self, workers: str) -> None:
        super().__init__(f"{workers} wrote another corpus than one process alone")


class _Counting:
    """Workers, and how many bytes went to and came from them."""

    def __init__(self, spread: Spread) -> None:
        self.asked = 0
        self.answered = 0
        self._spread = spread

    def each(
        self, kind: str, units: Iterable[UnitData]
    ) -> Iterator[tuple[int, UnitData]]:
        for at, answer in self._spread.each(kind, self._counted(units)):
            self.answered += len(packed(answer))
            yield at, answer

    def _counted(self, units: Iterable[UnitData]) -> Iterator[UnitData]:
        for each in units:
            self.asked += len(packed(each))
            yield each


def worker_figures(
    sessions: int, folder: Path, tell: Callable[[str], None]
) -> WorkerFigures:
    """Measure with so many sessions; raises StepFailedError and OtherAnswerError."""
    names = ["left.gz", "right.gz", "both.gz"]
    half = sessions // 2
    for name, numbers in zip(
        names, (range(half), range(half, sessions), range(sessions)), strict=True
    ):
        write_chats(folder / "chats.jsonl", numbers)
        write_entries(folder / name, imported([folder / "chats.jsonl"]))
    efficiency = tuple(_efficiency(folder, names, tell) for _ in range(ROUNDS))
    entries = list(read_entries(folder / "both.gz"))[: max(1, sessions // THIRD)]
    judged = len(entries)
    (alone, digest), asked, answered = _played(entries), 0, 0
    found = [Throughput(workers=0, start=0, sessions=judged / alone, tasks=None)]
    tell(f"{found[-1]}")
    large = 0.0
    for workers in WORKERS:
        began = time.perf_counter()
        with opened(f"local:{workers}") as spread:
            start = time.perf_counter() - began
            # Each worker imports what it needs before it is measured.
            list(with_exercised(entries[: AT_ONCE * workers], spread))
            counting = _Counting(spread)
            took, found_digest = _played(entries, counting)
            asked, answered = counting.asked, counting.answered
            tasks = TASKS / _answering(spread, TASKS, "")
            large = LARGE_TASKS / _answering(spread, LARGE_TASKS, "x" * LARGE)
        if found_digest != digest:
            raise OtherAnswerError(f"{workers} workers")
        found.append(
            Throughput(
                workers=workers, start=start, sessions=judged / took, tasks=tasks
            )
        )
        tell(f"{found[-1]}")
    return WorkerFigures(
        machine=facts(),
        sessions=judged,
        throughput=tuple(found),
        efficiency=efficiency,
        large_tasks=large,
        asked_bytes=asked / judged,
        answered_bytes=answered / judged,
    )


def _played(
    entries: list[CorpusEntry], spread: Spread | None = None
) -> tuple[float, str]:
    """Return the seconds that the entries took, and the digest of what came of them."""
    digest = sha256()
    began = time.perf_counter()
    for each in with_exercised(entries, spread):
        digest.update(each.line.encode())
    return time.perf_counter() - began, digest.hexdigest()


def _answering(spread: Spread, units: int, filler: str) -> float:
    """Return the seconds that so many units without rows take."""
    nothing: UnitData = {"rows": [], "profiles": None, "filler": filler}
    began = time.perf_counter()
    for _ in spread.each(KIND, repeat(nothing, units)):
        pass
    return time.perf_counter() - began


def _efficiency(folder: Path, names: list[str], tell: Callable[[str], None]) -> float:
    """Return the seconds of two single commands by those of one with two workers."""
    left, right, both = (
        ("corpus", "exercise", name, "--out", f"seen-{name}") for name in names
    )
    apart = ran(folder, left, right).seconds
    together = ran(folder, (*both, "--cluster", "local:2")).seconds
    seen = [list(read_entries(folder / f"seen-{name}")) for name in names]
    if [_facts(each) for each in seen[0] + seen[1]] != [_facts(e) for e in seen[2]]:
        raise OtherAnswerError("local:2")
    tell(f"side by side {apart:.1f} s, with local:2 {together:.1f} s")
    return apart / together


def _facts(entry: CorpusEntry) -> tuple[str, tuple[str, ...] | None]:
    """Return what does not tell the line that a chat stood in."""
    return entry.hash, entry.exercised

"""What is done with whole corpora: imported, counted, split, merged, sampled.

Each goes through the entries one by one; what is held are counts, hashes and samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from compat.corpora.entries import (
    CorpusEntry,
    CorpusWritten,
    SampledFrom,
    entry_of,
    read_entries,
    write_entries,
)
from compat.corpora.sampling import CorpusSample, counted, sampled
from compat.models.importing import import_lines, refuse_twice

SUFFIX: Final = ".jsonl.gz"


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """What a corpus holds: entries, those that are there twice, and of what kinds.

    ``unseen`` are entries that ``corpus exercise`` has not looked at.
    """

    entries: int
    equal: int
    kinds: Counter[str] = field(default_factory=Counter[str])
    strata: Counter[str] = field(default_factory=Counter[str])
    clauses: Counter[str] = field(default_factory=Counter[str])
    branches: Counter[str] = field(default_factory=Counter[str])
    unseen: int = 0


def imported(paths: Sequence[Path]) -> Iterator[CorpusEntry]:
    """Yield the sessions of files as entries; raises GivenFileError or OSError."""
    refuse_twice(paths)
    for path in paths:
        for world in import_lines(path):
            where = f", {world.where}" if world.where else ""
            yield entry_of(world.scenario, f"{path.name}{where}", world.kind)


def info_of(entries: Iterable[CorpusEntry]) -> CorpusInfo:
    """Return what a corpus holds."""
    seen: set[bytes] = set()
    kinds, strata, clauses = Counter[str](), Counter[str](), Counter[str]()
    branches = Counter[str]()
    count = unseen = 0
    for each in entries:
        count += 1
        seen.add(bytes.fromhex(each.hash))
        kinds[each.kind] += 1
        strata[each.stratum] += 1
        clauses.update(each.exercised or ())
        branches.update(each.branches or ())
        unseen += each.exercised is None and each.branches is None
    equal = count - len(seen)
    return CorpusInfo(count, equal, kinds, strata, clauses, branches, unseen)


def deduplicated(entries: Iterable[CorpusEntry]) -> Iterator[CorpusEntry]:
    """Yield each scenario once, where it stands first.

    A million of them are known by 16 bytes each.
    """
    seen: set[bytes] = set()
    for each in entries:
        key = bytes.fromhex(each.hash)
        if key not in seen:
            seen.add(key)
            yield each


def merged(paths: Sequence[Path]) -> Iterator[CorpusEntry]:
    """Yield the entries of several corpora, one after the other."""
    refuse_twice(paths)
    for path in paths:
        yield from read_entries(path)


def split(path: Path, parts: int, folder: Path) -> list[tuple[Path, CorpusWritten]]:
    """Write a corpus as so many; raises CorpusFileError or OSError.

    A scenario goes by its hash, so it is in the same part whatever stands beside it,
    and equal ones are together.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = path.name.removesuffix(SUFFIX)
    names = [folder / f"{stem}-{at + 1}-of-{parts}{SUFFIX}" for at in range(parts)]
    # Read once for each part: as many files that are written at the same time would
    # need a thread each.
    return [
        (name, write_entries(name, _part(path, at, parts)))
        for at, name in enumerate(names)
    ]


def _part(path: Path, at: int, parts: int) -> Iterator[CorpusEntry]:
    for each in read_entries(path):
        if int(each.hash[:8], 16) % parts == at:
            yield each


def sample_file(path: Path, size: int, seed: int, out: Path) -> CorpusSample:
    """Write a stratified sample of a corpus; raises SampleSizeError, as well."""
    counts = counted(read_entries(path))
    found = sampled(read_entries(path), counts, size, seed)
    write_entries(out, found.entries, SampledFrom(found.of, found.bound))
    return found

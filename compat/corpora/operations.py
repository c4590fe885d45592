"""What is done with whole corpora: imported, counted, split, merged, sampled.

Each goes through the entries one by one; what is held are counts, hashes and samples.

A stratified sample takes of each kind of session a share as large as the kind's share
of the corpus, and of each at least one. If none of them diverges, the share of the
corpus that does is below a bound, at a confidence of 95 %.

The bound is exact for the worst case. With the shares ``W`` of the strata, ``n`` of
each sampled and ``p`` of each diverging, a clean sample has the probability
``prod((1 - p) ** n)``; the bound is the largest ``sum(W * p)`` with which that is still
0.05. Where ``n`` is proportional to ``W`` it is that of a simple sample,
``1 - 0.05 ** (1 / n)``, about three in ``n``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from compat.corpora.entries import (
    CorpusEntry,
    CorpusWritten,
    SampledFrom,
    entry_of,
    read_entries,
    write_entries,
)
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


CONFIDENCE: Final = 0.95


class SampleSizeError(ValueError):
    """A sample that could not have one of each kind, or of nothing."""

    def __init__(self, size: int, strata: int) -> None:
        self.size = size
        super().__init__(
            f"a sample of {size} cannot have one of each of the {strata} kinds of"
            f" sessions: take {strata} or more"
        )


@dataclass(frozen=True, slots=True)
class Stratum:
    """One kind of session: so many in the corpus, so many of them in the sample."""

    name: str
    entries: int
    sampled: int


@dataclass(frozen=True, slots=True)
class CorpusSample:
    """A sample with its strata; ``entries`` are in the order of the corpus."""

    entries: tuple[CorpusEntry, ...]
    strata: tuple[Stratum, ...]

    @property
    def of(self) -> int:
        """So many entries the corpus has."""
        return sum(each.entries for each in self.strata)

    @property
    def bound(self) -> float:
        """The largest share that may diverge if none here does, at 95 %."""
        return clean_bound({each.name: each for each in self.strata})


def counted(entries: Iterable[CorpusEntry]) -> Counter[str]:
    """Return how many entries there are of each kind."""
    return Counter(each.stratum for each in entries)


def allotted(counts: Mapping[str, int], size: int) -> dict[str, int]:
    """Return how many of each kind a sample has; raises SampleSizeError.

    Each has one, and what is left is shared by the kinds' sizes; what a division
    leaves goes to the largest remainders, of equal ones to the first name.
    """
    total = sum(counts.values())
    if size >= total:
        return dict(counts)
    if size < len(counts):
        raise SampleSizeError(size, len(counts))
    shares = {name: count * size / total for name, count in counts.items()}
    found = {name: max(1, math.floor(share)) for name, share in shares.items()}
    order = sorted(counts, key=lambda name: (found[name] - shares[name], name))
    for name in order[: max(0, size - sum(found.values()))]:
        found[name] += 1
    return _cut(found, size)


def _cut(found: dict[str, int], size: int) -> dict[str, int]:
    """Take what rare kinds were given for nothing from the largest ones."""
    over = sum(found.values()) - size
    for name in sorted(found, key=lambda name: (-found[name], name)):
        less = min(over, found[name] - 1)
        found[name] -= less
        over -= less
    return found


def sampled(
    entries: Iterable[CorpusEntry], counts: Mapping[str, int], size: int, seed: int
) -> CorpusSample:
    """Return a sample of entries of which ``counts`` are known; seeded, in one pass.

    Each of a kind has the same chance (a reservoir for each kind), and no more entries
    are held than are sampled. Raises SampleSizeError.
    """
    wanted = allotted(counts, size)
    dice = Random(f"{seed}/{size}")  # noqa: S311  # a sample, no secret
    seen: Counter[str] = Counter()
    kept: dict[str, list[tuple[int, CorpusEntry]]] = {name: [] for name in wanted}
    for at, entry in enumerate(entries):
        name, most = entry.stratum, wanted[entry.stratum]
        seen[name] += 1
        if len(kept[name]) < most:
            kept[name].append((at, entry))
        elif (place := dice.randrange(seen[name])) < most:
            kept[name][place] = (at, entry)
    chosen = sorted((e for each in kept.values() for e in each), key=lambda e: e[0])
    strata = (Stratum(name, counts[name], wanted[name]) for name in sorted(wanted))
    return CorpusSample(tuple(entry for _, entry in chosen), tuple(strata))


def clean_bound(strata: Mapping[str, Stratum], confidence: float = CONFIDENCE) -> float:
    """Return the largest share that may diverge though nothing sampled does.

    What was sampled whole cannot. Of the others the worst shares are those at which one
    more session of any kind would help as much: ``1 - p = scale * n / W``, and never
    below 0; the scale at which a clean sample still has the chance is looked for.
    """
    total = sum(each.entries for each in strata.values())
    open_ = [each for each in strata.values() if each.sampled < each.entries]
    if not open_:
        return 0.0
    ratios = [(each.entries / total, each.sampled) for each in open_]
    chance = math.log(1 - confidence)

    def shares(scale: float) -> list[float]:
        return [max(0.0, 1 - scale * n / weight) for weight, n in ratios]

    def likelihood(scale: float) -> float:
        return sum(
            n * (math.log1p(-share) if share < 1 else -math.inf)
            for share, (_, n) in zip(shares(scale), ratios, strict=True)
            if n
        )

    low, high = 0.0, max(weight / n for weight, n in ratios if n)
    for _ in range(200):
        middle = (low + high) / 2
        if likelihood(middle) < chance:
            low = middle
        else:
            high = middle
    found = zip(shares(high), ratios, strict=True)
    return sum(share * weight for share, (weight, _) in found)

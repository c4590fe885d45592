"""How sharp a verdict is: a side, changed in small ways, in the worlds that it held in.

    changes of its code → the worlds that reach each → played until a first difference

Changes are played in children (``changed_plays``), as isolated as the side. What one
does is compared with what the side did unchanged, in the channels that are required to
be equal: NEW with NEW, and OLD with OLD, since small changes of one say nothing of what
the other's engine does for it. A child that ends, hangs, or takes too many steps or too
much memory has been noticed.

Plays are shared out before they are made, in rounds: so the answer is the same however
many children there are at a time.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final, Protocol

from compat.migration.changed_plays import (
    ApartSides,
    AskedChange,
    ChangedOutcome,
    ChangedPlays,
)
from compat.migration.differences import Mask, TraceChannels, broken
from compat.migration.own_code import (
    Owns,
    decoded,
    mentioned,
    owns_all,
    reached,
    trees_of,
)
from compat.migration.pairs import Progress, by_channel, silent
from compat.migration.remembered import ChangeMemory, ChangeOutcome, decisive
from compat.migration.replies import SideFault, SidePlayed
from compat.migration.reproducer import SideFiles
from compat.verdicts.migration import Side
from compat.verdicts.sharpness import EquivalentMark, Sharpness, Unnoticed
from refengine.testing.scenario import Scenario
from refengine.testing.small_changes import SmallChange, small_changes

# Which small changes are played, in which order: those of code that the subject can
# come to, since a module may hold other subjects, too. What names lead to is enough for
# that; a hook that a framework calls belongs to its class.

Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class FoundChange:
    """A small change of one of the files, and the text of its line.

    ``near`` are the lines that a world has to reach for it to matter; None if it
    matters wherever the subject is loaded.
    """

    file: str
    change: SmallChange
    source: str
    near: frozenset[Line] | None

    @property
    def pin(self) -> tuple[str, str, str]:
        """What a mark in the settings names it by."""
        return self.file, self.source, self.change.text

    @property
    def twin(self) -> tuple[str, int, str, str]:
        """What it has in common with others of its line that read like it."""
        return self.file, self.change.line, self.change.operator, self.change.text


FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def changes_of(
    side: SideFiles, old: Iterable[bytes], owns: Owns = owns_all
) -> list[FoundChange]:
    """Return all changes of a side's own code that its subject can come to.

    Lines that no source of ``old`` has come first, then the others, each in the order
    of files and lines.
    """
    files = side.files
    sources = {name: decoded(text) for name, text in files.items()}
    trees = trees_of(files)
    names = reached(trees, side)
    uses = {name: dict(_uses(tree)) for name, tree in trees.items()}
    known = {line.strip() for text in old for line in decoded(text).splitlines()}
    changes: list[FoundChange] = []
    for name in trees:
        lines = sources[name].splitlines()
        for change in small_changes(files[name]):
            led_to = not change.owners or not names.isdisjoint(change.owners)
            if led_to and owns(name, change.line):
                text = lines[change.line - 1].strip()
                near = _near(name, change, uses)
                changes.append(FoundChange(name, change, text, near))
    return sorted(changes, key=lambda each: each.source in known)


def spread(found: Sequence[FoundChange], most: int) -> list[FoundChange]:
    """Return so many of these changes at most, from all over them, in their order."""
    if len(found) <= most:
        return list(found)
    return [found[at * len(found) // most] for at in range(most)]


def _uses(tree: ast.Module) -> Iterator[tuple[str, set[int]]]:
    """Yield each name with the lines of the statements in functions that use it."""
    found: dict[str, set[int]] = {}
    inside = [
        each
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS)
        for each in node.body
    ]
    waiting = deque(inside)
    while waiting:
        node = waiting.popleft()
        parts = list(ast.iter_child_nodes(node))
        waiting += (each for each in parts if isinstance(each, ast.stmt))
        for part in parts:
            if not isinstance(part, ast.stmt):
                for name in mentioned(part):
                    found.setdefault(name, set()).add(node.lineno)
    yield from found.items()


def _near(
    file: str, change: SmallChange, uses: Mapping[str, Mapping[str, set[int]]]
) -> frozenset[Line] | None:
    if change.statement is not None:
        return frozenset([(file, change.statement)])
    lines = frozenset(
        (name, line)
        for name, used in uses.items()
        for owner in change.owners
        for line in used.get(owner, ())
    )
    return lines or None


# How they are played

AT_ONCE: Final = 2
"""So many processes play changes at a time."""
TOGETHER: Final = 24
"""So many changes share a process, one after the other."""
ROUNDS: Final = (8, 56, 1 << 30)
"""So many worlds a change is played in, in each round: most are noticed at once."""
A_CHANGE: Final = 5
"""A change takes as long as so many plays before it is played: no more are tried."""
STEPS: Final = 10_000
TIMES: Final = 20
"""A changed session may take so many steps, and so many times the usual ones."""


class ChangedSides(ApartSides, Protocol):
    """A side, of which there are children that have a small change."""

    @property
    def label(self) -> Side:
        """Which side it is."""
        ...

    @property
    def files(self) -> SideFiles:
        """The files that the subject was run from."""
        ...

    def usual(self, worlds: Sequence[Scenario]) -> Sequence[SidePlayed]:
        """Return what it does in these worlds; raises SideFault."""
        ...


@dataclass(frozen=True, slots=True)
class SharpnessTerms:
    """What differences count, and which changes cannot make any.

    Of all others ``least`` percent have to be noticed.
    """

    channels: Sequence[str]
    masks: Sequence[Mask] = ()
    marks: Sequence[EquivalentMark] = ()
    least: float = 0.0


@dataclass(slots=True)
class PlayedChange:
    """One change, the worlds that it is still to be played in, and what came of it."""

    found: FoundChange
    order: Sequence[int]
    played: int = 0
    noticed: bool = False
    anew: bool = False
    """Whether it was played in this check; else all of it was known before."""

    @property
    def left(self) -> int:
        """In how many worlds it could be played further."""
        return 0 if self.noticed else len(self.order) - self.played


class SharpnessMeter:
    """Plays the small changes of one subject in the worlds that it held in."""

    def __init__(
        self,
        sides: ChangedSides,
        worlds: Sequence[Scenario],
        terms: SharpnessTerms,
        progress: Progress = silent,
        memory: ChangeMemory | None = None,
    ) -> None:
        self._sides = sides
        self._worlds = worlds
        self._terms = terms
        self._progress = progress
        self._memory = memory or ChangeMemory()
        self._decisive: dict[tuple[str, int], str] = {}
        self._digests: list[str] = []
        self._usual: list[SidePlayed] = []
        self._channels: dict[int, TraceChannels] = {}
        self._limit = 0
        self._apart = ChangedPlays(sides, self._world, self._differs)
        self._changes: list[PlayedChange] = []
        self._plays = 0
        self._found = 0
        self._done = 0

    def measure(
        self,
        old: Iterable[bytes],
        plays: int,
        owns: Owns = owns_all,
    ) -> Sharpness:
        """Return which changes of the side the worlds notice, in so many plays.

        ``old`` are the sources of OLD: what they do not have is changed first. Only
        what the side ``owns`` is changed.
        """
        try:
            self._play_unchanged(self._worlds)
        except SideFault as fault:
            return self._refused(f"cannot be played once more: {fault}")
        reached = [text for each in self._usual for text in each.outside]
        if reached:  # a changed one would do that to something else
            return self._refused(f"{reached[0]}, which a changed one must not do")
        found = changes_of(self._sides.files, old, owns)
        self._found = len(found)
        found = spread(found, plays // A_CHANGE)
        self._changes = [PlayedChange(each, self._order(each)) for each in found]
        return self._played(plays)

    def _refused(self, why: str) -> Sharpness:
        refused = f"{self._sides.label.upper()} {why}"
        return Sharpness(least=self._terms.least, refused=refused)

    def further(self, worlds: Sequence[Scenario], plays: int) -> Sharpness:
        """Return what is left unnoticed when there are these worlds, too."""
        begin = len(self._worlds)
        try:
            self._play_unchanged(worlds)
        except SideFault:
            del self._usual[begin:], self._digests[begin:]
            return self._summed()
        self._worlds = [*self._worlds, *worlds]
        for each in self._changes:
            done = each.order[: each.played]
            known = frozenset(done)
            rest = [at for at in self._order(each.found) if at not in known]
            new = [at for at in rest if at >= begin]
            each.order = [*done, *new, *(at for at in rest if at < begin)]
        return self._played(plays)

    def _played(self, plays: int) -> Sharpness:
        left = plays
        for most in ROUNDS:
            left -= self._round(self._changes, most, left)
        self._plays += plays - left
        self._memory.write()
        return self._summed()

    def _play_unchanged(self, worlds: Sequence[Scenario]) -> None:
        usual = self._sides.usual(worlds)
        self._usual += usual
        self._digests += (
            self._memory.key(each.model_dump_json(exclude_defaults=True), did.jsonl)
            for each, did in zip(worlds, usual, strict=True)
        )
        most = max((each.steps or 0 for each in self._usual), default=0)
        self._limit = self._apart.steps = STEPS + TIMES * most

    def _order(self, found: FoundChange) -> list[int]:
        """Return the worlds that reach a change, the cheap and the different first."""
        groups: dict[frozenset[tuple[str, int]], list[int]] = {}
        for at, played in enumerate(self._usual):
            if played.refused is not None or played.unbuilt is not None:
                continue  # nothing of it ran there
            if found.near is None or not found.near.isdisjoint(played.lines):
                groups.setdefault(played.lines, []).append(at)
        ranked = (
            (rank, len(self._usual[at].jsonl), at)
            for group in groups.values()
            for rank, at in enumerate(
                sorted(group, key=lambda at: len(self._usual[at].jsonl))
            )
        )
        return [at for _, _, at in sorted(ranked)]

    def _round(self, changes: Sequence[PlayedChange], most: int, plays: int) -> int:
        """Play each change in so many worlds, as far as plays go; return how many.

        As long as a change could use up what is left, those behind it have to wait.
        """
        used, waiting = 0, [each for each in changes if each.left]
        while waiting:
            batch: list[tuple[PlayedChange, int]] = []
            given = 0
            for each in waiting:
                share = min(most, each.left, plays - used - given)
                if share > 0:
                    batch.append((each, share))
                    given += share
            if not batch:
                break
            parts = max(AT_ONCE, -(-len(batch) // TOGETHER))
            some = [batch[at::parts] for at in range(min(parts, len(batch)))]
            with ThreadPoolExecutor(AT_ONCE) as pool:
                used += sum(pool.map(self._play, some))
            done = {id(each) for each, _ in batch}
            waiting = [each for each in waiting if id(each) not in done]
        return used

    def _play(self, some: Sequence[tuple[PlayedChange, int]]) -> int:
        """Play changes until they are noticed, each in so many worlds; return how many.

        What is known to come of one needs no play, and counts as if it had been played.
        """
        begun = [each.played for each, _ in some]
        asked = [each for each in some if not self._recall(*each)]
        changes = [
            AskedChange(
                (each.found.file, each.found.change.number),
                each.order[each.played : each.played + most],
            )
            for each, most in asked
        ]
        outcomes = self._apart.outcomes(changes)
        for (each, _), outcome in zip(asked, outcomes, strict=True):
            self._settle(each, outcome)
        for first in begun:
            self._tell(first)
        both = zip(some, begun, strict=True)
        return sum(max(each.played - first, 1) for (each, _), first in both)

    def _recall(self, change: PlayedChange, most: int) -> bool:
        """Tell whether it is known what comes of a change, and put that down."""
        key = self._key(change)
        known = self._memory.outcome(key)
        last = min(change.played + most, len(change.order))
        known = known and known.within(last)
        if known is None or self._memory.file is None:
            return False
        change.noticed, change.played = known.noticed, known.played
        self._memory.learn(key, self._memory.outcome(key) or known)
        return True

    def _settle(self, change: PlayedChange, outcome: ChangedOutcome) -> None:
        change.anew = True
        change.played += outcome.played
        change.noticed = outcome.noticed
        if outcome.sure:
            known = ChangeOutcome(change.noticed, change.played)
            self._memory.learn(self._key(change), known)

    def _tell(self, begun: int) -> None:
        self._done += begun == 0
        self._progress("small changes", self._done, len(self._changes))

    def _key(self, change: PlayedChange) -> str:
        """Return what the outcome of a change is called in the memory."""
        found, worlds = change.found, (self._digests[at] for at in change.order)
        equal = [each for each in self._changes if each.found.twin == found.twin]
        which = equal.index(change)
        what = (*found.pin, found.change.operator, str(which), self._context(found))
        return self._memory.key(*what, str(self._limit), *worlds)

    def _context(self, found: FoundChange) -> str:
        """Return what else of NEW's code decides on a change."""
        place = found.file, found.change.line
        if place not in self._decisive:
            side = self._sides.files
            trees = trees_of(side.files)
            tops = (replace(side, name=top, entry="") for top in found.change.owners)
            names = [each for top in tops for each in reached(trees, top)]
            self._decisive[place] = decisive(trees, *place, names)
        return self._decisive[place]

    def _world(self, at: int) -> Scenario:
        return self._worlds[at]

    def _differs(self, at: int, played: SidePlayed) -> bool:
        usual = self._channels.setdefault(at, TraceChannels(self._usual[at].jsonl))
        terms = self._terms
        return bool(broken(usual, by_channel(played), terms.channels, terms.masks))

    def _summed(self) -> Sharpness:
        changes = self._changes
        tried = [
            each for each in changes if each.noticed or each.played or not each.order
        ]
        marks = {
            (each.file, each.line, each.change): each for each in self._terms.marks
        }
        unnoticed = [_unnoticed(each, marks) for each in tried if not each.noticed]
        needed = {each.found.pin for each in changes if not each.noticed}
        files = {each.found.file for each in changes}
        return Sharpness(
            tried=len(tried),
            noticed=sum(each.noticed for each in tried),
            unnoticed=tuple(sorted(unnoticed, key=lambda each: (each.file, each.line))),
            untried=self._found - len(tried),
            plays=self._plays,
            remembered=sum(bool(each.played) and not each.anew for each in changes),
            least=self._terms.least,
            stale=tuple(
                mark.pin
                for pin, mark in marks.items()
                if mark.file in files and pin not in needed
            ),
        )


def _unnoticed(
    each: PlayedChange, marks: Mapping[tuple[str, str, str], EquivalentMark]
) -> Unnoticed:
    found, mark = each.found, marks.get(each.found.pin)
    return Unnoticed(
        found.file,
        found.change.line,
        found.source,
        found.change.operator,
        found.change.text,
        found.change.needs,
        len(each.order),
        each.played,
        None if mark is None else mark.reason,
    )

"""The search for what is unnoticed: worlds steered to the edges of comparisons.

    worlds to begin with → what moves with which amount → edges → texts → questions

Both sides are played with probes at their comparisons (``SubjectRunner.watched``). A
world that takes a new arm, meets a new edge or shows a difference joins the corpus, and
is judged there like others: what is found here is not a verdict yet. All is counted in
plays and drawn by a seed, so a search finds the same everywhere (verdicts, Sharpness).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import Final

from compat.migration.corpus import MigrationWorld
from compat.migration.edges import (
    EDGES,
    AmountLine,
    KnownEdges,
    Spot,
    gaps,
    kinds_of,
    texts_of,
)
from compat.migration.options import SEARCH_PLAYS
from compat.migration.pairs import PlayError, Progress, silent
from compat.migration.replies import SidePlayed
from compat.migration.subject_runner import SubjectRunner, beside
from refengine.testing.compare_probes import Value
from refengine.testing.own_failures import failures_in
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import ScenarioError, read_scenario
from refengine.testing.subject_worlds.adk_worlds import adk_fitted
from refengine.testing.subject_worlds.fits import WorldFit
from refengine.testing.subject_worlds.graph_worlds import fitted, for_both
from refengine.testing.subject_worlds.kit import Data
from refengine.testing.subject_worlds.named_values import GraphWords
from refengine.testing.subject_worlds.seeds import (
    asked,
    document_slots,
    documents,
    questions,
    seeds,
)
from refengine.testing.subject_worlds.slots import CARRIERS, SLOTS, Slot, carried
from refengine.testing.subject_worlds.words import Dice, Words, matching

FAMILY: Final = "searched"
BASES: Final = 6
"""So many worlds are varied in every way."""
SHORT: Final = 16
"""So many short worlds of the corpus are begun with, beside the search's own."""
JOINED: Final = 40
BIG: Final = 40_000
BIG_JOINED: Final = 6
"""So many worlds join a corpus, and of those that are longer than that as text."""
ROUNDS: Final = 6
A_ROUND: Final = 48
MATCHED: Final = 8
"""So many texts that a pattern of the subject matches are begun with."""
PAIRS: Final = 60
"""So many pairs of edges are tried on one base."""
DECIMALS: Final = (12.34567, 2.5, 0.125)
A_BATCH: Final = 24
IDLE: Final = 20
"""After so many batches without a new world there is none."""
QUIET: Final = 168
"""After so many plays by dice that show nothing new, nothing is expected of more."""
NEW: Final = 10
"""What a world shows counts so much, at least, if it joins (``KnownEdges.learn``)."""
FAULTS: Final = 8
"""After so many worlds that cannot be played a search ends."""
WORD: Final = 40
"""A longer text is none that code looks for in others."""
LARGE: Final = 64
"""A number above that is no count of messages that a world has anyway."""

Both = Mapping[str, SidePlayed]
SideLine = tuple[str, str, int]
"""A side, one of its files, and a line there."""


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """What a search is given: words, budget, and which sites are looked at first.

    ``graphs`` are the words of graphs, None if it is extensions that are searched.
    ``differ`` tells whether two sides differ in what is required. ``first`` holds lines
    of either side: those, say, whose change went unnoticed.
    """

    words: Words
    graphs: GraphWords | None
    differ: Callable[[SidePlayed, SidePlayed], bool]
    plays: int = SEARCH_PLAYS
    seed: int = 0
    first: Collection[SideLine] = ()
    fits: Callable[[Scenario], bool] | None = None
    progress: Progress = silent
    fit: WorldFit | None = None


BROKEN: Final = 3
"""So many ways in which OLD's own code broke are told with a world."""


@dataclass(frozen=True, slots=True)
class FoundWorlds:
    """What a search found: worlds that join the corpus, and how many plays it took.

    The first one differs, if ``differing`` says so.
    """

    worlds: tuple[MigrationWorld, ...] = ()
    plays: int = 0
    differing: bool = False


class _EnoughError(Exception):
    """The search is over: no plays are left, or a difference is found."""


@dataclass(frozen=True, slots=True)
class SearchedSides:
    """Both sides, which tell what they compare, and what they did in which world.

    A second search with the same ones begins where the first did, and plays nothing
    that was played there.
    """

    old: SubjectRunner
    new: SubjectRunner
    played: dict[str, Both] = field(default_factory=dict[str, Both])


def search(
    sides: SearchedSides, corpus: Iterable[Scenario], plan: SearchPlan
) -> FoundWorlds:
    """Return the worlds that are found with both sides.

    Plays at most as often as planned; a side that cannot be played in a world shows
    nothing there.
    """
    made = _Search(sides, plan)
    with suppress(_EnoughError, PlayError):
        made.run(corpus)
    return made.found


@dataclass(slots=True)
class _Search:
    sides: SearchedSides
    plan: SearchPlan
    known: KnownEdges = field(default_factory=KnownEdges)
    plays: int = 0
    faults: int = 0
    gained: int = 0
    """How many plays there were when one last showed something new."""
    differing: list[MigrationWorld] = field(default_factory=list[MigrationWorld])
    joined: list[MigrationWorld] = field(default_factory=list[MigrationWorld])
    broken: dict[str, MigrationWorld] = field(default_factory=dict[str, MigrationWorld])
    big: int = 0
    seen: set[str] = field(default_factory=set[str])
    pool: list[tuple[Data, Both]] = field(default_factory=list[tuple[Data, Both]])
    met: dict[tuple[Spot, int], set[str]] = field(
        default_factory=dict[tuple[Spot, int], set[str]]
    )
    solved: dict[int, set[float]] = field(default_factory=dict[int, set[float]])
    edges: dict[int, dict[tuple[int, float], None]] = field(
        default_factory=dict[int, dict[tuple[int, float], None]]
    )
    slots: tuple[Slot, ...] = SLOTS

    @property
    def found(self) -> FoundWorlds:
        worlds = (*self.differing, *self.joined, *self.broken.values())
        return FoundWorlds(worlds, self.plays, bool(self.differing))

    def run(self, corpus: Iterable[Scenario]) -> None:
        """Go through all ways to find a world; raises _EnoughError at the end."""
        self.slots = (*SLOTS, *document_slots(self.plan.words))
        self._begin(corpus)
        bases = self._bases()
        self._lines(bases)
        self._decimals(bases)
        self._texts(bases)
        self._pairs(bases)
        self._sizes(bases)
        self._long_texts()
        self._questions(bases)
        self._wander(bases)

    # Playing

    def _play(self, some: Iterable[Data | None]) -> list[Both | None]:
        """Play worlds on both sides; None for those that show nothing."""
        made = [None if each is None else self._read(each) for each in some]
        out: list[Both | None] = [None] * len(made)
        waiting: list[tuple[int, str, Scenario]] = []
        for at, each in enumerate(made):
            known = None if each is None else self.sides.played.get(each[0])
            if each is not None and known is not None:
                out[at] = self._shown(each[1], known)
            elif each is not None:
                waiting.append((at, *each))
        while waiting:
            left = (self.plan.plays - self.plays) // 2
            if left < 1:
                raise _EnoughError
            batch = waiting[:left]
            done = 0
            try:
                played = self._both([world for _, _, world in batch])
                for (at, key, world), both in zip(batch, played, strict=True):
                    self.plays += 2
                    done += 1
                    self.sides.played[key] = both
                    out[at] = self._shown(world, both)
            except PlayError:
                self.plays += 2
                done += 1
                self.faults += 1
                if self.faults > FAULTS:
                    raise
            waiting = waiting[done:]
            self.plan.progress("searching", self.plays, self.plan.plays)
            if self.differing:
                raise _EnoughError
        return out

    def _shown(self, world: Scenario, both: Both) -> Both | None:
        """Learn from a world; None if it shows nothing, as OLD cannot be run there."""
        if both["old"].refused is not None:
            self._keep_broken(world, both)
            return None
        self._learn(world, both)
        return both

    def _keep_broken(self, world: Scenario, both: Both) -> None:
        """Have a world join in which OLD's own code broke: nobody else tells of it."""
        failure = next(failures_in(both["old"].jsonl), None)
        if failure is not None and len(self.broken) < BROKEN:
            entry = MigrationWorld(world, FAMILY, fixed=False)
            self.broken.setdefault(str(failure), entry)

    def _both(self, worlds: Sequence[Scenario]) -> Iterator[Both]:
        for old, new in beside(self.sides.old, self.sides.new, worlds):
            if not isinstance(old, SidePlayed) or not isinstance(new, SidePlayed):
                raise TypeError(old)  # it is runners that are searched with
            yield {"old": old, "new": new}

    def _learn(self, world: Scenario, both: Both) -> None:
        entry = MigrationWorld(world, FAMILY, fixed=False)
        gained = self.known.learn(both)
        self.gained = self.plays if gained >= NEW else self.gained
        old, new = both["old"], both["new"]
        if old.jsonl != new.jsonl and self.plan.differ(old, new):
            self.differing.append(entry)
        elif gained >= NEW and len(self.joined) < JOINED:
            large = len(old.jsonl) > BIG
            self.big += large
            if not large or self.big <= BIG_JOINED:
                self.joined.append(entry)

    def _read(self, data: Data) -> tuple[str, Scenario] | None:
        """Return a new world of this search, with its text, if it is one."""
        if self.plan.graphs is not None:
            data = (adk_fitted if self.plan.graphs.adk else fitted)(data)
            data = for_both(data, self.plan.graphs)
        elif self.plan.fit is not None:
            data = self.plan.fit.fitted(data)
        key = json.dumps(data, sort_keys=True)
        if key in self.seen:
            return None
        self.seen.add(key)
        try:
            world = read_scenario(data, "a world that is searched")
        except ScenarioError:
            return None
        fits = self.plan.fits is None or self.plan.fits(world)
        return (key, world) if fits else None

    # Where it begins

    def _begin(self, corpus: Iterable[Scenario]) -> None:
        own = list(seeds(self.plan.words, self.plan.graphs))
        short = [
            world.model_dump(mode="json", exclude_defaults=True)
            for world in corpus
            if len(world.runs) <= 3 and len(world.model_script) <= 5 and world.agent
        ]
        step = max(1, len(short) // SHORT)
        # What a pattern matches has to be there before a number in it can be moved.
        texts = [t for each in self.plan.words.patterns for t in matching(each)[:2]]
        matched = [carried("user", own[0], text) for text in texts[:MATCHED]]
        some = [*own, *filter(None, matched), *short[::step][:SHORT]]
        played = self._play(some)
        self.pool += [
            (data, both) for data, both in zip(some, played, strict=True) if both
        ]
        self.joined.clear()  # what the corpus shows as well is nothing new
        self.big = 0

    def _bases(self) -> list[tuple[Data, Both]]:
        """Return the worlds that together reach most: each one reaches more."""
        left, reached = list(self.pool), set[tuple[str, str, int]]()
        bases: list[tuple[Data, Both]] = []
        while left and len(bases) < BASES:
            best = max(left, key=lambda each: len(_reached(each[1]) - reached))
            more = _reached(best[1]) - reached
            if not more and bases:
                break
            reached |= more
            bases.append(best)
            left.remove(best)
        return bases

    # Amounts

    def _lines(self, bases: Sequence[tuple[Data, Both]]) -> None:
        """Move each base along each slot, and bring what moves to its edges."""
        lines = [
            AmountLine(base, slot, self.slots[slot].whole)
            for base in range(len(bases))
            for slot in range(len(self.slots))
        ]
        self._moved(bases, [(line, self.slots[line.slot].first[1]) for line in lines])
        lines = [line for line in lines if any(self._moves(line, bases[line.base][1]))]
        self._moved(bases, [(line, self.slots[line.slot].first[0]) for line in lines])
        for _ in range(ROUNDS):
            wanted = self._wanted(lines)
            if not wanted:
                break
            self._moved(bases, wanted)

    def _moved(
        self,
        bases: Sequence[tuple[Data, Both]],
        wanted: Sequence[tuple[AmountLine, float]],
    ) -> None:
        worlds = [self.slots[ln.slot].filled(bases[ln.base][0], n) for ln, n in wanted]
        for (line, amount), both in zip(wanted, self._play(worlds), strict=True):
            if both is None:
                line.failed.add(amount)
                continue
            line.points[amount] = both
            if any(_at_edge(each) for each in both.values()):
                self.edges.setdefault(line.base, {})[line.slot, amount] = None
            for side, each in both.items():
                for site, entries in each.compared.items():
                    met = self.met.setdefault(((side, site), line.slot), set())
                    met |= {kind for entry in entries for kind in kinds_of(entry)}

    def _moves(self, line: AmountLine, base: Both) -> Iterator[bool]:
        for both in line.points.values():
            for side, each in both.items():
                for site, entries in each.compared.items():
                    yield gaps(entries) != gaps(base[side].compared.get(site, ()))

    def _wanted(self, lines: Sequence[AmountLine]) -> list[tuple[AmountLine, float]]:
        """Return what to play next: first for edges that no slot has met."""
        ranked: list[tuple[int, float, int, AmountLine, float, Spot]] = []
        for line in lines:
            for spot, amount in line.proposals(self._is_open):
                if amount <= self.slots[line.slot].most:
                    ranked.append(
                        (self._rank(spot), amount, len(ranked), line, amount, spot)
                    )
        chosen: dict[tuple[int, float], tuple[AmountLine, float]] = {}
        share: dict[tuple[Spot, int], int] = {}
        for _, _, _, line, amount, spot in sorted(ranked, key=lambda each: each[:3]):
            key = spot, line.slot
            if share.get(key, 0) < 5:
                share[key] = share.get(key, 0) + 1
                chosen[id(line), amount] = line, amount
                self.solved.setdefault(line.slot, set()).add(amount)
        return list(chosen.values())[:A_ROUND]

    def _is_open(self, spot: Spot, slot: int) -> bool:
        return not self.met.get((spot, slot), set()) >= EDGES

    def _rank(self, spot: Spot) -> int:
        """Return how much a site matters: what was asked for, then what is not met."""
        side, number = spot
        runner = self.sides.old if side == "old" else self.sides.new
        site = runner.sites[number]
        if (side, site.file, site.line) in self.plan.first:
            return 0
        return 1 if self.known.is_open(spot) else 2

    def _pairs(self, bases: Sequence[tuple[Data, Both]]) -> None:
        """Bring two comparisons to their edges at once, by two places of a world."""
        dice = Dice(f"{self.plan.seed}/pairs")
        for base, edges in self.edges.items():
            pairs = dice.shuffled(
                [(a, b) for a, b in combinations(edges, 2) if a[0] != b[0]]
            )
            worlds = [
                made and self.slots[two].filled(made, more)
                for (one, amount), (two, more) in pairs[:PAIRS]
                for made in (self.slots[one].filled(bases[base][0], amount),)
            ]
            self._play(worlds)

    def _decimals(self, bases: Sequence[tuple[Data, Both]]) -> None:
        """Put numbers with many decimals where numbers are: who rounds shows it."""
        numbers = [each for each in self.slots if each.name.endswith("number")]
        self._play(
            replace(slot, whole=False).filled(base[0], amount)
            for base in bases
            for slot in numbers
            for amount in DECIMALS
        )

    # Texts

    def _texts(self, bases: Sequence[tuple[Data, Both]]) -> None:
        """Put what a text is compared with into the place that the text came from."""
        wanted = dict.fromkeys(
            (base, carrier, text)
            for base, (_, both) in enumerate(bases)
            for played in both.values()
            for entries in played.compared.values()
            for left, right, _ in entries
            for carrier, text in _exchanged(left, right)
        )
        worlds = [
            carried(carrier, bases[base][0], text) for base, carrier, text in wanted
        ]
        for start in range(0, min(len(worlds), 2 * A_ROUND), A_ROUND):
            self._play(worlds[start : start + A_ROUND])

    def _sizes(self, bases: Sequence[tuple[Data, Both]]) -> None:
        """Make what is as long as each large number, whoever compares it."""
        numbers = self._large_numbers()[:8]
        some = (
            [
                slot.filled(bases[0][0], amount)
                for number in numbers
                for slot, amounts in (
                    (self.slots[0], (number, number + 1, 4 * number + 4)),
                    (self.slots[1], (number, number + 1)),
                )
                for amount in amounts
            ]
            if bases
            else []
        )
        self._play(some[:A_ROUND])

    def _large_numbers(self) -> list[int]:
        return [each for each in self.plan.words.numbers if each > LARGE]

    def _long_texts(self) -> None:
        """Put each word into texts as long as each large number and a letter more.

        Code that looks into long texts only compares no word in a short one.
        """
        world = next(iter(seeds(self.plan.words, self.plan.graphs)))
        numbers = self._large_numbers()[:4]
        words = [each for each in self.plan.words.texts if len(each) <= WORD]
        made = (
            carried(carrier, world, f"{word} ".ljust(number + 1, "x"))
            for number in numbers
            for word in words
            for carrier in ("user", "result")
        )
        self._play(islice(made, A_ROUND))

    def _questions(self, bases: Sequence[tuple[Data, Both]]) -> None:
        """Ask for what the subject's own long texts hold."""
        texts = list(questions(self.plan.words.texts))
        for base in bases[:2]:
            for carrier in ("user", "argument"):
                if texts and _carries(base, carrier):
                    self._play(carried(carrier, base[0], text) for text in texts[:40])

    def _wander(self, bases: Sequence[tuple[Data, Both]]) -> None:
        """Go on by dice, two and three changes at once, as long as that shows more.

        Where every arm and edge is known that worlds come to, dice are all that is
        left, and most searches would spend three of four plays on them.
        """
        dice = Dice(f"{self.plan.seed}/search")
        pool = [data for data, _ in bases]
        texts = list(self.plan.words.some_texts[:40])
        some = documents(self.plan.words.texts)
        idle, self.gained = 0, self.plays
        while pool and idle < IDLE and self.plays - self.gained < QUIET:
            batch: list[Data | None] = []
            for _ in range(A_BATCH):
                data: Data | None = dice.pick(pool)
                for _ in range(1 + dice.below(3)):
                    if data is not None:
                        data = self._varied(dice, data, texts, some)
                batch.append(data)
            before = len(self.joined)
            idle = 0 if any(self._play(batch)) else idle + 1
            pool += [
                entry.scenario.model_dump(mode="json", exclude_defaults=True)
                for entry in self.joined[before:]
            ]

    def _varied(
        self,
        dice: Dice,
        data: Data,
        texts: Sequence[str],
        some: Sequence[Sequence[str]],
    ) -> Data | None:
        if dice.chance(3) and texts:
            text = asked(dice, some) if some and dice.chance(2) else dice.pick(texts)
            return carried(dice.pick(list(CARRIERS)), data, text)
        slot = dice.below(len(self.slots))
        amounts = sorted(self.solved.get(slot, ())) or list(
            self.plan.words.some_numbers
        )
        amount = dice.pick(amounts) + dice.below(3) - 1
        if self.slots[slot].most >= 10**5 and amount > 5_000 and not dice.chance(8):
            amount = dice.below(LARGE)
        return self.slots[slot].filled(data, amount)


def _at_edge(played: SidePlayed) -> bool:
    kinds = {
        kind
        for entries in played.compared.values()
        for each in entries
        for kind in kinds_of(each)
    }
    return not kinds.isdisjoint(EDGES)


def _reached(both: Both) -> set[tuple[str, str, int]]:
    arms = {("arm", side, arm) for side, each in both.items() for arm in each.arms}
    return arms | {
        ("site", side, site) for side, each in both.items() for site in each.compared
    }


def _exchanged(left: Value, right: Value) -> Iterator[tuple[str, str]]:
    """Yield places for texts, and what would make their comparison true."""
    for one, other in ((left, right), (right, left)):
        held = " ".join(texts_of(one)).lower()
        for carrier, (mark, _) in CARRIERS.items():
            if mark in held:
                for text in texts_of(other):
                    for each in (text, f"so {text} more", text.upper(), text[:-1]):
                        if each.strip() and mark not in each:
                            yield carrier, each


def _carries(base: tuple[Data, Both], carrier: str) -> bool:
    return CARRIERS[carrier][0] in json.dumps(base[0])

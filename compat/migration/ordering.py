"""Auditing the order of a stack: each two of its extensions in both orders.

    subject → its lists → pairs, the nearest first → a check of each → the worst first

OLD is the stack as it is, and plays its worlds once; NEW is the same with one extension
moved past another one. Neighbours are exchanged. Two that do not stand side by side are
tried only where one of them may pass all that stand between: else it would be one of
these that is seen. So what a pair shows is its own, and the exchange of neighbours,
which is what a person does to a list, is always tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final, TypeAlias

from compat.migration.check import Checked, code_of, corpus_of, judging
from compat.migration.corpus import Corpus
from compat.migration.judge import Terms
from compat.migration.pairs import WORST, PlayError, rank
from compat.migration.refs import PYTHON, RefError, SubjectRef
from compat.migration.settings import MeantOrder
from compat.migration.subject_process import prepare
from compat.migration.subject_runner import SEEDS, CheckOptions, SubjectRunner
from compat.verdicts.exit_codes import (
    DIFFERS,
    FAULT,
    INTERRUPTED,
    NOTHING_RAN,
    OK,
    STALE,
    USAGE,
    exit_code,
)
from compat.verdicts.order import (
    JudgedOrder,
    OrderAudit,
    UntriedOrder,
    UnusedOrder,
)
from refengine.testing.ordering import Move

LOOKED_AT: Final = 60
"""In so many worlds of the corpus lists are looked for before anything is moved."""
SEVERITIES: Final = ("error", "warning", "info")
WORST_OF_ORDERS: Final = (*WORST, ("MISSING_CALL", "tool_executions"))
"""Of two orders neither is the right one: a tool that runs in OLD alone may be one that
should not, such as that which a guard has let pass."""

Pair: TypeAlias = tuple[str, str, str]
Names: TypeAlias = Sequence[str]
Judge: TypeAlias = Callable[[SubjectRef, Terms], Checked]


@dataclass(frozen=True, slots=True)
class FoundPair:
    """Two entries of a list, and what stands between them."""

    place: str
    first: str
    then: str
    between: tuple[str, ...]

    @property
    def key(self) -> Pair:
        """What names it."""
        return self.place, self.first, self.then


@dataclass(slots=True)
class OrderAuditor:
    """Audits one subject; at most ``most`` pairs are tried."""

    ref: SubjectRef
    terms: Terms
    meant: Sequence[MeantOrder]
    how: CheckOptions
    most: int
    _commutes: dict[Pair, bool] = field(default_factory=dict[Pair, bool])
    _judged: list[JudgedOrder] = field(default_factory=list[JudgedOrder])
    _untried: list[UntriedOrder] = field(default_factory=list[UntriedOrder])

    def audit(self) -> OrderAudit:
        """Return what becomes of each pair.

        Raises RefError, and UnusedFileError for a file that was given for nothing.
        """
        if self.ref.language != PYTHON:
            raise RefError(
                f"{self.ref} is in {self.ref.language}: lists of extensions can be"
                " reached in Python only; write the other order down, and compare both"
                " by migrate check"
            )
        ref = replace(self.ref, order=())
        prepare(ref, SEEDS.values(), self.how.reach)
        corpus = corpus_of([ref, ref], self.how, self.terms.outside)
        self.how.given.used(corpus)
        base = OrderAudit(self.terms.required, len(corpus.worlds), corpus.digest)
        try:
            lists = self._lists(ref, corpus)
        except PlayError as error:
            return replace(base, fault=error.fault)
        if not pairs_of(lists):
            return replace(base, lists=longest(lists))
        with judging(ref, corpus, self.how, explain=True) as judged:
            return self.tried(base, lists, judged)

    def tried(
        self, base: OrderAudit, lists: Sequence[tuple[str, Names]], judged: Judge
    ) -> OrderAudit:
        """Return what becomes of each pair of these lists, however it is judged."""
        interrupted = False
        try:
            for pair in pairs_of(lists):
                self._try(pair, judged)
        except KeyboardInterrupt:
            interrupted = True
        return replace(
            base,
            lists=longest(lists),
            judged=ranked(self._judged),
            untried=self._untried,
            unused=() if interrupted else tuple(self._unused()),
            volatile=self._volatile(),
            interrupted=interrupted,
        )

    def _lists(self, ref: SubjectRef, corpus: Corpus) -> Sequence[tuple[str, Names]]:
        """Return the lists that the subject gives in worlds of all kinds."""
        worlds = [each.scenario for each in corpus.worlds]
        some = worlds[:: max(1, len(worlds) // LOOKED_AT)]
        runner = SubjectRunner(ref, "old", self.how)
        try:
            for _ in runner.play_all(some):
                pass
            return runner.lists
        finally:
            runner.close()

    def _try(self, pair: FoundPair, judged: Judge) -> None:
        """Judge one pair, or say why not."""
        if len(self._judged) >= self.most:
            self._leave(pair, f"there are more than {self.most} pairs (--pairs)")
            return
        move = self._move(pair)
        if move is None:
            why = f"neither may pass all that stands between: {_all(pair.between)}"
            self._leave(pair, why)
            return
        moved = f"{move.name} {'behind' if move.behind else 'before'} {move.other}"
        new = replace(self.ref, order=(move,), text=f"{self.ref.text}, {moved}")
        verdict = judged(new, replace(self.terms, worst=WORST_OF_ORDERS)).verdict
        meant = next((e.reason for e in self.meant if _names(e, pair)), "")
        self._judged.append(
            JudgedOrder(*pair.key, moved=moved, verdict=verdict, meant=meant)
        )
        self._commutes[pair.key] = self._judged[-1].commutes
        if verdict.interrupted:
            raise KeyboardInterrupt

    def _leave(self, pair: FoundPair, why: str) -> None:
        self._untried.append(UntriedOrder(*pair.key, why=why))

    def _move(self, pair: FoundPair) -> Move | None:
        """Return by which move both change places and nothing else is to be seen."""
        place, first, then = pair.key
        if all(self._commutes.get((place, first, e)) for e in pair.between):
            return Move(place, first, then, behind=True)
        if all(self._commutes.get((place, e, then)) for e in pair.between):
            return Move(place, then, first, behind=False)
        return None

    def _unused(self) -> Iterator[UnusedOrder]:
        """Yield the declared orders that nothing needs."""
        for each in self.meant:
            why = self._needless(each)
            if why:
                yield UnusedOrder(each.first, each.then, why)

    def _needless(self, meant: MeantOrder) -> str:
        for pair in self._judged:
            if _names(meant, pair):
                return "they commute" if pair.commutes else ""  # or nobody knows
            if (pair.then, pair.first) == (meant.first, meant.then):
                return f"{meant.then} stands first"
        for left in self._untried:
            if _names(meant, left):
                return ""  # of which nobody knows
        return "no list has both"

    def _volatile(self) -> Sequence[str]:
        """Return the volatile fields that differ for no pair."""
        unused = [set(each.verdict.unused) for each in self._judged]
        return sorted(set[str].intersection(*unused)) if unused else ()


def pairs_of(lists: Iterable[tuple[str, Names]]) -> list[FoundPair]:
    """Return each two entries of a list once, those that stand nearest first.

    Where a list is another one in some worlds, all that stands between in any is.
    """
    found: dict[Pair, FoundPair] = {}
    for place, names in lists:
        for (at, first), (to, then) in combinations(enumerate(names), 2):
            if (place, then, first) in found:
                continue
            known = found.get((place, first, then))
            seen = () if known is None else known.between
            between = dict.fromkeys((*seen, *names[at + 1 : to]))
            found[place, first, then] = FoundPair(place, first, then, tuple(between))
    return sorted(found.values(), key=lambda each: len(each.between))


def longest(lists: Iterable[tuple[str, Names]]) -> list[tuple[str, Names]]:
    """Return each list as it was seen with the most entries."""
    found: dict[str, Names] = {}
    for place, names in lists:
        if len(names) >= len(found.get(place, ())):
            found[place] = names
    return [(place, names) for place, names in found.items() if names]


def ranked(judged: Iterable[JudgedOrder]) -> list[JudgedOrder]:
    """Return the pairs, the worst first: those that are meant or commute come last."""
    return sorted(judged, key=_badness)


def order_code(found: OrderAudit) -> int:
    """Return the code that wins for this audit."""
    if found.interrupted:
        return INTERRUPTED
    if found.fault is not None:
        return USAGE if found.fault.usage else FAULT
    if found.nothing_ran:
        return NOTHING_RAN
    codes = [STALE] if found.unused or found.volatile else []
    return exit_code(*codes, *map(_code, found.judged))


def _code(pair: JudgedOrder) -> int:
    code = code_of(replace(pair.verdict, unused=()))
    return OK if pair.meant and code == DIFFERS else code


def _badness(pair: JudgedOrder) -> tuple[bool, bool, int, int, int]:
    found = pair.verdict
    severity = found.divergence.severity if found.divergence else SEVERITIES[-1]
    ranks = (rank(each, WORST_OF_ORDERS) for each in found.groups)
    worst = min(ranks, default=len(WORST_OF_ORDERS))
    many = -found.diverging
    how_bad = worst, SEVERITIES.index(severity), many
    return pair.commutes, bool(pair.meant), *how_bad


def _names(meant: MeantOrder, pair: FoundPair | JudgedOrder | UntriedOrder) -> bool:
    return (meant.first, meant.then) == (pair.first, pair.then)


def _all(names: Sequence[str]) -> str:
    return ", ".join(names)

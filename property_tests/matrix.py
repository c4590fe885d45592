"""The matrix: which clauses kill which mutant, found by playing it in a corpus.

A check that kills no mutant checks nothing, and a mutant that no clause kills shows
what the checks do not see (verdicts, Conformance).

Nearly everything a mutant does is right, so a world in which the right engine takes
none of the steps that are replaced is not played, and traces are compared with those of
the right engine first: where all that a check looks at is equal, it would decide as it
does on the right engine, and is left out (``right_plays``). A check that has killed is
left out from then on. All of it saves time and changes no answer.

Two more things are left out unless all is asked for: checks that compare variants,
where neither they nor the world are of a family that the mutant violates; and generated
worlds for mutants that every clause which they name has killed without. So a matrix may
not show all that would kill, but it never shows more.

Who asks only for a proof is shown less still, and the answer is red or not as ever: a
mutant's own worlds come first, the fixed cases of what it says it violates, and it ends
with the first clause that it names. Then those of clauses that have killed none of
theirs so far go on until these have.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from itertools import repeat
from multiprocessing import active_children, get_context
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, Final, Literal, TypeAlias

from property_tests.check import PLAYED, Check, PlayedWorld
from property_tests.checks import CHECKS
from property_tests.corpus import CorpusWorld, SuiteCorpus, read_corpus
from property_tests.dialects.compared import KEPT
from property_tests.judging.inputs import stored
from property_tests.judging.world import decide, looking, settle, sweep, variants_of
from property_tests.mutants import MUTANTS, Mutant, mutant
from property_tests.oracle import agents_oracle
from property_tests.playing import VariantPlayer, WorldRefusedError
from property_tests.registry import FAMILIES, Contract
from property_tests.right_plays import RightPlays, steps_of
from refengine.profile import profile

ERROR: Final = "error"
"""What kills a mutant out of which an exception came where none may."""

WORLD_SECONDS: Final = 20.0
"""A mutant that takes longer in one world is stuck there."""

Search: TypeAlias = Literal["fixed", "proof", "full"]
"""How far a mutant is played: in all fixed worlds, until a clause that it names has
killed it, or in all worlds and by all checks."""


@dataclass(frozen=True, slots=True)
class Kills:
    """What kills a mutant: clauses in the order of their checks, then ``error``.

    ``faults`` say which check broke down over what it did; that is never its answer.
    """

    mutant: str
    by: tuple[str, ...]
    faults: tuple[str, ...] = ()


class Killing:
    """The worlds in which mutants are played, and the checks that are asked there."""

    def __init__(
        self,
        worlds: Iterable[CorpusWorld],
        checks: Sequence[Check],
        *,
        search: Search = "fixed",
    ) -> None:
        self._worlds = tuple(worlds)
        self._checks = tuple(checks)
        self._search = search
        self._full = search == "full"
        self._right = RightPlays()
        self._oracle = agents_oracle(KEPT)
        self._looking: dict[int, Sequence[Check]] = {}

    def kills(self, broken: Mutant, wanted: Collection[str] = ()) -> Kills:
        """Return what kills a mutant; a proof ends with all ``wanted`` that it names.

        A world that is kept for some families, because it is huge, is played only for
        the mutants that say they violate one of them.
        """
        under = profile(broken.under)
        player = VariantPlayer(broken.wrong(under), under, oracle=self._oracle)
        trial = _Trial(broken, player, wanted)
        if self._search == "proof":
            self._prove(trial)
        for at, entry in self._entries(trial):
            if self._search == "proof" and trial.is_enough:
                break
            self._play(trial, at, entry)
        sweep(1)
        order = [*dict.fromkeys(each.clause for each in self._checks), ERROR]
        by = tuple(each for each in order if each in trial.found)
        return Kills(broken.id, by, tuple(trial.faults))

    def _prove(self, trial: _Trial) -> None:
        """Play a mutant's own worlds, and ask in them what it says it violates."""
        for at, entry in enumerate(self._worlds):
            if entry.fixed and trial.is_named(entry.clause) and trial.concerns(entry):
                self._play(trial, at, entry, trial.is_named)
                if trial.is_enough:
                    return

    def _entries(self, trial: _Trial) -> Iterator[tuple[int, CorpusWorld]]:
        """Yield the worlds that a mutant is played in, and their places."""
        for fixed in (True, False):
            if fixed or self._full or not trial.is_proved:
                for at, entry in enumerate(self._worlds):
                    if entry.fixed is fixed and trial.concerns(entry):
                        yield at, entry

    def _play(
        self,
        trial: _Trial,
        at: int,
        entry: CorpusWorld,
        asked: Callable[[str], bool] = bool,
    ) -> None:
        left = [
            each
            for each in self._looking_at(at, entry)
            if each.clause not in trial.found
            and asked(each.clause)
            and (self._full or not each.variants or trial.is_near(each, entry))
        ]
        if not left:
            return
        variants = variants_of(left, entry)
        right = self._right.of(trial.player.profile, at, entry, variants)
        if trial.steps is not None and trial.steps.isdisjoint(right.steps):
            return
        try:
            case = _case(trial.player, entry, variants)
        except WorldRefusedError:
            return
        if case is None:
            trial.found.add(ERROR)
            return
        equal = right.equal({name: e.trace for name, e in case.views.items()})
        left_over = [each for each in left if not equal.issuperset(_looked_at(each))]
        trial.ask(case, left_over)

    def _looking_at(self, at: int, entry: CorpusWorld) -> Sequence[Check]:
        """Return the checks that are meant to look at a world; found out once."""
        if at not in self._looking:
            self._looking[at] = looking(self._checks, entry)
        return self._looking[at]


class _Trial:
    """One mutant on its way through the worlds, and what it was killed by so far."""

    def __init__(
        self, broken: Mutant, player: VariantPlayer, wanted: Collection[str]
    ) -> None:
        self.player = player
        self.steps = steps_of(broken)
        self.found: set[str] = set()
        self.faults: dict[str, None] = {}
        self._violates = broken.violates
        self._wanted = {each for each in broken.violates if each in wanted}
        self._families = frozenset(map(_family, broken.violates))

    @property
    def is_proved(self) -> bool:
        """Whether each clause that it names has killed it, and of a family some."""
        return all(
            any(names((name,), clause) for clause in self.found)
            for name in self._violates
        )

    @property
    def is_enough(self) -> bool:
        """Whether a clause that it names has killed it, and all that are wanted."""
        return self._wanted <= self.found and any(map(self.is_named, self.found))

    def is_named(self, clause: str) -> bool:
        """Tell whether it says that it violates a clause, or all of its family."""
        return names(self._violates, clause)

    def concerns(self, entry: CorpusWorld) -> bool:
        """Tell whether a world is for everybody, or kept for what it violates."""
        mine = self._families.union(self._violates)
        return not entry.only or not mine.isdisjoint(entry.only)

    def is_near(self, check: Check, entry: CorpusWorld) -> bool:
        """Tell whether check or world are of a family that it violates."""
        near = {_family(check.clause), _family(entry.clause)}
        return not self._families.isdisjoint(near)

    def ask(self, case: PlayedWorld, checks: Sequence[Check]) -> None:
        """Let checks decide."""
        judged = decide(case, checks)
        self.found.update(judged.failed)
        self.faults.update(
            dict.fromkeys(f"{clause}: {why}" for clause, why in judged.errors.items())
        )


def names(violates: Iterable[str], clause: str) -> bool:
    """Tell whether a clause is among those violated, itself or by its family."""
    return not {clause, _family(clause)}.isdisjoint(violates)


def _family(clause: str) -> str:
    return clause.partition("-")[0]


def _case(
    player: VariantPlayer, entry: CorpusWorld, variants: Sequence[str]
) -> PlayedWorld | None:
    """Play a world; None if an exception came out of it. Raises WorldRefusedError."""
    try:
        with ended_after(WORLD_SECONDS):
            return player.case(entry.scenario, variants)
    except WorldRefusedError:
        raise
    except (Exception, asyncio.CancelledError):  # noqa: BLE001  # as it is broken
        return None


class StuckError(Exception):
    """A mutant came to no end."""


@contextmanager
def ended_after(seconds: float, again: float = 1.0) -> Generator[None, None, None]:
    """Interrupt what comes to no end: again and again, as it may catch that, too.

    Only the main thread of a process can be interrupted.
    """
    if current_thread() is not main_thread():
        yield
        return

    def stuck(*_: object) -> None:
        raise StuckError

    before = signal.signal(signal.SIGALRM, stuck)
    signal.setitimer(signal.ITIMER_REAL, seconds, again)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _looked_at(check: Check) -> tuple[str, ...]:
    return (PLAYED, *check.variants)


Played: TypeAlias = Callable[[Sequence[Mutant], Sequence[str]], list[Kills]]
"""Plays mutants, a proof to the end of these clauses, and returns what kills each."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """All mutants of a matrix with what kills them, and the clauses that have to."""

    clauses: tuple[str, ...]
    """The checked clauses; each has to kill a mutant that names it."""
    named: Mapping[str, tuple[str, ...]]
    """What each mutant says it violates: clauses, or families."""
    kills: tuple[Kills, ...]

    @property
    def killed(self) -> dict[str, tuple[str, ...]]:
        """The clauses that kill each mutant."""
        return {each.mutant: each.by for each in self.kills}

    @property
    def by_named(self) -> tuple[str, ...]:
        """The mutants that a clause kills which they name, or one of such a family."""
        return tuple(each.mutant for each in self.kills if self._is_named(each))

    @property
    def by_others_only(self) -> tuple[str, ...]:
        """The mutants that are killed, but by no clause that they name."""
        others = (each for each in self.kills if each.by and not self._is_named(each))
        return tuple(each.mutant for each in others)

    @property
    def silent(self) -> tuple[str, ...]:
        """The mutants that nothing kills."""
        return tuple(each.mutant for each in self.kills if not each.by)

    @property
    def clauses_without_mutant(self) -> tuple[str, ...]:
        """The clauses that kill no mutant which names them, not only their family."""
        proved = {
            clause
            for each in self.kills
            for clause in each.by
            if clause in self.named[each.mutant]
        }
        return tuple(each for each in self.clauses if each not in proved)

    @property
    def faults(self) -> tuple[str, ...]:
        """What broke down in checks."""
        return tuple(fault for each in self.kills for fault in each.faults)

    @property
    def is_red(self) -> bool:
        """Whether a clause or a mutant is without its counterpart."""
        return bool(self.clauses_without_mutant or self.by_others_only or self.silent)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "mutants": len(self.kills),
            "killed_by_named": len(self.by_named),
            "clauses_without_mutant": list(self.clauses_without_mutant),
            "by_others_only": list(self.by_others_only),
            "silent": list(self.silent),
            "killed": {each.mutant: list(each.by) for each in self.kills},
            "faults": list(self.faults),
        }

    def _is_named(self, kills: Kills) -> bool:
        return any(names(self.named[kills.mutant], clause) for clause in kills.by)


def unknown_names(
    contract: Contract, mutants: Iterable[Mutant] = MUTANTS
) -> tuple[str, ...]:
    """Return what mutants name that is neither clause nor family, a sentence each."""
    known = {*contract.ids, *FAMILIES}
    return tuple(
        f"{each.id} violates {name}, which is not a clause"
        for each in mutants
        for name in each.violates
        if name not in known
    )


def matrix(
    clauses: Sequence[str],
    mutants: Sequence[Mutant],
    worlds: SuiteCorpus,
    *,
    jobs: int = 1,
    search: Search = "fixed",
    elsewhere: Played | None = None,
) -> Matrix:
    """Play all mutants, several at a time in processes of their own, or ``elsewhere``.

    The answer is the same for any number of jobs. With more than one the mutants have
    to be of the registry, since their ids are what is handed over.
    """
    named = {each.id: each.violates for each in mutants}
    playing = nullcontext(elsewhere) if elsewhere else _player(worlds, search, jobs)
    with playing as played:
        found = Matrix(tuple(clauses), named, tuple(played(mutants, ())))
        wanted = found.clauses_without_mutant
        if search != "proof" or not wanted:
            return found
        late = [each for each in mutants if not set(wanted).isdisjoint(each.violates)]
        more = {each.mutant: each for each in played(late, wanted)}
    kills = tuple(more.get(each.mutant, each) for each in found.kills)
    return replace(found, kills=kills)


@contextmanager
def _player(
    worlds: SuiteCorpus, search: Search, jobs: int
) -> Generator[Played, None, None]:
    """Have mutants played in these worlds, here or in processes, in their order."""
    if jobs == 1:
        killing = Killing(worlds.worlds, CHECKS, search=search)
        yield lambda some, wanted: [killing.kills(each, wanted) for each in some]
        return
    # Nothing is inherited, so a worker knows what it would know alone.
    spawn = get_context("spawn")
    with stored(worlds) as path, ProcessPoolExecutor(jobs, spawn) as pool:

        def played(some: Sequence[Mutant], wanted: Sequence[str]) -> list[Kills]:
            ids = [each.id for each in some]
            with _uninterrupted():
                found = pool.map(
                    _kills, ids, repeat(wanted), repeat(path), repeat(search)
                )
            return list(found)

        try:
            yield played
        except KeyboardInterrupt:  # what they play may take long, and nobody wants it
            for each in active_children():
                each.kill()
            raise


@contextmanager
def _uninterrupted() -> Generator[None, None, None]:
    """Have processes that start meanwhile leave Ctrl-C to their parent."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _kills(
    id_: str, wanted: Sequence[str], path: Path, search: Search
) -> Kills:  # what a process is given
    return _killing(path, search).kills(mutant(id_), wanted)


@cache
def _killing(path: Path, search: Search) -> Killing:  # as _kills
    worlds = read_corpus(path.read_text("utf-8")).worlds
    settle()
    return Killing(worlds, CHECKS, search=search)

"""Judging doors to one dialect, as ``judging/by_clause.py`` asks for it.

Worlds are shared among children that have the door; each plays one after the other and
lets all checks decide. What fails is shrunk there too, in the end.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from compat.engines.importing import GENERIC
from compat.migration.replies import broken_setup
from compat.process import ChildError, ChildProcess
from compat.report.conform_text import counted
from compat.verdicts.conformance import (
    Breakdown,
    ClauseFailure,
    ClauseResult,
)
from property_tests.defaults import EXAMPLES, SEED
from property_tests.dialects.dialect import Dialect, JudgedWorld
from property_tests.dialects.dialects import dialect_of
from property_tests.dialects.pinned import PinnedPlayer
from property_tests.dialects.shrinking import Shrinker
from property_tests.judging.by_clause import (
    ClauseJudgement,
    JudgedClause,
    JudgedClauses,
    JudgedDoor,
    JudgedWorlds,
    Told,
)
from property_tests.judging.engine_workers import UnusableEngineError
from property_tests.judging.inputs import ClauseRequest
from property_tests.known.entries import joined_known
from property_tests.known.states import applied, known_of, unmatched
from property_tests.registry import Contract
from refengine.testing.child import CallError
from refengine.testing.machine import install_line

LONG: Final = 60.0
"""Seconds to start a child and import what it needs."""
SETUP: Final = 30.0
"""Seconds in which a setup has to have run."""
STEP: Final = 25
"""Progress is told after so many worlds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectRequest(ClauseRequest):
    """What a judgement of doors to a dialect is asked for.

    Several children have a door at a time. ``setup`` is a file that each of them runs
    first, as production does: what it turns on is judged, on this door.
    """

    dialect: Dialect
    doors: tuple[str, ...]
    profile: str | None = None
    known: Path | None = None
    setup: Path | None = None

    @property
    def about(self) -> Mapping[str, Any]:
        """What a child is told, but for its door."""
        setup = self.setup and {"name": self.setup.name, "file": str(self.setup)}
        return {
            "dialect": self.dialect.name,
            "profile": self.profile,
            "clauses": [each.id for each in self.clauses],
            "timeout": self.timeout,
            "setup": setup,
        }


@contextmanager
def dialect_child(
    request: DialectRequest, text: str
) -> Generator[ChildProcess, None, None]:
    """Yield a child that has loaded a door; raises UnusableEngineError."""
    child = ChildProcess(
        request.python.command(request.dialect.worker, *GENERIC),
        cwd=Path.cwd(),  # a door of one's own is looked up from there
        env=request.python.env,
        marked=False,
        frameworks=(),
    )
    try:
        child.initialize(LONG, door=text, **request.about)
        yield child
    finally:
        child.kill()


def loaded(
    child: ChildProcess, text: str, setup: Path | None = None
) -> Mapping[str, Any]:
    """Return what a door says of itself, behind a setup; UnusableEngineError."""
    if setup is not None:
        try:
            child.call("setup", {}, SETUP)
        except CallError as error:
            raise UnusableEngineError(error.message) from error
        except ChildError as error:
            raise UnusableEngineError(broken_setup(setup.name, error)) from error
    try:
        found: Mapping[str, Any] = child.call("load", {}, LONG)
    except CallError as error:
        raise UnusableEngineError(error.message) from error
    except ChildError as error:
        behind = f" behind {setup.name}" if setup is not None else ""
        why = f"{text!r} cannot be loaded{behind}: the process {error.why}"
        raise UnusableEngineError(why) from error
    return found


def dialect_judgement(request: DialectRequest, command: str = "") -> ClauseJudgement:
    """Return doors to one dialect on their way through its worlds."""
    return ClauseJudgement(DialectKind(request), request, command)


@dataclass(slots=True)
class DialectTally:
    """What the worlds of a door came to so far, by clause."""

    decided: Counter[str] = field(default_factory=Counter[str])
    failing: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    refused: int = 0
    lost: dict[int, str] = field(default_factory=dict[int, str])
    behind: Counter[str] = field(default_factory=Counter[str])
    first: dict[str, ClauseFailure] = field(default_factory=dict[str, ClauseFailure])
    """The failure of each clause that was seen first, in the world that showed it."""

    def add(self, at: int, reply: Mapping[str, Any]) -> None:
        """Count what a child said of world ``at``."""
        self.refused += bool(reply["refused"])
        self.decided.update(list(reply["decided"]))
        self.behind.update(reply["behind"])
        for clause, failure in reply["failed"].items():
            if clause not in self.first:
                self.first[clause] = ClauseFailure.model_validate(failure)
            self.failing.setdefault(clause, []).append(at)


class DialectKind:
    """Doors to a dialect as a kind of what is judged: a ``JudgedKind``."""

    subject: Literal["engine", "store"] = "engine"

    def __init__(self, request: DialectRequest) -> None:
        self._asked = request
        self.contract: Contract = request.dialect.contract
        self._missing: dict[str, Mapping[str, str]] = {}
        self._told: list[str] = []
        self.doors: Sequence[JudgedDoor] = [*map(self._door, request.doors)]
        # A mistake in a file is told before all the work.
        self._known = {e.name: known_of(e.name, request.known) for e in self.doors}
        self._all, told = _all_worlds(request)
        fixed = sum(each.fixed for each in self._all)
        told = (*self._told, *told)
        self.worlds = JudgedWorlds(len(self._all), fixed, digest_of(self._all), told)

    def _door(self, text: str) -> JudgedDoor:
        with dialect_child(self._asked, text) as child:
            said = loaded(child, text, self._asked.setup)
        self._missing[text] = said["missing"]
        self._told += [said["idle"]] if said["idle"] else []
        return JudgedDoor(
            text,
            str(said["name"]),
            str(said["version"]),
            str(said["profile"]),
            tuple(said["capabilities"]),
        )

    def missing(self, door: JudgedDoor, clause: str) -> str:
        """Return under which postures or capabilities the clause applies."""
        return self._missing[door.asked][clause]

    def judged(self, door: JudgedDoor, told: Told) -> JudgedClauses:
        """Judge all worlds, several at a time; then shrink what failed."""
        tally = DialectTally()
        total, done = len(self._all), 0
        shares = [range(at, total, self._asked.workers) for at in self._workers]
        with ThreadPoolExecutor(len(shares)) as threads:
            waiting = [threads.submit(self._share, door.asked, each) for each in shares]
            for future in as_completed(waiting):
                for at, reply in future.result():
                    done += 1
                    if isinstance(reply, str):
                        tally.lost[at] = reply
                    else:
                        tally.add(at, reply)
                told(done, total, len(tally.failing))
        failures = dict(self._shrunk(door, tally))
        clauses = {
            each.id: self._came_to(each.id, tally, failures)
            for each in self._asked.clauses
            if each.status == "checked" and each.id not in self._missing[door.asked]
        }
        return JudgedClauses(clauses, tuple(_faults(door, tally)), tally.refused)

    @property
    def _workers(self) -> range:
        return range(min(self._asked.workers, len(self._all)) or 1)

    @contextmanager
    def _child(self, text: str) -> Generator[ChildProcess, None, None]:
        """Yield a child that has loaded a door; raises UnusableEngineError."""
        with dialect_child(self._asked, text) as child:
            loaded(child, text, self._asked.setup)
            yield child

    def _share(
        self, text: str, share: Iterable[int]
    ) -> list[tuple[int, Mapping[str, Any] | str]]:
        """Judge some worlds in one child after the other; a text is a child's end."""
        found: list[tuple[int, Mapping[str, Any] | str]] = []
        left = iter(share)
        while (at := next(left, None)) is not None:
            with self._child(text) as child:
                while at is not None:
                    given = {"scenario": self._all[at].json}
                    try:
                        reply = child.call("judge", given, self._asked.timeout)
                    except ChildError as error:
                        found.append((at, f"the process {error.why}"))
                        break
                    found.append((at, reply))
                    at = next(left, None)
        return found

    def _shrunk(
        self, door: JudgedDoor, tally: DialectTally
    ) -> Iterator[tuple[str, ClauseFailure]]:
        """Yield each failing clause with its failure in the smallest world found."""
        if not tally.failing:
            return
        asked = self._asked
        shrinker = Shrinker(
            asked.dialect, lambda: self._child(door.asked), asked.timeout
        )
        with closing(shrinker):
            for clause, places in tally.failing.items():
                shortest = min(places, key=lambda at: len(str(self._all[at].json)))
                failure = shrinker.smallest(clause, self._all[shortest].scenario)
                if failure is None and asked.setup is not None:
                    # One that counts, say, is wrong behind other worlds alone.
                    failure = tally.first[clause]
                if failure is not None:
                    again = self._again(door.asked, clause)
                    yield clause, failure.model_copy(update={"reproduce": again})

    def _again(self, text: str, clause: str) -> str:
        command = ["refengine", "conform", text, "--clause", clause]
        dialect = self._asked.dialect.name
        if self._asked.setup is not None:
            command += ["--observer", str(self._asked.setup)]
        elif dialect_of(text) != dialect:  # a door of the user's own
            command += ["--dialect", dialect]
        if self._asked.profile is not None:
            command += ["--engine-profile", self._asked.profile]
        if self._asked.seed != SEED:
            command += ["--seed", str(self._asked.seed)]
        if self._asked.examples != EXAMPLES:  # other numbers draw other worlds
            command += ["--examples", str(self._asked.examples)]
        return shlex.join(command)

    def _came_to(
        self, clause: str, tally: DialectTally, failures: Mapping[str, ClauseFailure]
    ) -> JudgedClause:
        failing, behind = len(tally.failing.get(clause, ())), tally.behind[clause]
        worlds = tally.decided[clause] - behind
        found = JudgedClause(worlds, failing, failures.get(clause))
        if failing and found.failure is None:
            where = counted(failing, "world")
            why = f"it failed in {where} and not when one was played again"
            return replace(found, broken=why)
        if not worlds and behind:
            where = counted(behind, "world")
            why = f"it differs in {where}, in each behind what another clause says"
            return replace(found, blocked=True, reason=why)
        if not worlds:
            why = "no world let its check decide: this door comes so far in none"
            return replace(found, blocked=True, reason=why)
        return found

    def known(
        self, door: JudgedDoor, results: Sequence[ClauseResult]
    ) -> tuple[Sequence[ClauseResult], Sequence[str]]:
        """Return the results with what is known marked, and faults of the list.

        What is about none of the doors is told with the last of them.
        """
        of = self._known[door.name].for_engine(door.name, door.version)
        judged = {each.clause for each in results}
        mine = [each for each in of if each.clause in judged]
        asked = self._asked
        player = PinnedPlayer(
            asked.dialect.name, lambda: self._child(door.asked), asked.timeout
        )
        states, faults = player.states(mine)
        if door is self.doors[-1]:
            versions = {each.name: each.version for each in self.doors}
            listed = joined_known(self._known.values())
            faults += unmatched(listed, versions, self.contract)
        return applied(results, states), faults


def _faults(door: JudgedDoor, tally: DialectTally) -> Iterator[Breakdown]:
    if tally.lost:
        first = min(tally.lost)
        many = counted(len(tally.lost), "world")
        text = f"{many} broke off; world {first}: {tally.lost[first]}"
        yield Breakdown(engine=door.name, whose="engine", text=text)


def _all_worlds(
    request: DialectRequest,
) -> tuple[tuple[JudgedWorld, ...], tuple[str, ...]]:
    """Return the worlds and what a reader has to know; without Hypothesis the fixed."""
    dialect, examples = request.dialect, request.examples
    try:
        found = tuple(worlds_of(dialect, examples, request.seed))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "hypothesis":
            raise
        why = f"none of {examples} worlds was drawn: it needs Hypothesis"
        return tuple(dialect.fixed()), (f"{why} ({install_line('testing')})",)
    return found, _told(found, examples)


def _told(worlds: Sequence[JudgedWorld], examples: int) -> tuple[str, ...]:
    """Return what a reader has to know about the worlds."""
    if not examples:
        return ("no world was drawn: none was asked for",)
    if all(each.fixed for each in worlds):
        return (
            f"none of {examples} worlds was drawn: this dialect has fixed cases alone",
        )
    return ()


def worlds_of(dialect: Dialect, examples: int, seed: int) -> Iterator[JudgedWorld]:
    """Yield the fixed worlds of a dialect, then so many that are drawn."""
    yield from dialect.fixed()
    if examples:
        yield from islice(dialect.drawn(examples, seed), examples)


def digest_of(worlds: Iterable[JudgedWorld]) -> str:
    """Return the SHA-256 of the worlds."""
    text = json.dumps([each.json for each in worlds], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()

"""What a judgement comes to as known failures: a new file, or an old one made fresh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from compat.verdicts.conformance import ClauseResult, Fault
from property_tests.known import Known, KnownFailures, state_of, unmatched
from property_tests.known_entries import EVERY, parse_known
from property_tests.known_text import edited, entry_text
from property_tests.registry import Contract
from property_tests.replaying import Replay


@dataclass(frozen=True, slots=True)
class JudgedOnce:
    """What a judgement of one engine said."""

    engine: str
    version: str
    results: Sequence[ClauseResult]
    faults: Sequence[Fault] = ()

    @property
    def failing(self) -> list[ClauseResult]:
        """The results that count as failures."""
        return [each for each in self.results if each.verdict in {"fail", "blocked"}]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The text of a file, and what was done to it.

    ``added`` and ``dropped`` are ids of clauses. ``unpinned`` fail too, but without a
    world there is nothing to pin. ``lost`` says of which entries nothing was judged.
    """

    text: str
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    unpinned: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def new_baseline(judged: JudgedOnce) -> Baseline:
    """Return a file with an entry for each failing clause."""
    return _with_new(judged, "", (), ())


def fresh_baseline(
    text: bytes, path: Path, judged: JudgedOnce, contract: Contract, replay: Replay
) -> Baseline:
    """Return the file without stale entries, and with entries for what is new.

    Entries about other engines, versions and clauses that were not judged stay. Raises
    KnownFailuresError, EditError, and PinnedWorldError.
    """
    known = parse_known(text, path, drafts=True)
    looked_at = {each.clause for each in judged.results}
    mine = known.for_engine(judged.engine, judged.version)
    states = [state_of(each, replay) for each in mine if each.clause in looked_at]
    stale = [each.known for each in states if each.state == "stale"]
    kept = [each for each in known.entries if each not in stale]
    fresh = _with_new(judged, text.decode("utf-8"), stale, kept)
    own = KnownFailures(tuple(e for e in known.entries if e.engine == judged.engine))
    lost = unmatched(own, {judged.engine: judged.version}, contract)
    return Baseline(
        fresh.text,
        fresh.added,
        tuple(each.clause for each in stale),
        fresh.unpinned,
        lost,
    )


def _with_new(
    judged: JudgedOnce, text: str, stale: Sequence[Known], kept: Sequence[Known]
) -> Baseline:
    mine = [each for each in kept if each.engine == judged.engine]
    listed = {each.clause for each in mine if each.covers(judged.version)}
    others = {each.clause for each in mine} - listed
    new = [each for each in judged.failing if each.clause not in listed]
    add = [
        entry_text(
            judged.engine,
            _versions(judged.version, alone=each.clause not in others),
            each.clause,
            each.failure,
        )
        for each in new
        if each.failure is not None
    ]
    return Baseline(
        edited(text, {each.number for each in stale}, add),
        tuple(each.clause for each in new if each.failure is not None),
        unpinned=tuple(each.clause for each in new if each.failure is None),
    )


def _versions(version: str, *, alone: bool) -> str:
    """Return the range of a new entry: from this version on, if no other is about it.

    The pinned world is played on every version that the range covers, so a wide range
    hides nothing; an engine without a version that can be compared is meant as it is.
    """
    try:
        public = Version(version).public
    except InvalidVersion:
        return EVERY
    return f">={public}" if alone else f"=={public}"

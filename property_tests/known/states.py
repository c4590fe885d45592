"""What becomes of known failures in a judgement: known, stale, or about nothing.

The pinned world of an entry is played first, and it alone decides (verdicts).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from compat.verdicts.conformance import ClauseResult
from property_tests.check import Check
from property_tests.failures import Replay, here
from property_tests.known.entries import (
    Known,
    KnownFailures,
    read_known,
)
from property_tests.playing import VariantPlayer
from property_tests.registry import Contract, UnknownSelectorError
from refengine.errors import RefengineError

FOLDER: Final = Path(__file__).parent
"""Where the files of our own doors stand."""

State: TypeAlias = Literal["known", "stale"]

_INSTALLED: Final = re.compile(r"[A-Za-z][\w-]*(@[\w.]+)?")


class PinnedWorldError(RefengineError):
    """The pinned world of an entry could not be judged, so nothing decides."""

    def __init__(self, known: Known, why: str) -> None:
        self.known = known
        super().__init__(f"{known.where}: its world cannot be judged: {why}")


@dataclass(frozen=True, slots=True)
class KnownState:
    """What the pinned world of an entry said, and why if it is stale."""

    known: Known
    state: State
    why: str = ""
    blocked: bool = False
    """Whether the engine stops there before the check can decide."""


def known_of(engine: str, file: Path | None = None) -> KnownFailures:
    """Return the entries of a file, or of the one that comes with our own door.

    Without either there are none. Raises what ``read_known`` raises.
    """
    if file is None and _INSTALLED.fullmatch(engine):
        shipped = FOLDER / f"{engine}.toml"
        file = shipped if shipped.is_file() else None
    return KnownFailures() if file is None else read_known(file)


def decide_known(known: Known, player: VariantPlayer, checks: Sequence[Check]) -> State:
    """Return whether the clause still fails in the pinned world; PinnedWorldError."""
    return state_of(known, here(player, checks)).state


def state_of(known: Known, replay: Replay) -> KnownState:
    """Return what the pinned world says; raises PinnedWorldError if it breaks down."""
    found = replay(known.clause, known.world)
    if found.broken or found.usage:
        raise PinnedWorldError(known, found.broken or found.usage)
    if found.failure is not None or found.blocked is not None:
        return KnownState(known, "known", blocked=found.failure is None)
    return KnownState(known, "stale", found.lost or "its world no longer fails")


def applied(
    results: Iterable[ClauseResult], states: Iterable[KnownState]
) -> tuple[ClauseResult, ...]:
    """Return the results, those with an entry marked ``known`` or ``stale``.

    A failure is known for the entry's clause only. Where the corpus lets the clause
    pass and the pinned world does not, the clause fails, in that world.
    """
    by_key = {(each.known.engine, each.known.clause): each for each in states}
    return tuple(
        _marked(each, by_key.get((each.engine, each.clause))) for each in results
    )


def unmatched(
    known: KnownFailures, judged: Mapping[str, str], contract: Contract
) -> tuple[str, ...]:
    """Return a sentence for each entry that is about nothing that was judged.

    ``judged`` has the version of each engine.
    """
    whys = ((each, _unmatched(each, judged, contract)) for each in known.entries)
    return tuple(f"{each.where} {why}" for each, why in whys if why)


def _unmatched(known: Known, judged: Mapping[str, str], contract: Contract) -> str:
    if why := _unchecked(known.clause, contract):
        return f"matches nothing: {why}"
    if known.engine not in judged:
        there = ", ".join(judged) or "none"
        return f"matches nothing: engines judged are {there}; judge it, or take it out"
    version = judged[known.engine]
    if not known.covers(version):
        return (
            f"matches nothing: {known.versions!r} does not cover version {version!r}"
            " that was judged; change the range, or take the entry out"
        )
    return ""


def _unchecked(id_: str, contract: Contract) -> str:
    """Return why no check decides a clause, "" if one does."""
    for each in contract.retired:
        if each.id == id_:
            return f"{id_} is retired: {each.why}"
    try:
        status = contract.clause(id_).status
    except UnknownSelectorError as error:
        return str(error)
    return "" if status == "checked" else f"{id_} is {status}, so no check decides it"


def _marked(result: ClauseResult, state: KnownState | None) -> ClauseResult:
    if state is None or result.verdict == "error":
        return result
    known = state.known
    marks: dict[str, Any] = {"known": state.state, "known_issue": known.issue}
    marks["known_reason"] = known.reason if state.state == "known" else state.why
    if state.state == "known" and result.verdict in {"pass", "not-applicable"}:
        marks |= {"reason": "in its pinned world only", "verdict": "blocked"}
        if not state.blocked:
            marks |= {"verdict": "fail", "worlds": result.worlds + 1}
            marks |= {"failing": result.failing + 1}
    return result.model_copy(update=marks)

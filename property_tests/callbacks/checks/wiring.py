"""Checks of who is connected: to a manager, a manager to an agent, and for how long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from property_tests.callbacks.view import STEP, CallbacksView, SessionSeen
from property_tests.dialects.dialect import DialectCheck, DialectDecision

Decisions = Iterator[DialectDecision]

CLIENTS: Final = frozenset(("clients",))
CONNECTS: Final = frozenset(("connect", "connect_by_client"))


def _did(each: SessionSeen, *what: str) -> list[str]:
    """Return the clients to which something happened before a session."""
    return [one.client for one in each.spec.before if one.do in what]


def _hears_steps(
    seen: CallbacksView, each: SessionSeen, who: Sequence[str]
) -> Decisions:
    """Decide for clients whether they hear each step once, or none."""
    entitled = seen.receivers(each, STEP)
    for name in dict.fromkeys(who):
        expected = len(each.steps) if name in entitled else 0
        got = len(each.told(STEP, name))
        claim = f"steps that {name} hears"
        yield DialectDecision(claim, expected, got, each.end.place)


def how_many(seen: CallbacksView) -> Decisions:
    """CB-040: all clients that are connected hear, or the last one alone."""
    ever: list[str] = []
    for each in seen.undisturbed:
        ever += [one for one in _did(each, *CONNECTS) if one not in ever]
        if len(ever) > 1 and not each.cancelled:
            yield from _hears_steps(seen, each, ever)


def connected_twice(seen: CallbacksView) -> Decisions:
    """CB-041: a client that is connected twice hears once."""
    for each in seen.undisturbed:
        names = _did(each, *CONNECTS)
        twice = [one for one in names if names.count(one) > 1]
        if twice and not each.cancelled:
            yield from _hears_steps(seen, each, twice)


def by_itself(seen: CallbacksView) -> Decisions:
    """CB-042: a client that connects itself is connected like any other."""
    for each in seen.undisturbed:
        names = _did(each, "connect_by_client")
        if names and not each.cancelled:
            yield from _hears_steps(seen, each, names)


def set_later(seen: CallbacksView) -> Decisions:
    """CB-043: callbacks that are set later count, or not where the posture says so."""
    for each in seen.undisturbed:
        changed = [one for one in _did(each, "set") if one in each.wiring.order]
        if changed and not each.cancelled:
            yield from _hears_steps(seen, each, changed)


def taken_away(seen: CallbacksView) -> Decisions:
    """CB-044: a client that was taken away hears nothing more."""
    away: list[str] = []
    for each in seen.undisturbed:
        away += _did(each, "remove")
        for name in dict.fromkeys(away):
            if name not in each.wiring.order:
                got = [one.name for one in each.entries if one.who == name]
                claim = f"what {name} hears"
                yield DialectDecision(claim, [], got, each.end.place)


def not_connected(seen: CallbacksView) -> Decisions:
    """CB-045: to take away a client that is not connected is refused."""
    connected: set[str] = set()
    for each in seen.sessions:
        for spec, entry in zip(each.spec.before, each.before, strict=True):
            if spec.do == "restart":
                connected = set()
            if spec.do == "remove" and spec.client not in connected:
                got = "error" in entry.data
                claim = f"to take {spec.client} away is refused"
                yield DialectDecision(claim, [True], [got], entry.place)
            if spec.do in CONNECTS and seen.profile.clients == "one":
                connected = set()
            if spec.do in CONNECTS:
                connected.add(spec.client)
            connected -= {spec.client} if spec.do == "remove" else set()


def second_manager(seen: CallbacksView) -> Decisions:
    """CB-046: a second manager of one agent is refused, or takes its place."""
    for each in seen.sessions:
        for spec, entry in zip(each.spec.before, each.before, strict=True):
            if spec.do == "manage":
                expected = seen.profile.second_manager == "refused"
                got = "error" in entry.data
                claim = "a second manager is refused"
                yield DialectDecision(claim, [expected], [got], entry.place)


CHECKS: Final = (
    DialectCheck(clause="CB-040", decide=how_many, needs=CLIENTS),
    DialectCheck(clause="CB-041", decide=connected_twice, needs=CLIENTS),
    DialectCheck(clause="CB-042", decide=by_itself, needs=CLIENTS),
    DialectCheck(clause="CB-043", decide=set_later, needs=CLIENTS),
    DialectCheck(clause="CB-044", decide=taken_away, needs=CLIENTS),
    DialectCheck(clause="CB-045", decide=not_connected, needs=CLIENTS),
    DialectCheck(
        clause="CB-046", decide=second_manager, needs=frozenset(("managers",))
    ),
)
"""Clauses about who is connected."""

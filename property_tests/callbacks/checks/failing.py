"""Checks of callbacks that raise, sessions that are left, and what stands around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from compat.dialects.callbacks import CALLBACK_TYPES
from property_tests.callbacks.view import (
    END,
    ERROR,
    SAVE,
    CallbacksPlay,
    CallbacksView,
    SessionEntry,
    SessionSeen,
)
from property_tests.dialects.dialect import DialectCheck, DialectDecision
from refengine.testing.trace import Trace, comparable

Decisions = Iterator[DialectDecision]

TOLD: Final = {"session_callbacks": ("told",)}
ONE_WAY: Final = {
    "clients": ("several",),
    "client_callbacks": ("late",),
    "shared": ("each_owner",),
}
"""Under these the second version tells what the first one did."""
AROUND: Final = frozenset(("middleware",))


def told_of(seen: CallbacksView) -> Decisions:
    """CB-050: a callback that raises is told once, by owner and type."""
    if seen.scenario.middleware or seen.profile.failures == "aborts":
        return
    for each in seen.sessions:
        for one in each.raised:
            if one.name == ERROR:
                continue
            for who in seen.receivers(each, ERROR):
                told = [x.told for x in each.told(ERROR, who)]
                got = [x[1] for x in told if x[0]["text"] == one.data["raises"]]
                wheres = [f"{_owner(seen, one.who)}.{one.name}"]
                again = len([x for x in each.raised if _alike(x, one)])
                claim = f"{who} is told that {one.who} raised"
                yield DialectDecision(claim, wheres * again, got, one.place)


def _owner(seen: CallbacksView, who: str) -> str:
    return "client" if who in {x.name for x in seen.scenario.clients} else "listener"


def _alike(one: SessionEntry, other: SessionEntry) -> bool:
    return bool(one.data["raises"] == other.data["raises"])


def goes_on(seen: CallbacksView) -> Decisions:
    """CB-051: a callback that raises ends nothing, or comes out of the session."""
    isolated = seen.profile.failures == "isolated"
    for each in seen.sessions:
        first = each.raised[0] if each.raised else None
        if first is None or each.cancelled or each.of("model_error", "tool_error"):
            continue  # that may have ended it as well
        if seen.scenario.middleware:
            continue
        expected = None if isolated else first.data["raises"]
        claim = f"what comes out though {first.who} raised"
        got = each.error
        if not isolated and got is not None and len(each.raised) > 1:
            continue  # which of several came out is told by another world
        yield DialectDecision(claim, expected, got, first.place)


def of_errors(seen: CallbacksView) -> Decisions:
    """CB-052: an error of on_error itself becomes a warning."""
    for each in seen.sessions:
        raised = [one for one in each.raised if one.name == ERROR]
        if raised and not seen.scenario.middleware and not each.cancelled:
            texts = " ".join(str(x.data["text"]) for x in each.of("warning"))
            got = [one.data["raises"] in texts for one in raised]
            claim = "it is in a warning"
            yield DialectDecision(claim, [True] * len(raised), got, raised[0].place)


def cancelled(seen: CallbacksView) -> Decisions:
    """CB-053: a cancellation comes out, and the end is told as one."""
    if seen.scenario.middleware:
        return
    for each in seen.sessions:
        after = each.spec.cancel_after
        begun = each.entries[0].data["at"]
        if after is None or each.end.data["at"] - begun < after or each.raised:
            continue
        if each.told(END) and each.told(END)[0].data["at"] - begun < after:
            continue  # it had ended and waited for a callback
        claim = "it comes out"
        yield DialectDecision(claim, [True], [each.cancelled], each.end.place)
        for who in seen.receivers(each, END):
            got = [one.told[1:] for one in each.told(END, who)]
            claim = f"how it ended, as {who} is told"
            yield DialectDecision(claim, [["cancelled"]], got, each.end.place)


def nested(seen: CallbacksView) -> Decisions:
    """CB-060: what stands around a delivery is entered from the first to the last."""
    names = [each.name for each in seen.scenario.middleware]
    if not names or any(x.does != "hands_on" for x in seen.scenario.middleware):
        return
    for each in seen.sessions:
        for at, one in enumerate(each.entries):
            if not one.name or seen.waits() or one.data.get("raises"):
                continue
            before = each.entries[max(0, at - len(names)) : at]
            behind = each.entries[at + 1 : at + 1 + len(names)]
            got = [x.data.get("middleware") for x in (*before, *behind)]
            claim = f"what stands around {one.name} of {one.who}"
            yield DialectDecision(claim, [*names, *reversed(names)], got, one.place)


def dropped(seen: CallbacksView) -> Decisions:
    """CB-061: a delivery that is not handed on does not come."""
    kinds = [x.of for x in seen.scenario.middleware if x.does == "drops"]
    for each in seen.sessions:
        for name in kinds:
            entered = [x for x in each.of("hook_enter") if x.data["of"] == name]
            if entered or each.told(name):
                claim = f"who is told {name}"
                got = [x.who for x in each.told(name)]
                yield DialectDecision(claim, [], got, each.end.place)


def streamed(seen: CallbacksView) -> Decisions:
    """CB-070: a session's stream has what a client with all callbacks is told."""
    names = {*CALLBACK_TYPES, *(x.name for x in seen.scenario.rows)}
    for each in seen.undisturbed:
        if not each.spec.stream or each.raised:
            continue
        facts = [
            [x.data["fact"], x.data["data"]]
            for x in each.of("effect")
            if "fact" in x.data
        ]
        for who in _of_all(seen, each, names):
            told = [[x.name, x.told] for x in each.entries if x.who == who]
            if each.cancelled:  # what was told when nobody read any more
                told = told[: len(facts)]
            claim = f"the stream, against what {who} is told"
            yield DialectDecision(claim, told, facts, each.end.place)


def _of_all(seen: CallbacksView, each: SessionSeen, names: set[str]) -> Iterator[str]:
    """Yield the clients that hear every type; the first to load alone is asked."""
    for who in each.wiring.order[:1]:
        if all(
            who in seen.clients(each, name)
            for name in names
            if "client" in seen.owners(name)
        ):
            yield who


def left_early(seen: CallbacksView) -> Decisions:
    """CB-071: who stops reading the stream cancels the session."""
    for each in seen.undisturbed:
        read = {x.data.get("fact") for x in each.of("effect")}
        # Behind its last fact a session may have ended before its reader had gone.
        if each.left and not each.raised and not read.intersection((SAVE, END)):
            for who in seen.receivers(each, END):
                got = [one.told[1:] for one in each.told(END, who)]
                claim = f"how it ended, as {who} is told"
                yield DialectDecision(claim, [["cancelled"]], got, each.end.place)


def versions(seen: CallbacksView) -> Decisions:
    """CB-080: an old client that was adapted is told what it was told."""
    if seen.scenario.compares == "versions":
        yield from _same(seen, "what the second version does, against the first")


def stores(seen: CallbacksView) -> Decisions:
    """CB-081: sessions in a file are those in memory."""
    if seen.scenario.compares == "stores":
        yield from _same(seen, "what sessions in a file do, against those in memory")


def _same(seen: CallbacksView, claim: str) -> Decisions:
    one, other = (_seen(each) for each in seen.plays)
    yield DialectDecision(claim, one, other, seen.plays[1].observations[0].seq)


def _seen(play: CallbacksPlay) -> list[object]:
    """Return all of a play, facts that were read behind what happened in that session.

    When a reader takes a fact depends on how long a store takes: that is no difference.
    """
    first = play.observations[1].run if len(play.observations) > 1 else 0
    rows = comparable(Trace(play.observations[1:]))
    apart = sorted(rows, key=lambda row: (int(str(row["run"])), _is_read(row)))
    return [{**each, "run": int(str(each["run"])) - first} for each in apart]


def _is_read(row: Mapping[str, Any]) -> bool:
    return row["kind"] == "effect" and "fact" in row["data"]


CHECKS: Final = (
    DialectCheck(clause="CB-050", decide=told_of, under={"failures": ("isolated",)}),
    DialectCheck(clause="CB-051", decide=goes_on),
    DialectCheck(clause="CB-052", decide=of_errors, under={"failures": ("isolated",)}),
    DialectCheck(clause="CB-053", decide=cancelled, needs=frozenset(("cancellation",))),
    DialectCheck(clause="CB-060", decide=nested, needs=AROUND),
    DialectCheck(clause="CB-061", decide=dropped, needs=AROUND),
    DialectCheck(
        clause="CB-070",
        decide=streamed,
        needs=frozenset(("stream", "clients")),
        under=TOLD,
    ),
    DialectCheck(
        clause="CB-071", decide=left_early, needs=frozenset(("stream",)), under=TOLD
    ),
    DialectCheck(
        clause="CB-080",
        decide=versions,
        needs=frozenset(("versions",)),
        under=ONE_WAY,
    ),
    DialectCheck(clause="CB-081", decide=stores, needs=frozenset(("file",))),
)
"""Clauses about what goes wrong, what stands around, and both versions."""

"""Checks of what is loaded and stored: whose state counts, and when it is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from property_tests.callbacks.view import (
    LOAD,
    SAVE,
    CallbacksView,
    Data,
    SessionSeen,
)
from property_tests.dialects.dialect import DialectCheck, DialectDecision

Decisions = Iterator[DialectDecision]

CLIENTS: Final = frozenset(("clients",))
OWN_KEYS: Final = frozenset(("session_id", "messages"))


def _given(seen: CallbacksView, each: SessionSeen) -> list[tuple[str, Any]]:
    """Return who is asked to load in a session, each with what it gives."""
    late = seen.profile.client_callbacks == "late"
    hears = each.wiring.hears if late else each.wiring.at_setup
    rows = [(who, hears[who][LOAD].gives) for who in seen.clients(each, LOAD)]
    listens = each.wiring.listener.get(LOAD)
    if listens is not None and "listener" in seen.receivers(each, LOAD):
        rows.append(("listener", listens.gives))
    return rows


def _counts(seen: CallbacksView, given: object) -> bool:
    """Tell whether what was given is a state there."""
    truthy = seen.profile.loaded_state == "truthy"
    return bool(given) if truthy else given is not None


def _loaded(seen: CallbacksView, each: SessionSeen) -> Any:  # noqa: ANN401  # a value of JSON
    return next((x for _, x in _given(seen, each) if _counts(seen, x)), None)


def _usual(seen: CallbacksView) -> Iterator[SessionSeen]:
    """Yield the sessions in which no callback of loading raised."""
    for each in seen.undisturbed:
        if not any(one.name == LOAD for one in each.raised):
            yield each


def asked_in_order(seen: CallbacksView) -> Decisions:
    """CB-020: they are asked in order until one gives a state."""
    for each in _usual(seen):
        rows = _given(seen, each)
        if not rows:
            continue
        expected: list[str] = []
        for who, given in rows:
            expected.append(who)
            if _counts(seen, given):
                break
        got = [one.who for one in each.told(LOAD)]
        yield DialectDecision("who is asked to load", expected, got, each.end.place)


def empty_state(seen: CallbacksView) -> Decisions:
    """CB-021: an empty state is a state, or is none where the posture says so."""
    for each in _usual(seen):
        rows = _given(seen, each)
        first = next((given for _, given in rows if given is not None), None)
        if first == {}:
            claim = "the messages that the session begins with"
            expected = [] if _counts(seen, {}) else _stored_messages(seen, each)
            yield DialectDecision(claim, expected, _begun(each), each.end.place)


def _stored_messages(seen: CallbacksView, each: SessionSeen) -> list[Any]:
    given = _loaded(seen, each)
    if given is not None:
        return list(given.get("messages", []))
    return list((each.kept_before or {}).get("messages", []))


def _begun(each: SessionSeen) -> list[Any] | None:
    """Return what stood before the first message of the user, None if nothing did."""
    asked = each.of("model_request")
    return list(asked[0].data["messages"][:-1]) if asked else None


def local_store(seen: CallbacksView) -> Decisions:
    """CB-022: where nobody gives a state, the session is as it was stored."""
    for each in _usual(seen):
        if _loaded(seen, each) is None and each.of("model_request"):
            kept = list((each.kept_before or {}).get("messages", []))
            claim = "the messages that the session begins with"
            yield DialectDecision(claim, kept, _begun(each), each.end.place)


def loaded_state(seen: CallbacksView) -> Decisions:
    """CB-023: a session begins with the state that a client gave."""
    for each in _usual(seen):
        given = _loaded(seen, each)
        if given and each.of("model_request"):
            expected = [_said(one) for one in given.get("messages", [])]
            claim = "the messages that the session begins with"
            yield DialectDecision(claim, expected, _begun(each), each.end.place)


def _said(message: Data) -> Data:
    wanted = ("role", "content")
    return {key: message[key] for key in wanted if message.get(key)}


def more(seen: CallbacksView) -> Decisions:
    """CB-024: what a client's state holds besides is handed back as it was."""
    for each in _usual(seen):
        given = _loaded(seen, each)
        if not isinstance(given, Mapping) or each.result is None:
            continue
        rows = cast("Data", given)
        expected = {key: x for key, x in rows.items() if key not in OWN_KEYS}
        if expected and "state" in each.result:
            got = each.result["state"]["more"]
            yield DialectDecision("what is kept besides", expected, got, each.end.place)


def saved_first(seen: CallbacksView) -> Decisions:
    """CB-030: a client that hears of a state can rely on its being stored, or not."""
    first = seen.profile.saving == "stored_then_told"
    for each in seen.undisturbed:
        for one in each.told(SAVE):
            got = one.data["stored"] == one.told[0]
            claim = f"it is stored when {one.who} hears of it"
            yield DialectDecision(claim, [first], [got], one.place)


def stored(seen: CallbacksView) -> Decisions:
    """CB-031: what a session ends with is stored."""
    for each in seen.undisturbed:
        if each.result is not None and "state" in each.result:
            got, expected = each.kept, each.result["state"]
            yield DialectDecision("what is stored", expected, got, each.end.place)


def nothing_lost(seen: CallbacksView) -> Decisions:
    """CB-032: a callback that raises when it is told of a state loses nothing."""
    for each in seen.sessions:
        for one in each.raised:
            if one.name == SAVE and not seen.scenario.middleware:
                got = one.data["stored"] == one.told[0]
                claim = f"the state is stored though {one.who} raises"
                yield DialectDecision(claim, [True], [got], one.place)


def failed_run(seen: CallbacksView) -> Decisions:
    """CB-033: a run that failed is not in the state that is kept."""
    for each in seen.undisturbed:
        once = len(each.spec.texts) == 1 and _loaded(seen, each) is None
        if each.model_error is not None and once and not each.cancelled:
            claim = "what is stored behind it"
            expected = each.kept_before
            yield DialectDecision(claim, expected, each.kept, each.end.place)


def sessions_apart(seen: CallbacksView) -> Decisions:
    """CB-034: a session has nothing of another."""
    for each in _usual(seen):
        fresh = each.kept_before is None and each.others_kept
        if fresh and _loaded(seen, each) is None and each.of("model_request"):
            claim = "the messages that a new session begins with"
            yield DialectDecision(claim, [], _begun(each), each.end.place)


def restarted(seen: CallbacksView) -> Decisions:
    """CB-035: after a restart a session comes back from where it is stored."""
    for each in _usual(seen):
        kept = each.kept_before
        comes = each.restarted and kept is not None and bool(each.of("model_request"))
        if comes and kept is not None and _loaded(seen, each) is None:
            claim = "the messages that it begins with"
            expected = list(kept["messages"])
            yield DialectDecision(claim, expected, _begun(each), each.end.place)


STORED_FIRST: Final = {"saving": ("stored_then_told",)}

CHECKS: Final = (
    DialectCheck(clause="CB-020", decide=asked_in_order, needs=CLIENTS),
    DialectCheck(clause="CB-021", decide=empty_state, needs=CLIENTS),
    DialectCheck(clause="CB-022", decide=local_store),
    DialectCheck(clause="CB-023", decide=loaded_state, needs=CLIENTS),
    DialectCheck(clause="CB-024", decide=more, needs=CLIENTS),
    DialectCheck(clause="CB-030", decide=saved_first),
    DialectCheck(clause="CB-031", decide=stored),
    DialectCheck(clause="CB-032", decide=nothing_lost, under=STORED_FIRST),
    DialectCheck(clause="CB-033", decide=failed_run),
    DialectCheck(clause="CB-034", decide=sessions_apart),
    DialectCheck(clause="CB-035", decide=restarted, needs=frozenset(("restart",))),
)
"""Clauses about what is kept."""

"""Checks of what is told: by which callback, when, how often, and to whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from compat.engines.callbacks.world import LISTENER
from property_tests.callbacks.view import (
    END,
    ERROR,
    LOAD,
    OF_SESSIONS,
    SAVE,
    SHARED,
    START,
    STEP,
    TOOL_END,
    TOOL_START,
    CallbacksView,
    SessionEntry,
    SessionSeen,
)
from property_tests.dialects.dialect import DialectCheck, DialectDecision

Decisions = Iterator[DialectDecision]

CLIENTS: Final = frozenset(("clients",))
DELTA: Final = "on_llm_text_delta"
DONE: Final = "on_llm_text_done"
TOLD: Final = {"session_callbacks": ("told",)}


def order_of_session(seen: CallbacksView) -> Decisions:
    """CB-001: a session is loaded, told to have started, and at last to have ended."""
    for each in seen.undisturbed:
        names = [one.name for one in each.entries if one.name and one.name != ERROR]
        ranks = {LOAD: 0, START: 1, END: 3}
        got = [ranks.get(name, 2) for name in names]
        if len(set(got)) > 1:
            claim = f"the order of session {each.spec.session!r}"
            yield DialectDecision(claim, sorted(got), got, each.end.place)


def started(seen: CallbacksView) -> Decisions:
    """CB-002: who hears of a session's start hears it once, by its id."""
    for each in seen.undisturbed:
        if each.cancelled:
            continue
        for who in seen.receivers(each, START):
            got = [one.told for one in each.told(START, who)]
            claim = f"{who} hears of the start"
            yield DialectDecision(claim, [[each.spec.session]], got, each.end.place)


def ended(seen: CallbacksView) -> Decisions:
    """CB-003: and of its end once, by its id and how it ended."""
    for each in seen.undisturbed:
        status = _status(each)
        for who in seen.receivers(each, END):
            got = [one.told for one in each.told(END, who)]
            expected = [[each.spec.session, status]]
            if each.spec.stream and each.whole:  # facts alone say no status
                expected, got = [[each.spec.session]], [one[:1] for one in got]
            claim = f"{who} hears of the end"
            yield DialectDecision(claim, expected, got, each.end.place)


def _status(each: SessionSeen) -> str:
    if each.cancelled:
        return "cancelled"
    result = each.result
    return "error" if result is None else str(result.get("status"))


def stepped(seen: CallbacksView) -> Decisions:
    """CB-004: each step is told before its model call, by number and messages."""
    for each in seen.undisturbed:
        if each.cancelled:
            continue
        for who in seen.receivers(each, STEP):
            told = each.told(STEP, who)
            got = [one.told for one in told]
            claim = f"{who} hears of the steps"
            yield DialectDecision(claim, each.steps, got, each.end.place)
            asked = each.of("model_request")
            if len(asked) == len(told) and not each.spec.stream:
                late = [a.place > b.place for a, b in zip(told, asked, strict=True)]
                claim = f"{who} hears of a step after its model call"
                yield DialectDecision(claim, 0, sum(late), each.end.place)


def deltas(seen: CallbacksView) -> Decisions:
    """CB-005: each piece of text is told."""
    for each in seen.undisturbed:
        expected = [[one.data["text"]] for one in each.of("model_chunk")]
        for who in seen.receivers(each, DELTA):
            got = [one.told for one in each.told(DELTA, who)]
            if not each.cancelled:
                claim = f"{who} hears the pieces of text"
                yield DialectDecision(claim, expected, got, each.end.place)


def done(seen: CallbacksView) -> Decisions:
    """CB-006: the whole text of an answer is told when it is complete."""
    for each in seen.undisturbed:
        if not each.cancelled:
            for who in seen.receivers(each, DONE):
                got = [one.told for one in each.told(DONE, who)]
                claim = f"{who} hears the texts"
                yield DialectDecision(claim, _texts(each), got, each.end.place)


def _texts(each: SessionSeen) -> list[list[str]]:
    found: list[list[str]] = []
    text = ""
    for one in each.of("model_chunk", "model_response", "model_request"):
        if one.kind == "model_chunk":
            text += one.data["text"]
        elif one.kind == "model_request":
            text = ""
        elif text:
            found.append([text])
    return found


def tool_started(seen: CallbacksView) -> Decisions:
    """CB-007: each call is told before its tool runs."""
    for each in seen.undisturbed:
        if each.cancelled or not seen.known(each):
            continue
        for who in seen.receivers(each, TOOL_START):
            told = each.told(TOOL_START, who)
            strange = [x.told for x in told if x.told[0] not in each.calls]
            claim = f"calls that {who} hears of and nobody made"
            yield DialectDecision(claim, [], strange, each.end.place)
            if not each.of("tool_error"):  # which may keep the next one from its start
                claim = f"{who} hears of the calls"
                expected = _sorted([one] for one in each.calls)
                got = _sorted(one.told for one in told)
                yield DialectDecision(claim, expected, got, each.end.place)
            early = _before(each.of("tool_start"), told)
            claim = f"tools that ran before {who} heard of their calls"
            yield DialectDecision(claim, 0, early, each.end.place)


def _before(runs: Sequence[SessionEntry], told: Sequence[SessionEntry]) -> int:
    """Count the runs before which fewer calls of that tool were told than had begun."""
    found = 0
    for number, run in enumerate(runs):
        name = run.data["tool"]
        begun = [x for x in runs[: number + 1] if x.data["tool"] == name]
        heard = [x for x in told if x.told[0]["name"] == name and x.place < run.place]
        found += len(heard) < len(begun)
    return found


def _sorted(rows: Any) -> list[Any]:  # noqa: ANN401  # values of JSON
    return sorted(rows, key=str)


def tool_ended(seen: CallbacksView) -> Decisions:
    """CB-008: the end of each tool is told with its result or its error."""
    for each in seen.undisturbed:
        if each.cancelled or not seen.known(each):
            continue
        expected = _sorted(
            [one.data["tool"], one.data.get("result"), one.data.get("error")]
            for one in each.of("tool_end", "tool_error")
        )
        ids = {one["id"] for one in each.calls}
        for who in seen.receivers(each, TOOL_END):
            told = [one.told for one in each.told(TOOL_END, who)]
            got = _sorted([name, result, _text(e)] for name, _, result, e in told)
            claim = f"{who} hears of the ends of tools"
            yield DialectDecision(claim, expected, got, each.end.place)
            strange = [one[1] for one in told if one[1] not in ids]
            claim = f"ids that no call of {who}'s has"
            yield DialectDecision(claim, [], strange, each.end.place)


def _text(error: Any) -> str | None:  # noqa: ANN401  # a value of JSON
    return None if error is None else str(error["text"])


def failed(seen: CallbacksView) -> Decisions:
    """CB-009: what ends a session is told once, and comes out."""
    for each in seen.undisturbed:
        if each.model_error is None or each.cancelled:
            continue
        came = each.error is not None and each.model_error in each.error
        yield DialectDecision("the error comes out", [True], [came], each.end.place)
        for who in seen.receivers(each, ERROR):
            told = [one.told for one in each.told(ERROR, who)]
            got = [x for x in told if x[1] == "agent"]
            claim = f"{who} is told of it"
            texts = [each.model_error in x[0]["text"] for x in got]
            yield DialectDecision(claim, [True], texts, each.end.place)


def each_owner_once(seen: CallbacksView) -> Decisions:
    """CB-010: owners are told one after the other, each once."""
    if seen.waits():
        return
    for each in seen.undisturbed:
        names = dict.fromkeys(one.name for one in each.entries if one.name)
        for name in names:
            owners = seen.receivers(each, name)
            if name == LOAD or len(owners) < 2:  # more than one
                continue
            got = [one.who for one in each.told(name)]
            rounds = max(Counter(got).values())
            claim = f"who is told {name}, in which order"
            yield DialectDecision(claim, owners * rounds, got, each.end.place)


def listener(seen: CallbacksView) -> Decisions:
    """CB-011: the listener hears what it shares with the clients."""
    for each in seen.undisturbed:
        if each.cancelled or STEP not in each.wiring.listener:
            continue
        hears = seen.profile.shared == "each_owner"
        expected = len(each.steps) if hears else 0
        got = len(each.told(STEP, LISTENER))
        yield DialectDecision("steps that it hears", expected, got, each.end.place)


def asks_for_more(seen: CallbacksView) -> Decisions:
    """CB-012: a listener that asks for what is not its own is refused, or hears it."""
    for each in seen.sessions:
        for spec, entry in zip(each.spec.before, each.before, strict=True):
            if spec.do != "listen":
                continue
            rows = [x.name for x in seen.scenario.rows if "listener" in x.owners]
            others = set(spec.hears).difference(SHARED, rows)
            if not others:
                continue
            refused = seen.profile.listener_hears == "shared"
            got = "error" in entry.data
            claim = f"a listener of {', '.join(sorted(others))} is refused"
            yield DialectDecision(claim, [refused], [got], entry.place)
            if refused and got:
                text = str(entry.data["error"]["text"])
                named = [each for each in sorted(others) if each in text]
                claim = "the types that it is told of"
                yield DialectDecision(claim, sorted(others), named, entry.place)


def session_callbacks(seen: CallbacksView) -> Decisions:
    """CB-013: a client's callbacks of start and end are told, or overwritten."""
    told = seen.profile.session_callbacks == "told"
    for each in seen.undisturbed:
        if each.cancelled:
            continue
        late = seen.profile.client_callbacks == "late"
        hears = each.wiring.hears if late else each.wiring.at_setup
        for who in each.wiring.order:
            for name in sorted(OF_SESSIONS.intersection(hears.get(who, {}))):
                got = len(each.told(name, who))
                claim = f"how often {who} is told {name}"
                yield DialectDecision(claim, int(told), got, each.end.place)


def own_types(seen: CallbacksView) -> Decisions:
    """CB-014: a type that was added is told to its owners."""
    emitting = {each.name: each.emits for each in seen.scenario.tools if each.emits}
    for each in seen.undisturbed:
        if each.cancelled:
            continue
        for row in seen.scenario.rows:
            runs = [
                x
                for x in each.of("tool_start")
                if emitting.get(x.data["tool"]) == row.name
            ]
            for who in seen.receivers(each, row.name):
                got = [one.told for one in each.told(row.name, who)]
                claim = f"{who} is told {row.name}"
                expected = [[1] for _ in runs]
                yield DialectDecision(claim, expected, got, each.end.place)


def saved_often(seen: CallbacksView) -> Decisions:
    """CB-015: the state is told after each message of the user."""
    for each in seen.undisturbed:
        for who in seen.receivers(each, SAVE):
            if each.whole:
                got = len(each.told(SAVE, who))
                claim = f"states that {who} is told"
                yield DialectDecision(claim, len(each.spec.texts), got, each.end.place)


CHECKS: Final = (
    DialectCheck(clause="CB-001", decide=order_of_session),
    DialectCheck(clause="CB-002", decide=started, under=TOLD),
    DialectCheck(clause="CB-003", decide=ended, under=TOLD),
    DialectCheck(clause="CB-004", decide=stepped),
    DialectCheck(clause="CB-005", decide=deltas),
    DialectCheck(clause="CB-006", decide=done),
    DialectCheck(clause="CB-007", decide=tool_started),
    DialectCheck(clause="CB-008", decide=tool_ended),
    DialectCheck(clause="CB-009", decide=failed),
    DialectCheck(clause="CB-010", decide=each_owner_once, needs=CLIENTS),
    DialectCheck(clause="CB-011", decide=listener, needs=frozenset(("listener",))),
    DialectCheck(clause="CB-012", decide=asks_for_more, needs=frozenset(("listener",))),
    DialectCheck(clause="CB-013", decide=session_callbacks, needs=CLIENTS),
    DialectCheck(clause="CB-014", decide=own_types, needs=frozenset(("types",))),
    DialectCheck(clause="CB-015", decide=saved_often),
)
"""Clauses about what is told."""

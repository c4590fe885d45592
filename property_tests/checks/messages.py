"""MSG: what a history is made of (contract §2 MSG)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast

from property_tests.check import Check, Decide, Decision, PlayedWorld
from property_tests.checks.ends import point_of
from property_tests.checks.histories import Continuation, Label, PointKind, turns, walk
from property_tests.checks.model_onions import edits_request
from property_tests.checks.onions import changes_call_id
from property_tests.checks.routes import answer_of_run
from property_tests.view import Iteration, RunView, View
from refengine.messages import Message
from refengine.testing.notation import parse_message
from refengine.testing.scenario import AgentSpec

MODEL_SIDE: Final = "model side"
_HOOKS: Final = frozenset(("before_model", "after_model", "struct_model_hooks"))
_AFTER: Final = frozenset(("after_model", "struct_model_hooks"))
_BEFORE: Final = frozenset(("before_model", "struct_model_hooks"))


def _any_agent(_: AgentSpec) -> bool:
    return True


def _has_editing_wraps(agent: AgentSpec) -> bool:
    wraps = (each.wrap_model for each in agent.handlers)
    return any(wrap is not None and edits_request(wrap) for wrap in wraps)


def _has_none(agent: AgentSpec) -> bool:
    return not _has_editing_wraps(agent)


def _part(
    label: Label,
    claim: str,
    *kinds: PointKind,
    of: Callable[[AgentSpec], bool] = _any_agent,
) -> Decide:
    """Return a check of one part of the history, at points of these places."""

    def decide(case: PlayedWorld) -> Iterator[Decision]:
        for run in case.played.runs:
            seen = walk(case.played, run) if of(run.agent) else ()
            for point in seen:
                if isinstance(point, Continuation) or point.kind not in kinds:
                    continue
                for part, expected, got in point.parts():
                    if part.label == label:
                        yield Decision(claim, expected, got, point.at)

    return decide


def final_messages(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that a run hands back what was left in the end, and nothing else."""
    for run in case.played.runs:
        for point in walk(case.played, run):
            if isinstance(point, Continuation) or point.kind != "end":
                continue
            expected = [m for _, messages, _ in point.parts() for m in messages]
            claim = "the run's messages are the history as it was left"
            yield Decision(claim, expected, point.got, point.at)


def route(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that what was left decides how the run goes on.

    Where nothing is left is a clause of its own.
    """
    for run in case.played.runs:
        for turn in turns(case.played, run):
            if not turn.left and case.profile.after_leaves_none != "ignored":
                continue
            if run.left_in(turn.now):
                continue
            at = turn.now.after[-1].exit if turn.now.after else turn.now.response
            expected, got = _leads(run, turn)
            yield Decision(
                "the posture 'route' decides how it goes on", expected, got, at
            )


def none_left(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that leaving no message is an error by name, or as postured."""
    for run in case.played.runs:
        for turn in turns(case.played, run):
            if turn.left or not turn.now.after:
                continue
            at = turn.now.after[-1].exit
            refused = turn.route.kind == "refused"
            expected = ("error", "routing") if refused else "no error of routing"
            got: object = (run.status, point_of(run))
            if not refused and point_of(run) != "routing":
                got = expected
            yield Decision("leaving no message is an error by name", expected, got, at)


def answer(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that a run that completes on an assistant message has it as its answer."""
    yield from _answers(case, other_role=False)


def answer_of_other_role(case: PlayedWorld) -> Iterator[Decision]:
    """Decide the answer of a run that completes on a message of another role."""
    yield from _answers(case, other_role=True)


def second_turn(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that a turn starts from what the last run left, but its own first."""
    last: dict[int, RunView] = {}
    for run in case.played.runs:
        before = last.get(run.spec.agent)
        last[run.spec.agent] = run
        if not run.spec.continues or before is None or run.start is None:
            continue
        history = _without_first(case.played, before)
        if history is not None:
            expected = [*history, *map(parse_message, run.spec.input)]
            claim = "a turn starts from the last run's messages and its own input"
            yield Decision(claim, expected, run.given, run.start)


def unanswered(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether calls without results are sent, or refused."""
    sends = case.profile.unanswered_calls == "sent"
    for now in case.played.iterations:
        messages = _to_be_sent(now)
        if _lacking(messages):
            reached = bool(now.request or now.model_wraps)
            yield Decision(
                "calls without results in what the model is sent: sent, or refused",
                sends,
                reached,
                now.entries[-1],
            )


def _to_be_sent(now: Iteration) -> Sequence[Message]:
    """Return what the model was asked with, or would have been."""
    if now.model_wraps:
        return cast("Sequence[Message]", now.model_wraps[0].seen["messages"])
    if now.sent is not None:
        return now.sent
    return (now.before[-1].left or ()) if now.before else ()


def _answers(case: PlayedWorld, *, other_role: bool) -> Iterator[Decision]:
    for run in case.played.runs:
        found = list(turns(case.played, run))
        if (
            run.status != "completed"
            or not found
            or found[-1].now.number < len(run.iterations)
        ):
            continue
        turn = found[-1]
        if turn.route.kind != "completed" or _ends_on_assistant(turn) is other_role:
            continue
        expected = answer_of_run(case.profile, turn.response, turn.left)
        yield Decision("the answer of a completed run", expected, run.answer, run.end)


def _ends_on_assistant(turn: Continuation) -> bool:
    return bool(turn.left) and turn.left[-1].role == "assistant"


def _leads(run: RunView, turn: Continuation) -> tuple[object, object]:
    """Return where the run has to go, and where it went, in comparable words."""
    now, kind = turn.now, turn.route.kind
    nothing: list[str] = []
    ran: list[str] = [
        each.id for each in now.calls.values() if each.hooks or each.starts
    ]
    if changes_call_id(run.agent):
        ran = []  # what is further in is recorded under the other id
    later = now.number < len(run.iterations)
    if kind == "calls":
        ids = [call.id for call in turn.route.calls]
        known = [each for each in ran if each in ids]
        ended = run.status == "completed" and not later
        return ("calls", known), ("completed" if ended else "calls", ran)
    if kind == "asked again":
        ended = not later and run.status in {"completed", "returned_directly"}
        return ("asked again", nothing), ("ended" if ended else "asked again", ran)
    status = "error" if kind == "refused" else "completed"
    got = run.status
    if kind == "completed" and run.after_agent and got == "error":
        got = "completed"  # only a run that succeeded comes to after_agent
    return (status, "the last iteration", nothing), (
        got,
        "one more iteration" if later else "the last iteration",
        ran,
    )


def _without_first(view: View, run: RunView) -> Sequence[Message] | None:
    """Return what a run left without the system message that the engine put first.

    That one is told by object; where objects do not last, as the first equal one.
    """
    if run.end is None:
        return None
    if view.profile.instruction_place != "in_history":
        return run.final
    start = next((e for e in walk(view, run) if not isinstance(e, Continuation)), None)
    if start is None or start.segments[0].label != "system":
        return None
    if not start.segments[0].messages or not start.got:
        return run.final
    first = start.got[0]
    same = [at for at, each in enumerate(run.final) if each is first]
    equal = [at for at, each in enumerate(run.final) if each == first]
    if len(same or equal) > 1:
        return None
    gone = same or equal
    return [each for at, each in enumerate(run.final) if at not in gone]


def _lacking(messages: Sequence[Message]) -> bool:
    done = {each.tool_call_id for each in messages if each.role == "tool"}
    return any(call.id not in done for each in messages for call in each.tool_calls)


CHECKS: Final = (
    Check(
        clause="MSG-001",
        decide=_part("system", "the system message first, if there is one", MODEL_SIDE),
    ),
    Check(
        clause="MSG-002",
        decide=_part("given", "the messages that the run was given", MODEL_SIDE),
    ),
    Check(
        clause="MSG-003",
        decide=_part("left", "what the hook before left", MODEL_SIDE, "after"),
        needs=frozenset(("several_handlers",)),
        any_of=_HOOKS,
    ),
    Check(
        clause="MSG-004",
        decide=_part("sent", "the model is sent what was left", MODEL_SIDE),
        any_of=_BEFORE,
    ),
    Check(
        clause="MSG-005",
        decide=_part(
            "kept",
            "what is kept of the history before the model",
            MODEL_SIDE,
            "after",
            of=_has_none,
        ),
    ),
    Check(
        clause="MSG-006",
        decide=_part(
            "kept",
            "the history without a wrapper's edits of one request",
            MODEL_SIDE,
            "after",
            of=_has_editing_wraps,
        ),
        needs=frozenset(("wrap_model",)),
    ),
    Check(
        clause="MSG-007",
        decide=_part("response", "after-hooks see the response last", "after"),
        any_of=_AFTER,
    ),
    Check(
        clause="MSG-008",
        decide=_part("response", "the response stands in the history", MODEL_SIDE),
    ),
    Check(
        clause="MSG-009",
        decide=_part("after", "what the after-hooks left is kept", MODEL_SIDE),
        any_of=_AFTER,
    ),
    Check(
        clause="MSG-010",
        decide=_part("results", "the results, in call order", MODEL_SIDE),
    ),
    Check(clause="MSG-011", decide=final_messages),
    Check(clause="MSG-012", decide=route),
    Check(clause="MSG-013", decide=none_left, any_of=_AFTER),
    Check(clause="MSG-014", decide=answer),
    Check(clause="MSG-015", decide=answer_of_other_role, any_of=_AFTER),
    Check(clause="MSG-017", decide=second_turn),
    Check(clause="MSG-018", decide=unanswered),
)

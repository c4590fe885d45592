"""INS: what instruction an agent runs with (contract §2 INS)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks import positions
from property_tests.checks.configuring import (
    Setups,
    first_runs,
    followed,
    last_turns,
    later_runs,
    paired,
    setups,
    turns,
)
from property_tests.checks.phases import Setup
from property_tests.view import Iteration, RunView, View
from refengine.messages import Message
from refengine.profile import Profile
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.trace import Observation

Meant: TypeAlias = Callable[[AgentSpec], bool]
Started: TypeAlias = tuple[Sequence[str], Observation]


def started(run: RunView, profile: Profile) -> Started | None:
    """Return the texts that an engine put before the messages of a run, and where.

    Under ``in_history`` they are what the first hook sees before the messages that were
    given, else what the model is sent before the history. None if nothing shows it.
    """
    now = run.iterations[0] if run.iterations else None
    if now is None:
        return None
    if profile.instruction_place == "each_call":
        return _put_before_call(run, now, profile)
    seen = _first_seen(now)
    return None if seen is None else (_before(seen[0], run.given), seen[1])


def base_alone(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether a run starts with an instruction that nobody adds to."""
    yield from _starts(
        case,
        "the run starts with the instruction as it was given",
        lambda agent: bool(agent.instruction) and not _adds(agent),
    )


def no_instruction(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether no message is put first where the instruction is empty."""
    view, found = case.played, setups(case.played)
    for run in view.runs:
        setup = found.runs[run.number]
        if not setup.failed and not setup.instruction:
            got = started(run, view.profile)
            if got is not None:
                claim = "without an instruction no message is put first"
                yield Decision(claim, [], list(got[0]), got[1])


def additions(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether structs add in list order, each behind the separator."""
    yield from _starts(
        case,
        "structs add to the instruction in list order, each behind a separator",
        lambda agent: bool(agent.instruction) and _all_add(agent),
    )


def empty_addition(case: PlayedWorld) -> Iterator[Decision]:
    """Tell what an empty addition does."""
    yield from _starts(
        case,
        "an empty addition brings its separator, or nothing, as the profile has it",
        lambda agent: (
            bool(agent.instruction and agent.middlewares) and not _all_add(agent)
        ),
    )


def empty_base(case: PlayedWorld) -> Iterator[Decision]:
    """Tell what additions to an empty instruction give."""
    yield from _starts(
        case,
        "an empty instruction is added to as the profile has it",
        lambda agent: not agent.instruction and bool(agent.middlewares),
    )


def structs_first(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether the first handler finds what the structs added."""
    for setup, seen, at in _first_turns(case.played):
        claim = "the first handler sees the instruction with what structs added"
        yield Decision(claim, setup.steps[0].seen["instruction"], seen, at)


def pipeline(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether each handler sees the instruction that the one before left."""
    claim = "a handler sees the instruction that the one before left"
    for before, after in followed(case.played):
        left, seen = _instruction(before.left), _instruction(after.seen)
        yield Decision(claim, left, seen, after.enter)


def last_counts(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether a run starts with the instruction that the last handler left."""
    view = case.played
    claim = "the run starts with the instruction that the last handler left"
    for run, hooks in last_turns(view):
        got = started(run, view.profile)
        if got is not None and hooks[-1].left is not None:
            text = str(_instruction(hooks[-1].left))
            yield Decision(claim, [text] if text else [], list(got[0]), got[1])


def nothing_accumulates(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether later runs of an agent start as if they were the first.

    Of an agent whose first run starts wrongly other clauses tell.
    """
    view, found = case.played, setups(case.played)
    claim = "a later run starts with no more than the first one did"
    right = {r.spec.agent for r in first_runs(view) if _right(r, found, view.profile)}
    for run in later_runs(view):
        setup = found.runs[run.number]
        if setup.failed or run.spec.agent not in right:
            continue
        for step, hook in list(paired(setup, run.before_agent))[:1]:
            seen = _instruction(hook.seen)
            yield Decision(claim, step.seen["instruction"], seen, hook.enter)
        got = started(run, view.profile)
        if got is not None:
            yield Decision(claim, _texts(setup), list(got[0]), got[1])


def every_request(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether later requests begin with the instruction too.

    Where it stands in the history a hook may have edited it, so only histories that
    nobody edits tell something.
    """
    view, found = case.played, setups(case.played)
    for run in view.runs:
        setup = found.runs[run.number]
        if setup.failed or not setup.instruction or _edited(run.agent, view.profile):
            continue
        begun = started(run, view.profile)
        for now in run.iterations[1:]:
            seen = _first_sent(now)
            if seen is not None and begun is not None and begun[0]:
                first = seen[0][0] if seen[0] else None
                got = None if first is None else [first.role, first.content]
                claim = "every request begins with the instruction of the run"
                yield Decision(claim, ["system", begun[0][0]], got, seen[1])


def _edited(agent: AgentSpec, profile: Profile) -> bool:
    kept = profile.instruction_place == "in_history"
    hooks = positions.before_model(agent) + positions.after_model(agent, profile)
    return kept and bool(hooks)


def _starts(case: PlayedWorld, claim: str, meant: Meant) -> Iterator[Decision]:
    """Decide about the first runs of agents whose handlers leave the instruction."""
    view, found = case.played, setups(case.played)
    for run in first_runs(view):
        setup = found.runs[run.number]
        if setup.failed or setup.steps or not meant(run.agent):
            continue
        got = started(run, view.profile)
        if got is not None:
            yield Decision(claim, _texts(setup), list(got[0]), got[1])


def _first_turns(view: View) -> Iterator[tuple[Setup, object, Observation]]:
    """Yield each agent's first phase, and the instruction its first handler saw."""
    first = {run.number for run in first_runs(view)}
    for run, setup, hooks in turns(view):
        if run is None or run.number in first:
            for _, hook in list(paired(setup, hooks))[:1]:
                yield setup, _instruction(hook.seen), hook.enter


def _instruction(seen: object) -> object:
    return cast("dict[str, object]", seen).get("instruction")


def _right(run: RunView, found: Setups, profile: Profile) -> bool:
    got, setup = started(run, profile), found.runs[run.number]
    return got is None or setup.failed or list(got[0]) == _texts(setup)


def _texts(setup: Setup) -> list[str]:
    return [setup.instruction] if setup.instruction else []


def _adds(agent: AgentSpec) -> bool:
    return bool(agent.middlewares)


def _all_add(agent: AgentSpec) -> bool:
    return _adds(agent) and all(m.additional_instruction for m in agent.middlewares)


def _first_seen(now: Iteration) -> tuple[Sequence[Message], Observation] | None:
    """Return the history as the first hook of an iteration sees it, or the model."""
    if now.before:
        return cast("Sequence[Message]", now.before[0].seen), now.before[0].enter
    return _first_sent(now)


def _first_sent(now: Iteration) -> tuple[Sequence[Message], Observation] | None:
    """Return the messages of a request, before any wrapper changed them."""
    if now.model_wraps:
        hook = now.model_wraps[0]
        return cast("Sequence[Message]", hook.seen["messages"]), hook.enter
    if now.sent is None or now.request is None:
        return None
    return now.sent, now.request


def _put_before_call(run: RunView, now: Iteration, profile: Profile) -> Started | None:
    seen = _first_sent(now)
    if seen is None:
        return None
    history: Sequence[Message] = run.given
    if now.before:
        if now.before[-1].exit is None:
            return None
        history = cast("Sequence[Message]", now.before[-1].left)
        if not history and profile.before_model_edits == "this_call":
            history = run.given
    return _before(seen[0], history), seen[1]


def _before(messages: Sequence[Message], given: Sequence[Message]) -> list[str]:
    """Return the texts of what stands before the messages that were given.

    A message of another role than system is told with it.
    """
    count = max(len(messages) - len(given), 0)
    return [
        m.content if m.role == "system" else f"{m.role}: {m.content}"
        for m in messages[:count]
    ]


def with_structs(scenario: Scenario) -> bool:
    """Tell whether an agent of a scenario has struct middlewares."""
    return any(each.middlewares for each in scenario.all_agents)


def with_handlers(scenario: Scenario) -> bool:
    """Tell whether an agent of a scenario has handlers."""
    return any(each.handlers for each in scenario.all_agents)


STRUCT: Final = frozenset(("struct_instruction",))
EDITED: Final = frozenset(("before_agent", "edited_config"))
AFTER: Final = EDITED | {"several_handlers"}

CHECKS: Final[tuple[Check, ...]] = (
    Check(clause="INS-001", decide=base_alone),
    Check(clause="INS-002", decide=no_instruction),
    Check(clause="INS-003", decide=additions, needs=STRUCT, meant=with_structs),
    Check(clause="INS-004", decide=empty_addition, needs=STRUCT, meant=with_structs),
    Check(clause="INS-005", decide=empty_base, needs=STRUCT, meant=with_structs),
    Check(clause="INS-006", decide=structs_first, needs=STRUCT | EDITED),
    Check(clause="INS-007", decide=pipeline, needs=AFTER, meant=with_handlers),
    Check(clause="INS-008", decide=last_counts, needs=EDITED, meant=with_handlers),
    Check(clause="INS-009", decide=nothing_accumulates),
    Check(clause="INS-010", decide=every_request),
)

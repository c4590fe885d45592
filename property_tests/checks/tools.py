"""TOOL: which tools the model is offered, and which of them run (contract §2 TOOL)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks import executing
from property_tests.checks.calling import offers
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
from property_tests.checks.phases import (
    HandlerTurn,
    Setup,
    hidden,
    is_doubled,
    names_shown,
    offered,
    tools_in,
)
from property_tests.checks.specs import all_tools, hides_once
from property_tests.view import HookView, RunView
from refengine.profile import Profile
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.trace import Observation

_SAME_IN_A_RUN: Final = "every model call of a run is given the same tools"

Meant: TypeAlias = Callable[[AgentSpec, Setup], bool]


def configured(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether configured tools are offered in their order."""
    yield from _first_request(
        case,
        "the configured tools are offered in their order",
        lambda agent, setup: _untouched(setup) and not _added(agent),
    )


def of_structs(case: PlayedWorld) -> Iterator[Decision]:
    """Tell where the tools of structs stand."""
    yield from _first_request(
        case,
        "tools of structs are offered too, in list order, where the profile has them",
        lambda agent, setup: _untouched(setup) and _added(agent),
    )


def equal_names(case: PlayedWorld) -> Iterator[Decision]:
    """Tell how equal names of configured tools and those of structs are offered."""
    yield from _first_request(
        case,
        "equal names are folded at the place of the first, or all shown",
        lambda _, setup: not setup.steps and setup.doubled,
    )


def first_sees(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether the first handler sees the tools that were there before it."""
    first = {run.number for run in first_runs(case.played)}
    for run, setup, hooks in turns(case.played):
        if run is None or run.number in first:
            for step, hook in list(paired(setup, hooks))[:1]:
                yield _sees("the first handler sees all tools before it", step, hook)


def next_sees(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether a handler sees the tools that the one before left."""
    claim = "a handler sees the tools that the one before left"
    for before, after in followed(case.played):
        left, seen = tools_in(before.left), tools_in(after.seen)
        if not is_doubled(left):
            yield Decision(claim, left, seen, after.enter)


def normalised(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether equal names that a handler leaves are folded before the next."""
    claim = "equal names that a handler leaves are folded before anybody sees them"
    for before, after in followed(case.played):
        left, seen = tools_in(before.left), tools_in(after.seen)
        if is_doubled(left):
            yield Decision(claim, _once(left, case.profile), seen, after.enter)
    yield from _last_left(case, claim, is_doubled)


def last_counts(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether the model is offered what the last handler left."""
    claim = "the model is offered what the last handler left, and nothing else"
    yield from _last_left(case, claim, lambda left: bool(left) and not is_doubled(left))


def all_removed(case: PlayedWorld) -> Iterator[Decision]:
    """Tell what is offered where handlers leave no tool."""
    yield from _first_request(
        case,
        "where handlers leave no tool, none is offered, or as the profile has it",
        lambda _, setup: bool(setup.steps and setup.default) and setup.left == (),
    )


def null(case: PlayedWorld) -> Iterator[Decision]:
    """Tell what null in the place of the tools does."""
    claim = "null for the tools is refused, or read as the profile has it"
    yield from _first_request(case, claim, lambda _, setup: setup.left is None)
    for run, setup, hooks in turns(case.played):
        refused = setup.failed and setup.steps[-1].left is not None
        if refused and len(hooks) == len(setup.steps):
            error = case.played.build_error if run is None else run.error
            got = None if error is None else error.data.get("class")
            yield Decision(claim, "HookReturnError", got, error or hooks[-1].enter)


def same_in_a_run(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether later model calls of a run are given the tools of the first.

    Where wrappers are around the model, what the outermost one is given counts too.
    """
    view, found = case.played, setups(case.played)
    for run in view.runs:
        wraps = [each.model_wraps[0] for each in run.iterations if each.model_wraps]
        yield from _all_alike([(each.seen.get("tools"), each.enter) for each in wraps])
        requests = [each.request for each in run.iterations if each.request is not None]
        if _plain(run.agent, found.runs[run.number]):
            yield from _all_alike([(offered(each), each) for each in requests])


def nothing_accumulates(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether later runs start with the tools they would have had as first.

    Of an agent whose first run starts wrongly other clauses tell.
    """
    claim = "a later run has no more tools than it would have had as the first"
    view, found = case.played, setups(case.played)
    right = {r.spec.agent for r in first_runs(view) if _right(claim, r, found)}
    for run in later_runs(view):
        setup = found.runs[run.number]
        if run.spec.agent in right:
            for step, hook in list(paired(setup, run.before_agent))[:1]:
                yield _sees(claim, step, hook)
            yield from _request(claim, run, setup)


def taken_out(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether tools that wrappers take out are missing in that request alone."""
    view, found = case.played, setups(case.played)
    for run in view.runs:
        setup, takes = found.runs[run.number], hidden(run.agent)
        for now in run.iterations:
            if setup.failed or not any(takes) or hides_once(run.agent):
                continue
            if len(now.model_wraps) == len(takes):
                yield from _seen_by_wrappers(setup, takes, now.model_wraps)
            if now.request is not None:
                claim = "a request lacks the tools that wrappers took out, no others"
                yield _offered(claim, run.agent, setup, now.request)


def described(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether the model is told of a tool what the tool says of itself."""
    agents = case.scenario.all_agents
    # Of those with a description of their own another clause tells.
    own = {e.name for agent in agents for e in all_tools(agent) if e.description}
    for now in case.played.iterations:
        if now.request is None:
            continue
        for each in cast("Sequence[object]", now.request.data["tools"]):
            name, text = names_shown(each)
            if text is not None and name not in own:
                claim = "a tool is offered with its own description"
                yield Decision(claim, f"tool {name}", text, now.request)


def removal_reported(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether handlers that leave fewer names are told of."""
    view = case.played
    for run, setup, hooks in turns(view):
        if len(hooks) != len(setup.steps) or (
            run is None and len(setups(view).built) > 1
        ):
            continue
        cancelled = run is not None and run.status == "cancelled"
        if cancelled and any(hook.exit is None for hook in hooks):
            continue  # what a hook removed by then it had not left yet
        expected = [list(each.removed) for each in setup.steps if each.removed]
        entries = view.build if run is None else run.entries
        reported = [each for each in entries if each.kind == "tools_removed"]
        got = [each.data.get("names") for each in reported]
        if expected or got:
            claim = "tools_removed tells the names that each handler took out"
            yield Decision(
                claim, expected, got, reported[-1] if reported else hooks[-1].enter
            )


def _all_alike(
    given: Sequence[tuple[object, Observation]],
) -> Iterator[Decision]:
    """Decide that all have what the first one has."""
    for names, at in given[1:]:
        yield Decision(_SAME_IN_A_RUN, given[0][0], names, at)


def _last_left(
    case: PlayedWorld, claim: str, meant: Callable[[Sequence[str]], bool]
) -> Iterator[Decision]:
    """Decide whether the first request offers what the last handler left."""
    for run, hooks in last_turns(case.played):
        now = run.iterations[0] if run.iterations else None
        left = tools_in(hooks[-1].left)
        if now is None or now.request is None or any(hidden(run.agent)):
            continue
        if meant(left):
            expected = _once(left, case.profile)
            yield Decision(claim, expected, offered(now.request), now.request)


def _once(names: Sequence[str], profile: Profile) -> list[str]:
    one_entry = profile.equal_tool_names == "one_entry"
    return list(dict.fromkeys(names)) if one_entry else list(names)


def _right(claim: str, run: RunView, found: Setups) -> bool:
    setup = found.runs[run.number]
    return all(each.holds for each in _request(claim, run, setup))


def _first_request(case: PlayedWorld, claim: str, meant: Meant) -> Iterator[Decision]:
    found = setups(case.played)
    for run in first_runs(case.played):
        setup = found.runs[run.number]
        if not setup.failed and meant(run.agent, setup):
            yield from _request(claim, run, setup)


def _request(claim: str, run: RunView, setup: Setup) -> Iterator[Decision]:
    """Decide about the first request of a run that no wrapper takes tools out of."""
    now = run.iterations[0] if run.iterations else None
    if now is not None and now.request is not None and _plain(run.agent, setup):
        yield _offered(claim, run.agent, setup, now.request)


def _offered(claim: str, agent: AgentSpec, setup: Setup, at: Observation) -> Decision:
    return Decision(claim, offers(agent, setup), offered(at), at)


def _sees(claim: str, step: HandlerTurn, hook: HookView) -> Decision:
    seen = cast("dict[str, object]", hook.seen)
    return Decision(claim, step.seen["tools"], seen.get("tools"), hook.enter)


def _seen_by_wrappers(
    setup: Setup, takes: Sequence[Sequence[str]], hooks: Sequence[HookView]
) -> Iterator[Decision]:
    """Decide what each wrapper saw: what those around it took out is missing."""
    left = [each.name for each in setup.shown]
    for hook, names in zip(hooks, takes, strict=True):
        claim = "a wrapper around the model sees the tools that those outside left"
        yield Decision(claim, left, hook.seen.get("tools"), hook.enter)
        left = [name for name in left if name not in names]


def _untouched(setup: Setup) -> bool:
    return not setup.steps and not setup.doubled


def _added(agent: AgentSpec) -> bool:
    return any(each.additional_tools for each in agent.middlewares)


def _plain(agent: AgentSpec, setup: Setup) -> bool:
    return not setup.failed and not any(hidden(agent))


def with_handlers(scenario: Scenario) -> bool:
    """Tell whether an agent of a scenario has handlers."""
    return any(each.handlers for each in scenario.all_agents)


EDITED: Final = frozenset(("before_agent", "edited_config"))
AFTER: Final = EDITED | {"several_handlers"}
SEVERAL: Final = frozenset(("parallel_calls",))
WRAPS: Final = frozenset(("wrap_model",))
STRUCTS: Final = frozenset(("struct_tools",))
ANSWERED: Final = frozenset(("unknown_tools_handler",))

CHECKS: Final[tuple[Check, ...]] = (
    Check(clause="TOOL-001", decide=configured),
    Check(clause="TOOL-002", decide=of_structs, needs=STRUCTS),
    Check(clause="TOOL-003", decide=equal_names),
    Check(clause="TOOL-004", decide=first_sees, needs=EDITED, meant=with_handlers),
    Check(clause="TOOL-005", decide=next_sees, needs=AFTER, meant=with_handlers),
    Check(clause="TOOL-006", decide=normalised, needs=EDITED, meant=with_handlers),
    Check(clause="TOOL-007", decide=last_counts, needs=EDITED, meant=with_handlers),
    Check(clause="TOOL-008", decide=all_removed, needs=EDITED, meant=with_handlers),
    Check(clause="TOOL-009", decide=null, needs=EDITED, meant=with_handlers),
    Check(clause="TOOL-010", decide=same_in_a_run),
    Check(clause="TOOL-011", decide=nothing_accumulates, needs=EDITED),
    Check(clause="TOOL-012", decide=taken_out, needs=WRAPS, meant=with_handlers),
    Check(clause="TOOL-013", decide=described),
    Check(
        clause="TOOL-014", decide=removal_reported, needs=EDITED, meant=with_handlers
    ),
    Check(clause="TOOL-015", decide=executing.last_of_equals),
    Check(clause="TOOL-016", decide=executing.by_name),
    Check(clause="TOOL-017", decide=executing.removed, needs=EDITED),
    Check(clause="TOOL-018", decide=executing.taken_out, needs=WRAPS),
    Check(clause="TOOL-019", decide=executing.unknown),
    Check(clause="TOOL-020", decide=executing.siblings, needs=SEVERAL),
    Check(clause="TOOL-021", decide=executing.answered, needs=ANSWERED),
    Check(clause="TOOL-022", decide=executing.unseen, needs=ANSWERED),
)

"""INT: whatever raises an interrupt, the run stops to ask (contract INT).

Nobody sees an interrupt being raised. But a hook, a wrapper or a tool that asks, that
can raise nothing else and that was entered and never left, has raised one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.kept_runs import (
    ResumedRun,
    address_of,
    begun,
    cuts,
    interrupts,
    keeps,
    left_open,
)
from property_tests.checks.passages import layers, origin
from property_tests.checks.specs import all_tools, keeps_ids, limit, tool_wraps
from property_tests.view import Iteration, RunView, View
from refengine.messages import Json
from refengine.testing import ops
from refengine.testing.scenario import AgentSpec, ModelWrapSpec, Scenario, ToolWrapSpec
from refengine.testing.trace import Observation

ASKS: Final = ops.Ask | ops.Interrupts
RAISES: Final = ops.Fail | ops.Block | ops.CtxSet | ops.RunLocalSet
"""Operations that may end a hook otherwise: a value may be one that is not kept."""
ENDED: Final = "a run in which something asks is interrupted"
TOLD: Final = "what is asked is what the consumer is told"
COUNTED: Final = "iterations of a run that goes on: those it had, and those it began"
LEFT: Final = "a run that goes on begins no iteration beyond its limit"
USED_UP: Final = "a run that goes on has all that its limit left it"
TOO_EARLY: Final = "a hook that asks before there is a run ends what it stands in"


def interrupted(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a run in which an interrupt was raised ends with it, and tells it."""
    for run in case.played.runs:
        if run.end is None or run.status == "cancelled" or _failed(run):
            continue
        for seen, payloads in _asking(case, run):
            yield Decision(ENDED, "interrupted", run.status, seen)
            told = [each.data.get("payload") for each in interrupts(run)]
            if len(payloads) == 1 and told:
                got = payloads[0] if payloads[0] in told else told
                yield Decision(TOLD, payloads[0], got, seen)
    yield from _too_early(case.played)


def counted_on(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a run which goes on counts on, and has what its limit leaves it."""
    for cut in cuts(case.played):
        before, after = cut.before, cut.after
        if before.end is None or after.end is None or after.error is not None:
            continue
        had = before.end.data["iterations"]
        begun = _begun_anew(case, cut)
        if begun is None or type(had) is not int:
            continue
        got = after.end.data["iterations"]
        yield Decision(COUNTED, had + begun, got, after.end)
        most = limit(after.agent)
        if begun:
            at = after.iterations[-1].request or after.end
            yield Decision(LEFT, expected=True, got=had + begun <= most, at=at)
        if after.status == "max_iterations":
            yield Decision(USED_UP, most, had + begun, after.end)


def _begun_anew(case: PlayedWorld, cut: ResumedRun) -> int | None:
    """Return how many iterations began in a run that goes on; None if nothing tells."""
    if cut.after.agent.retry is not None:
        return None  # attempts look like iterations
    hooks = {str(address_of(each).get("hook")) for each in cut.questions}
    found = len(cut.after.iterations)
    anew = case.profile.resumed_iteration == "begins_again" and not cut.in_tools
    if anew or "after_agent" in hooks:
        return found
    built = {id(each.enter) for each in cut.after.before_agent}
    first = next((e for e in begun(cut.after) if id(e) not in built), None)
    if first is None or not cut.after.iterations:
        return 0
    inside = first.kind != "tool_start" or _is_rest(cut.after.iterations[0])
    return found - inside


def _is_rest(first: Iteration) -> bool:
    """Tell whether an iteration holds calls alone: those of one that had begun."""
    return first.request is None and not first.before and not first.model_wraps


def _too_early(view: View) -> Iterator[Decision]:
    """Yield what became of before_agent hooks that asked: there is no run to stop."""
    agents = view.scenario.all_agents
    for hook in view.built if len(agents) == 1 else ():
        if hook.exit is None and _certain(_todo(agents[0], hook.enter)):
            got = "built" if view.build_error is None else "ended"
            yield Decision(TOO_EARLY, "ended", got, hook.enter)
    for run in view.runs:
        for hook in run.before_agent:
            if hook.exit is None and _certain(_todo(run.agent, hook.enter)):
                ended = run.status in {"error", "interrupted", "raised"}
                got = "ended" if ended else "run"
                yield Decision(TOO_EARLY, "ended", got, hook.enter)


def _asking(
    case: PlayedWorld, run: RunView
) -> Iterator[tuple[Observation, Sequence[Json]]]:
    """Yield each entry of a run that was left by an interrupt, and what it may ask."""
    opened = left_open(run)
    innermost = {(e.call_id, _scope(e)): e for e in opened}.values()
    for seen in innermost:
        if seen.call_id is not None and not _reaches_out(case, run.agent):
            continue
        if _scope(seen) == "before_agent":
            continue
        payloads = _payloads(run, seen)
        if payloads:
            yield seen, payloads


def _scope(seen: Observation) -> str:
    """Return what an entry stands in: only the innermost of one has raised."""
    if seen.call_id is not None:
        return "call"
    return str(seen.data.get("hook"))


def _reaches_out(case: PlayedWorld, agent: AgentSpec) -> bool:
    """Tell whether an interrupt of a call comes out of it, whoever stands around."""
    wraps = list(tool_wraps(agent))
    if not keeps_ids(agent) or any(each.factory_error for each in wraps):
        return False
    caught = any(each.catch_error or each.call_next > 1 for each in wraps)
    return not caught or case.profile.swallowed_interrupt == "raised_again"


def _payloads(run: RunView, seen: Observation) -> Sequence[Json]:
    """Return what may have been asked where nothing else can have been raised."""
    if seen.kind == "tool_start":
        return _of_tool(run, seen)
    hook = str(seen.data["hook"])
    if hook == "wrap_model":
        at = seen.data["position"]
        wrap = origin(run.agent, int(str(at)))[1].wrap_model
        return [] if _model_failed(run, seen) else _of_wraps([wrap or ModelWrapSpec()])
    if seen.call_id is not None:
        return [] if _tool_failed(run, seen) else _of_wraps(_wraps(run.agent, seen))
    todo = _todo(run.agent, seen)
    return [_payload(each) for each in todo if _asks(each)] if _certain(todo) else []


def _of_tool(run: RunView, seen: Observation) -> Sequence[Json]:
    """Return what the tools of a name ask, if it can only have asked."""
    specs = [e for e in all_tools(run.agent) if e.name == seen.data["name"]]
    replaced = any(e.set_result or e.set_stream for e in tool_wraps(run.agent))
    found: list[Json] = []
    for each in specs:
        certain = _certain(each.body) or (each.interrupt and not each.body)
        if not certain or replaced:
            return []
        found += [_payload(op) for op in each.body if _asks(op)]
        found += [each.interrupt.info] if each.interrupt is not None else []
    return found


def _wraps(agent: AgentSpec, seen: Observation) -> Sequence[ToolWrapSpec]:
    """Return what the wrapper that was entered does."""
    data = seen.data
    key = data["extension"], data["position"], data["hook"]
    around = (*layers(agent, "invokable"), *layers(agent, "streamable"))
    return [own for each in around if each.key == key for own in each.spec.with_own()]


def _of_wraps(wraps: Sequence[ToolWrapSpec | ModelWrapSpec]) -> Sequence[Json]:
    if any(each.error is not None for each in wraps):
        return []
    asked = [each.ask.payload for each in wraps if each.ask is not None]
    return [
        *asked,
        *(each.interrupt.info for each in wraps if each.interrupt is not None),
    ]


def _todo(agent: AgentSpec, seen: Observation) -> Sequence[ops.Op]:
    """Return the operations of a hook of a pipeline that was entered."""
    at, hook = int(str(seen.data["position"])), str(seen.data["hook"])
    if hook in {"before_chat_model", "after_chat_model"}:
        todo: Sequence[ops.Op] | None = getattr(agent.middlewares[at], hook)
    else:
        todo = getattr(origin(agent, at)[1], hook)
    return todo or ()


def _certain(todo: Sequence[ops.Op]) -> bool:
    """Tell whether operations ask, and can end their hook in no other way."""
    return any(map(_asks, todo)) and not any(isinstance(e, RAISES) for e in todo)


def _asks(op: ops.Op) -> bool:
    return isinstance(op, ASKS)


def _payload(op: ops.Op) -> Json:
    return op.payload if isinstance(op, ops.Ask) else getattr(op, "info", None)


def _failed(run: RunView) -> bool:
    """Tell whether something failed beside what asks: then either may end the run."""
    hooks = {str(e.data["hook"]) for e in left_open(run) if e.kind == "hook_enter"}
    todo = [op for hook in hooks for op in _of_hook(run.agent, hook)]
    kinds = {"tool_error", "model_error"}
    return (
        any(each.kind in kinds for each in run.entries)
        or any(isinstance(op, ops.Fail) for op in todo)
        or any(each.error or each.factory_error for each in tool_wraps(run.agent))
        or run.failed_as in {"ToolNotFound", "NotKeepableError"}
    )


def _of_hook(agent: AgentSpec, hook: str) -> Iterator[ops.Op]:
    for each in (*agent.middlewares, *agent.handlers):
        todo = getattr(each, hook, None)
        if isinstance(todo, tuple):
            yield from todo


def _tool_failed(run: RunView, seen: Observation) -> bool:
    errors = (e for e in run.entries if e.kind == "tool_error")
    return any(e.call_id == seen.call_id and e.seq > seen.seq for e in errors)


def _model_failed(run: RunView, seen: Observation) -> bool:
    return any(e.kind == "model_error" and e.seq > seen.seq for e in run.entries)


def _may_ask(scenario: Scenario) -> bool:
    text = scenario.model_dump_json(exclude_defaults=True)
    return '"ask"' in text or '"interrupt"' in text


CHECKS: Final = (
    Check(
        clause="INT-018",
        decide=interrupted,
        needs=frozenset(("resume",)),
        meant=_may_ask,
    ),
    Check(
        clause="INT-019",
        decide=counted_on,
        needs=frozenset(("resume",)),
        meant=keeps,
    ),
)

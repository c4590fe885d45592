"""RUN: what a run does, in order, and how it ends (contract §2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from property_tests.check import Case, Check, Decision
from property_tests.checks import ends
from property_tests.checks.histories import Turned, turns
from property_tests.checks.model_onions import names_in
from property_tests.checks.onions import Mode, changes_call_id, layers_of
from property_tests.checks.routes import calls_once, has_after_hooks, has_tools
from property_tests.view import AFTER, BEFORE, Hook, Iteration, Run, View
from refengine.messages import ToolCall
from refengine.testing.scenario import AgentSpec, HandlerSpec
from refengine.testing.trace import Observation

_STEPS: Final = (
    "before-model hooks",
    "model wrappers",
    "the model",
    "its answer",
    "after-model hooks",
    "tools",
)
_FIELDS: Final = (
    "before_agent",
    "before_model",
    "after_model",
    "after_agent",
    "wrap_model",
    "wrap_invokable",
    "wrap_streamable",
)


def order(case: Case) -> Iterator[Decision]:
    """Decide that the steps of an iteration come in the contract's order."""
    for now in case.played.iterations:
        steps = [step for each in now.entries if (step := _step(now, each)) is not None]
        got = [_STEPS[s] for at, s in enumerate(steps) if at == 0 or s != steps[at - 1]]
        asked = "before hooks, model wrappers, model, after hooks, tools"
        wanted = [_STEPS[step] for step in sorted(set(steps))]
        if got:
            yield Decision(asked, wanted, got, now.entries[-1])
        if now.after:
            asked = "after-model hooks follow an answer"
            answered = now.response is not None
            yield Decision(asked, expected=True, got=answered, at=now.after[0].enter)


def one_model_call(case: Case) -> Iterator[Decision]:
    """Decide that an iteration calls the model exactly once."""
    for run in case.played.runs:
        requests = [e for e in run.entries if e.kind == "model_request"]
        if run.end is not None and run.error is None:
            asked = "one model call an iteration"
            wanted = run.end.data["iterations"]
            yield Decision(asked, wanted, len(requests), run.end)
        for now in run.iterations:
            count = sum(each.kind == "model_request" for each in now.entries)
            if count:
                yield Decision("one model call an iteration", 1, count, now.request)


def all_answered(case: Case) -> Iterator[Decision]:
    """Decide that the model is asked again only when every call was run."""
    for run in case.played.runs:
        for turn in turns(case.played, run):
            at = turn.now.number
            if turn.route.kind != "calls" or at >= len(run.iterations):
                continue
            if changes_call_id(run.agent) or run.agent.unknown_tools_handler:
                continue
            missing = [c.id for c in turn.route.calls if not _was_run(turn, c)]
            asked = "every call is run before the model is asked again"
            yield Decision(asked, [], missing, run.iterations[at].entries[0])


def each_call_once(case: Case) -> Iterator[Decision]:
    """Decide that every call of a message is executed exactly once."""
    for run, turn in _unwrapped(case.played):
        if _broke_off(case, run, turn):
            continue
        ids = [call.id for call in turn.route.calls]
        shown = names_in(turn.now)
        for call in turn.route.calls:
            if call.name in shown and ids.count(call.id) == 1:
                seen = turn.now.calls.get(call.id)
                starts = seen.starts if seen else []
                at = (starts or turn.now.entries)[-1]
                asked = "a call of the message is executed once"
                yield Decision(asked, 1, len(starts), at)
                for start in starts:
                    got = (start.data["name"], start.data["arguments"])
                    asked = "the tool of the call runs, with the model's arguments"
                    yield Decision(asked, (call.name, call.arguments), got, start)


def unknown_tool(case: Case) -> Iterator[Decision]:
    """Decide that a call of a tool that is not there aborts, or is answered."""
    for run in case.played.runs:
        for turn in turns(case.played, run):
            absent = [c for c in turn.route.calls if _is_absent(run, turn, c)]
            if not absent:
                continue
            answers = run.agent.unknown_tools_handler is not None
            aborts = not answers and case.profile.unknown_tool == "abort"
            point = ends.point_of(run) if turn.now is run.iterations[-1] else None
            asked = "a call of a tool that is not there: an error, or an answer"
            at = run.error or turn.now.entries[-1]
            yield Decision(asked, aborts, point == "unknown_tool", at)


def without_tools(case: Case) -> Iterator[Decision]:
    """Decide whether an agent without tools is one model call, or the same loop."""
    for run in case.played.runs:
        if not run.iterations or has_tools(case.played, run):
            continue
        now, once = run.iterations[-1], calls_once(case.played, run)
        unknown = ends.point_of(run) == "unknown_tool"
        if once:
            asked = "an agent without tools calls the model once, and runs no calls"
            got = (len(run.iterations), [*now.calls], unknown)
            none: list[str] = []
            yield Decision(asked, (1, none, False), got, now.entries[-1])
        elif _asks_in_vain(case, run):
            asked = "an agent without tools looks for the tools that the model calls"
            yield Decision(asked, "unknown", unknown and "unknown", now.entries[-1])


def _asks_in_vain(case: Case, run: Run) -> bool:
    """Tell whether the first answer calls tools that a run looks for, and fails."""
    message = run.iterations[0].message
    plain = not has_after_hooks(run.agent) and not run.iterations[0].model_error
    aborts = case.profile.unknown_tool == "abort"
    late = case.profile.exhaustion == "apology" and run.agent.max_iterations == 1
    return bool(
        message
        and message.tool_calls
        and plain
        and aborts
        and not late
        and run.agent.unknown_tools_handler is None
    )


def tools_each_time(case: Case) -> Iterator[Decision]:
    """Decide that every model call of a run is given the same tools."""
    for run in case.played.runs:
        every = [(now, _offered(now)) for now in run.iterations if now.request]
        for now, names in every[1:]:
            asked = "every model call is given the tools of the run"
            yield Decision(asked, every[0][1], names, now.request)


def before_agent(case: Case) -> Iterator[Decision]:
    """Decide that ``before_agent`` runs once: at build, or as each run begins."""
    at_build = case.profile.before_agent == "build"
    wanted = [name for agent in case.scenario.all_agents for name in _named(agent)]
    got = [hook.extension for hook in case.played.built]
    if case.played.build_error is None and wanted:
        asked = f"before_agent at build: {'once' if at_build else 'never'}"
        expected = sorted(wanted) if at_build else []
        yield Decision(asked, expected, sorted(got), case.played.build[-1])
    for run in case.played.runs:
        names = [] if at_build else _named(run.agent)
        hooks = run.before_agent
        if not names and not hooks:
            continue
        seen = [hook.extension for hook in hooks]
        if any(hook.exit is None for hook in hooks):
            continue
        first = next((e for e in run.entries if e.kind == "model_request"), None)
        asked = "before_agent runs in a run: each once, before the model, or never"
        at = hooks[0].enter if hooks else run.start
        # An engine may refuse what a hook left, which ends the run before the next one.
        went_on = first is not None or run.error is None
        if went_on or len(seen) >= len(names):
            yield Decision(asked, sorted(names), sorted(seen), at)
        if first is not None and hooks:
            late = hooks[-1].enter.seq > first.seq
            asked = "before_agent runs before the model"
            yield Decision(asked, expected=False, got=late, at=at)


def only_own_hooks(case: Case) -> Iterator[Decision]:
    """Decide that no hook is entered that its extension does not have."""
    own = {key for agent in case.scenario.all_agents for key in _own(agent)}
    wrong = [
        f"{hook.name} of {hook.extension}"
        for hook in _all_hooks(case.played)
        if (hook.extension, hook.position, hook.name) not in own
    ]
    last = case.played.trace[-1] if len(case.played.trace) else None
    yield Decision("hooks that nobody overrides are not called", [], wrong, last)


def _step(now: Iteration, seen: Observation) -> int | None:
    """Return which step of the iteration an entry is the beginning of."""
    if seen.kind == "hook_enter":
        name = seen.data["hook"]
        if name in BEFORE:
            return 0
        if name in AFTER:
            return 4
        return 1 if name == "wrap_model" else 5
    kinds = {"model_request": 2, "model_response": 3, "tool_start": 5}
    found = kinds.get(seen.kind)
    # A tool's answer in another iteration's place is told of by its own clause.
    return None if found == 2 and seen is not now.request else found


def _was_run(turn: Turned, call: ToolCall) -> bool:
    seen = turn.now.calls.get(call.id)
    return seen is not None and bool(seen.hooks or seen.starts or seen.events)


def _unwrapped(view: View) -> Iterator[tuple[Run, Turned]]:
    """Yield the turns of runs that nobody wraps the tools of."""
    for run in view.runs:
        if layers_of(run.agent, "invoke") or layers_of(run.agent, "stream"):
            continue
        for turn in turns(view, run):
            yield run, turn


def _broke_off(case: Case, run: Run, turn: Turned) -> bool:
    """Tell whether a call may not have been run because another one ended the run."""
    if run.error is None or turn.now is not run.iterations[-1]:
        return False
    cancels = case.profile.failing_call == "siblings_cancelled"
    return cancels or ends.point_of(run) != "tool"


def _is_absent(run: Run, turn: Turned, call: ToolCall) -> bool:
    """Tell whether nobody ever gave the agent the tool of a call."""
    given = {tool.name for tool in run.agent.tools}
    given |= {t.name for m in run.agent.middlewares for t in m.additional_tools}
    ops = [op for each in run.agent.handlers for op in each.before_agent or ()]
    added = [tool.name for op in ops if op.op == "append_tools" for tool in op.tools]
    may_be = any(name == call.name or "<run>" in name for name in added)
    return call.name not in given and not may_be and call.name not in names_in(turn.now)


def _offered(now: Iteration) -> Sequence[str]:
    """Return the tools of an iteration before a wrapper took some out."""
    return now.model_wraps[0].seen["tools"] if now.model_wraps else names_in(now)


def _named(agent: AgentSpec) -> list[str]:
    """Return the names of the handlers whose ``before_agent`` is called."""
    return [
        each.id or f"handler-{at}"
        for at, each in enumerate(agent.handlers)
        if "before_agent" in _hooks_of(each)
    ]


def _hooks_of(handler: HandlerSpec) -> list[str]:
    if handler.same_as is not None:
        return []
    found = [each for each in _FIELDS if getattr(handler, each) is not None]
    return found or ["before_agent"]


def _own(agent: AgentSpec) -> Iterator[tuple[str, int, str]]:
    """Yield who, at which place, has which hook."""
    for at, handler in enumerate(agent.handlers):
        for hook in _hooks_of(handler):
            yield handler.id or f"handler-{at}", at, hook
    for at, struct in enumerate(agent.middlewares):
        who = struct.id or f"middleware-{at}"
        for field in ("before_chat_model", "after_chat_model"):
            if getattr(struct, field):
                yield who, at, field
    modes: tuple[Mode, Mode] = ("invoke", "stream")
    for mode in modes:
        yield from (layer.key for layer in layers_of(agent, mode))


def _all_hooks(view: View) -> Iterator[Hook]:
    yield from view.built
    for run in view.runs:
        yield from (*run.before_agent, *run.after_agent)
        for now in run.iterations:
            yield from (*now.before, *now.model_wraps, *now.after)
            for call in now.calls.values():
                yield from call.hooks


CHECKS: Final = (
    Check(clause="RUN-001", decide=order),
    Check(clause="RUN-002", decide=one_model_call),
    Check(clause="RUN-003", decide=all_answered),
    Check(clause="RUN-004", decide=each_call_once),
    Check(clause="RUN-005", decide=unknown_tool),
    Check(clause="RUN-006", decide=without_tools),
    Check(clause="RUN-007", decide=tools_each_time),
    Check(clause="RUN-008", decide=before_agent, needs=frozenset(("before_agent",))),
    Check(clause="RUN-009", decide=only_own_hooks),
    Check(clause="RUN-010", decide=ends.limit),
    Check(clause="RUN-011", decide=ends.exhaustion),
    Check(clause="RUN-012", decide=ends.answer_at_limit),
    Check(clause="RUN-013", decide=ends.limit_below_one),
    Check(clause="RUN-014", decide=ends.always_an_end),
    Check(clause="RUN-015", decide=ends.returned_directly),
    Check(clause="RUN-016", decide=ends.counted),
    Check(clause="RUN-017", decide=ends.after_agent, needs=frozenset(("after_agent",))),
    Check(
        clause="RUN-018",
        decide=ends.after_agent_sees,
        needs=frozenset(("after_agent",)),
    ),
)

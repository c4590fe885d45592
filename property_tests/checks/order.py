"""ORD: in which order hooks of several extensions act (contract §2 ORD)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from property_tests.check import Case, Check, Decision
from property_tests.checks import passes, positions, wrapper_order
from property_tests.checks.passes import Pass
from property_tests.view import AFTER, BEFORE, View
from refengine.testing.trace import Observation

PHASES: Final = (
    "before-hooks",
    "wrappers",
    "request",
    "answer",
    "after-hooks",
    "tools",
)
"""The parts of an iteration, in order."""
_OF_KIND: Final[Mapping[str, str]] = MappingProxyType(
    {
        "model_request": "request",
        "model_response": "answer",
        "model_error": "answer",
        "tool_start": "tools",
        "tool_end": "tools",
        "tool_error": "tools",
    }
)


def phases(case: Case) -> Iterator[Decision]:
    """Tell whether an iteration's parts come one after the other."""
    asked = "an iteration: before-hooks, model and its wrappers, after-hooks, tools"
    for now in case.played.iterations:
        seen = [(at, phase) for each in now.entries if (phase := _phase(at := each))]
        got = [p for n, (_, p) in enumerate(seen) if not n or seen[n - 1][1] != p]
        wanted = [each for each in PHASES if each in got]
        if len(got) > 1:
            yield Decision(asked, wanted, got, seen[0][0])


def ends(case: Case) -> Iterator[Decision]:
    """Tell whether before_agent comes before all iterations, after_agent after them."""
    asked = "a run: before_agent, then the iterations, then after_agent"
    for run in case.played.runs:
        inside = [each for now in run.iterations for each in now.entries]
        parts = [("before_agent", hook.enter) for hook in run.before_agent]
        parts += [("iterations", each) for each in inside if _phase(each)]
        parts += [("after_agent", hook.enter) for hook in run.after_agent]
        parts.sort(key=lambda part: part[1].seq)
        got = [p for n, (p, _) in enumerate(parts) if not n or parts[n - 1][0] != p]
        wanted = [p for p in ("before_agent", "iterations", "after_agent") if p in got]
        if len(got) > 1:
            yield Decision(asked, wanted, got, parts[0][1])


def own_hooks_only(case: Case) -> Iterator[Decision]:
    """Tell whether an extension is entered by hooks that it has."""
    view = case.played
    own = [positions.every_place(agent) for agent in view.scenario.all_agents]
    for places, entries in _by_agent(view, own):
        for each in entries:
            if each.kind == "hook_enter":
                got = positions.place_in(each)
                asked = "only hooks that an extension has are called"
                yield Decision(asked, got if got in places else None, got, each)


def warned(case: Case) -> Iterator[Decision]:
    """Tell whether an agent with both lists is warned of once."""
    view = case.played
    if view.build_error is not None:
        return
    agents = view.scenario.all_agents
    both = sum(bool(each.middlewares and each.handlers) for each in agents)
    wanted = both if case.profile.both_lists == "warning" else 0
    told = [
        each
        for each in view.trace
        if each.kind == "warning"
        and each.data.get("category") == "MixedExtensionsWarning"
    ]
    if both or told:
        asked = "MixedExtensionsWarning once for each agent built with both lists"
        yield Decision(asked, wanted, len(told), told[-1] if told else None)


def _by_agent(
    view: View, own: Sequence[set[str]]
) -> Iterator[tuple[set[str], Sequence[Observation]]]:
    """Yield what each agent may enter with what was observed of it."""
    agents = view.scenario.all_agents
    for run in view.runs:
        yield own[agents.index(run.agent)], run.entries
    yield set().union(*own), view.build


def _phase(seen: Observation) -> str | None:
    """Return the part of an iteration that an observation belongs to."""
    if seen.kind not in {"hook_enter", "hook_exit"}:
        return _OF_KIND.get(seen.kind)
    name = seen.data["hook"]
    if name in BEFORE | AFTER:
        return "before-hooks" if name in BEFORE else "after-hooks"
    if name == "wrap_model":
        return "wrappers" if seen.kind == "hook_enter" else None
    return "tools" if seen.call_id is not None else None


def _ordered(
    asked: str, of: Callable[[View], Iterator[Pass]]
) -> Callable[[Case], Iterator[Decision]]:
    return lambda case: passes.in_order(asked, of(case.played))


def _all(
    asked: str, of: Callable[[View], Iterator[Pass]]
) -> Callable[[Case], Iterator[Decision]]:
    return lambda case: passes.all_once(asked, of(case.played))


BEFORE_HOOKS: Final = frozenset(("before_model", "struct_model_hooks"))
AFTER_HOOKS: Final = frozenset(("after_model", "struct_model_hooks"))
TOOL_HOOKS: Final = frozenset(
    (
        "wrap_tool",
        "wrap_streamable",
        "struct_tool_wrappers",
        "tool_call_middlewares",
    )
)

CHECKS: Final = (
    Check(
        clause="ORD-001",
        decide=_ordered(
            "before-model hooks: structs, then handlers, in list order",
            passes.before_model,
        ),
        any_of=BEFORE_HOOKS,
    ),
    Check(
        clause="ORD-002",
        decide=_all("every before-model hook takes part, once", passes.before_model),
        any_of=BEFORE_HOOKS,
    ),
    Check(
        clause="ORD-003",
        decide=_ordered(
            "after-model hooks in the order of the profile", passes.after_model
        ),
        any_of=AFTER_HOOKS,
    ),
    Check(
        clause="ORD-004",
        decide=_all("every after-model hook takes part, once", passes.after_model),
        any_of=AFTER_HOOKS,
    ),
    Check(
        clause="ORD-005",
        decide=_ordered("before_agent hooks in list order", passes.before_agent),
        needs=frozenset(("before_agent",)),
    ),
    Check(
        clause="ORD-006",
        decide=_all("every before_agent hook takes part, once", passes.before_agent),
        needs=frozenset(("before_agent",)),
    ),
    Check(
        clause="ORD-007",
        decide=_ordered(
            "after_agent hooks in the order of the profile", passes.after_agent
        ),
        needs=frozenset(("after_agent",)),
    ),
    Check(
        clause="ORD-008",
        decide=_all(
            "every after_agent hook takes part once after success, else none",
            passes.after_agent,
        ),
        needs=frozenset(("after_agent",)),
    ),
    Check(
        clause="ORD-009",
        decide=wrapper_order.model_order,
        needs=frozenset(("wrap_model",)),
    ),
    Check(
        clause="ORD-010",
        decide=wrapper_order.model_whole,
        needs=frozenset(("wrap_model",)),
    ),
    Check(
        clause="ORD-011",
        decide=wrapper_order.model_left,
        needs=frozenset(("wrap_model",)),
    ),
    Check(
        clause="ORD-012",
        decide=wrapper_order.tool_lists,
        # Of handlers alone there is one list.
        any_of=TOOL_HOOKS - {"wrap_tool", "wrap_streamable"},
    ),
    Check(clause="ORD-013", decide=wrapper_order.tool_order, any_of=TOOL_HOOKS),
    Check(clause="ORD-014", decide=wrapper_order.tool_whole, any_of=TOOL_HOOKS),
    Check(clause="ORD-015", decide=wrapper_order.tool_left, any_of=TOOL_HOOKS),
    Check(clause="ORD-016", decide=phases),
    Check(
        clause="ORD-017",
        decide=ends,
        any_of=frozenset(("before_agent", "after_agent")),
    ),
    Check(clause="ORD-018", decide=own_hooks_only),
    Check(
        clause="ORD-019",
        decide=warned,
        # An engine that takes structs in part has no list of them to speak of.
        needs=frozenset(("struct_model_hooks", "before_agent")),
    ),
)

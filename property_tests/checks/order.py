"""ORD: in which order hooks of several extensions act (contract §2 ORD)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks import passes, wrapper_order
from property_tests.checks.passes import PipelinePass, part_of
from property_tests.view import View


def ends(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether before_agent comes before all iterations, after_agent after them."""
    claim = "a run: before_agent, then the iterations, then after_agent"
    for run in case.played.runs:
        inside = [each for now in run.iterations for each in now.entries]
        parts = [("before_agent", hook.enter) for hook in run.before_agent]
        parts += [("iterations", each) for each in inside if part_of(each)]
        parts += [("after_agent", hook.enter) for hook in run.after_agent]
        parts.sort(key=lambda part: part[1].seq)
        got = [p for n, (p, _) in enumerate(parts) if not n or parts[n - 1][0] != p]
        expected = [
            p for p in ("before_agent", "iterations", "after_agent") if p in got
        ]
        if len(got) > 1:
            yield Decision(claim, expected, got, parts[0][1])


def warned(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether an agent with both lists is warned of once."""
    view = case.played
    if view.build_error is not None:
        return
    agents = view.scenario.all_agents
    both = sum(bool(each.middlewares and each.handlers) for each in agents)
    expected = both if case.profile.both_lists == "warning" else 0
    reported = [
        each
        for each in view.trace
        if each.kind == "warning"
        and each.data.get("category") == "MixedExtensionsWarning"
    ]
    if both or reported:
        claim = "MixedExtensionsWarning once for each agent built with both lists"
        yield Decision(
            claim, expected, len(reported), reported[-1] if reported else None
        )


def _ordered(
    claim: str, of: Callable[[View], Iterator[PipelinePass]]
) -> Callable[[PlayedWorld], Iterator[Decision]]:
    return lambda case: passes.in_order(claim, of(case.played))


def _all(
    claim: str, of: Callable[[View], Iterator[PipelinePass]]
) -> Callable[[PlayedWorld], Iterator[Decision]]:
    return lambda case: passes.all_once(claim, of(case.played))


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
        needs=frozenset(("several_handlers",)),
        # Of handlers alone there is one list.
        any_of=TOOL_HOOKS - {"wrap_tool", "wrap_streamable"},
    ),
    Check(clause="ORD-013", decide=wrapper_order.tool_order, any_of=TOOL_HOOKS),
    Check(clause="ORD-014", decide=wrapper_order.tool_whole, any_of=TOOL_HOOKS),
    Check(clause="ORD-015", decide=wrapper_order.tool_left, any_of=TOOL_HOOKS),
    Check(
        clause="ORD-017",
        decide=ends,
        any_of=frozenset(("before_agent", "after_agent")),
    ),
    Check(
        clause="ORD-019",
        decide=warned,
        # An engine that takes structs in part has no list of them to speak of.
        needs=frozenset(("struct_model_hooks", "before_agent", "several_handlers")),
    ),
)

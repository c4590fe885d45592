"""DEEP: very many extensions, all of which work (contract §2 DEEP)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.taking_part import (
    ENDS,
    STRUCT_FIELDS,
    CompletePass,
    Who,
    calls_reached,
    handlers_with,
    passes,
    structs_with,
    tool_layers,
    who,
)
from property_tests.view import HookView
from refengine.extensions import MAX_EXTENSIONS
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.trace import Observation

DEEP: Final = 1_000
"""So many extensions are very many: as deep as Python's stack is by default."""


def accepted(case: PlayedWorld) -> Iterator[Decision]:
    """As many as are promised are not refused."""
    if all(number(agent) <= MAX_EXTENSIONS for agent in case.scenario.all_agents):
        error = case.played.build_error
        got = None if error is None else error.data
        yield Decision("building an agent with very many extensions", None, got, error)


def refused(case: PlayedWorld) -> Iterator[Decision]:
    """One more is refused at build, and both numbers are reported."""
    given = max(map(number, case.scenario.all_agents))
    if given <= MAX_EXTENSIONS:
        return
    error = case.played.build_error
    text = "" if error is None else str(error.data.get("error"))
    numbers = [str(n) for n in (given, MAX_EXTENSIONS) if str(n) in _digits(text)]
    expected = [str(given), str(MAX_EXTENSIONS)]
    yield Decision("numbers told in the refusal at build", expected, numbers, error)


def pipelines(case: PlayedWorld) -> Iterator[Decision]:
    """Every hook of a pipeline is entered, each once and in its place."""
    for each in passes(case.played):
        if each.kind != "wrap_model":
            expected = _in_order(each, case.profile.after_hooks)
            got = [(hook.name, who(hook)) for hook in each.entered]
            at = each.entered[0].enter if each.entered else None
            if expected or got:
                claim = "hooks of a pass through very many extensions"
                yield _lists(claim, expected, got, at)


def model_onion(case: PlayedWorld) -> Iterator[Decision]:
    """Every wrapper around the model is entered, and left again from inside out."""
    for each in passes(case.played):
        if each.kind == "wrap_model":
            found = handlers_with(each.agent, "wrap_model")
            expected = [("wrap_model", one) for one in found]
            if expected:
                yield from _onion("wrappers around the model", expected, each.entered)


def invokable_onion(case: PlayedWorld) -> Iterator[Decision]:
    """Ask the same of calls of tools that give their result in one piece."""
    return _tool_onions(case, "invokable")


def streamable_onion(case: PlayedWorld) -> Iterator[Decision]:
    """Ask the same of calls of tools that give their result in chunks."""
    return _tool_onions(case, "streamable")


def ends_well(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a run through very many extensions ends as one through few."""
    for run in case.played.runs:
        got = "well" if run.status in ENDS else run.failed_as or run.status
        yield Decision("how the run ends", "well", got, run.error or run.end)


def number(agent: AgentSpec) -> int:
    """Return how many extensions an agent has."""
    return len(agent.middlewares) + len(agent.handlers)


def _tool_onions(case: PlayedWorld, kind: str) -> Iterator[Decision]:
    for run in case.played.runs:
        for call, seen in calls_reached(run):
            expected = tool_layers(run.agent, kind)
            if seen == kind and expected:
                yield from _onion("wrappers around the tool", expected, call.hooks)


def _onion(
    claim: str, expected: Sequence[tuple[str, Who]], entered: Sequence[HookView]
) -> Iterator[Decision]:
    """Decide that layers were entered from outside in, and left from inside out."""
    got = [(hook.name, who(hook)) for hook in entered]
    at = entered[0].enter if entered else None
    yield _lists(f"{claim}, as entered", expected, got, at)
    left = [hook for hook in entered if hook.exit is not None]
    left.sort(key=lambda hook: -1 if hook.exit is None else hook.exit.seq)
    got = [(hook.name, who(hook)) for hook in left]
    yield _lists(f"{claim}, as left", expected[::-1], got, at)


def _lists(
    claim: str,
    expected: Sequence[tuple[str, Who]],
    got: Sequence[tuple[str, Who]],
    at: Observation | None,
) -> Decision:
    """Decide that two long lists are equal; shown is where they part, and how long."""
    if list(expected) == list(got):
        return Decision(claim, "all", "all", at)
    parted = next(
        (i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b),
        min(len(expected), len(got)),
    )
    ours, theirs = (
        {"number": len(side), "from": parted, "there": side[parted : parted + 1]}
        for side in (expected, got)
    )
    return Decision(claim, ours, theirs, at)


def _with(agent: AgentSpec, hook: str) -> list[Who]:
    if hook in STRUCT_FIELDS:
        return structs_with(agent, hook)
    return handlers_with(agent, hook)


def _in_order(each: CompletePass, after_hooks: str) -> list[tuple[str, Who]]:
    """Return the hooks of a pass in the order in which a profile goes through them."""
    lists = [[(name, one) for one in _with(each.agent, name)] for name in each.hooks]
    if each.kind.startswith("after") and after_hooks != "in_order":
        lists.reverse()
        if after_hooks == "reversed":
            lists = [found[::-1] for found in lists]
    return [one for found in lists for one in found]


def _digits(text: str) -> Sequence[str]:
    """Return the numbers in a text, however their digits are grouped."""
    plain = text.replace(",", "").replace("_", "")
    return "".join(c if c.isdigit() else " " for c in plain).split()


def _deep(scenario: Scenario) -> bool:
    return any(number(agent) >= DEEP for agent in scenario.all_agents)


PIPELINES: Final = frozenset(
    ("before_agent", "before_model", "after_model", "after_agent", "struct_model_hooks")
)
WRAPS: Final = frozenset(("wrap_tool", "struct_tool_wrappers"))
CHECKS: Final = (
    Check(clause="DEEP-001", decide=accepted, meant=_deep),
    Check(clause="DEEP-002", decide=refused, meant=_deep),
    Check(clause="DEEP-003", decide=pipelines, any_of=PIPELINES, meant=_deep),
    Check(
        clause="DEEP-004",
        decide=model_onion,
        needs=frozenset(("wrap_model",)),
        meant=_deep,
    ),
    Check(clause="DEEP-005", decide=invokable_onion, any_of=WRAPS, meant=_deep),
    Check(
        clause="DEEP-006",
        decide=streamable_onion,
        needs=frozenset(("streamable_tools",)),
        any_of=frozenset(("wrap_streamable", "struct_tool_wrappers")),
        meant=_deep,
    ),
    Check(clause="DEEP-007", decide=ends_well, meant=_deep),
)

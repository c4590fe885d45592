"""Checks of request processors of a user's own: their order and what they give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from compat.engines.flow.scenario import FlowAgentSpec
from compat.engines.flow.world import PROCESSOR
from property_tests.dialects.decision import DialectDecision
from property_tests.dialects.dialect import DialectCheck
from property_tests.flow.view import FlowTurn, FlowView, HookSeen

Decisions = Iterator[DialectDecision]

LAST: Final = 99
"""A place behind all that every agent has."""


def order(seen: FlowView) -> Decisions:
    """FLOW-160: all of them are entered in their order, once before each request."""
    for turn, agent in _having(seen):
        entered = _of(turn, agent.name)
        stopped = [e for e in turn.of("before_model") if e.left != "none"]
        if stopped or any(each.left == "error" for each in entered):
            continue
        before = -1
        for request in turn.requests:
            if request.agent != agent.name:
                continue
            got = [e.number for e in entered if before < e.place < request.place]
            claim = f"the processors of {agent.name} are entered in their order, once"
            yield DialectDecision(claim, _listed(agent), got, request.place)
            before = request.place


def events(seen: FlowView) -> Decisions:
    """FLOW-161: what one gives is told and kept before the model is asked."""
    for turn, _ in _having(seen):
        for hook in turn.of(PROCESSOR):
            said = "".join(
                each.text or "" for each in seen.does(hook) if each.op == "return"
            )
            if hook.left != "value" or not said or seen.edits_events or turn.left:
                continue
            told = [e for e in turn.events if e.place > hook.place and e.text == said]
            asked = _next_request(turn, hook)
            claim = f"what {hook.owner} of {PROCESSOR} gives is told before the model"
            got = bool(told) and told[0].place < asked
            yield DialectDecision(claim, True, got, hook.place)  # noqa: FBT003  # what is expected
            kept = [each.text for each in turn.kept if each.text == said]
            yield DialectDecision("it is kept", True, bool(kept), turn.end)  # noqa: FBT003  # as above


def errors(seen: FlowView) -> Decisions:
    """FLOW-162: an exception ends the run before the model is asked."""
    for turn, agent in _having(seen):
        for hook in _of(turn, agent.name):
            if hook.left != "error":
                continue
            asked = [
                each.place
                for each in turn.requests
                if each.place > hook.place and each.agent == agent.name
            ]
            claim = f"the model of {agent.name} is not asked behind the exception"
            yield DialectDecision(claim, [], asked, hook.place)
            claim = "the exception ends the run"
            yield DialectDecision(claim, True, turn.failed, hook.place)  # noqa: FBT003  # what is expected


def changes(seen: FlowView) -> Decisions:
    """FLOW-163: what one that gives nothing changed is sent."""
    for turn, agent in _having(seen):
        for hook in _of(turn, agent.name):
            added = [
                each.append_instruction
                for each in seen.does(hook)
                if each.op == "edit_request" and each.on_call is None
            ]
            first = agent.processors[hook.number].at == 0  # before there is a request
            asked = [e for e in turn.requests if e.place > hook.place]
            mine = [each for each in asked if each.agent == agent.name]
            if hook.left != "none" or not any(added) or first or not mine:
                continue
            claim = f"what a processor of {agent.name} wrote is sent"
            lost = [each for each in added if each not in mine[0].instruction]
            yield DialectDecision(claim, [], lost, mine[0].place)


def _having(seen: FlowView) -> Iterator[tuple[FlowTurn, FlowAgentSpec]]:
    for turn in seen.turns:
        for agent in seen.agents.values():
            if agent.processors:
                yield turn, agent


def _of(turn: FlowTurn, agent: str) -> list[HookSeen]:
    return [each for each in turn.of(PROCESSOR) if each.agent == agent]


def _listed(agent: FlowAgentSpec) -> list[int]:
    """Return the numbers of an agent's own processors in the order of their places."""
    places = [LAST if each.at is None else each.at for each in agent.processors]
    return sorted(range(len(places)), key=places.__getitem__)


def _next_request(turn: FlowTurn, hook: HookSeen) -> int:
    later = (
        each.place
        for each in turn.requests
        if each.place > hook.place and each.agent == hook.agent
    )
    return min(later, default=turn.end)


CHECKS: Final = (
    DialectCheck(clause="FLOW-160", decide=order, needs=frozenset(("processors",))),
    DialectCheck(clause="FLOW-161", decide=events, needs=frozenset(("processors",))),
    DialectCheck(clause="FLOW-162", decide=errors, needs=frozenset(("processors",))),
    DialectCheck(clause="FLOW-163", decide=changes, needs=frozenset(("processors",))),
)

"""Recorded sessions that are kept, and interrupted and resumed at the points they have.

A session has a point wherever code of an extension or a tool stands in its way: before
and after each model call, around it and around each call of a tool, in the tool, and at
its end. What asks there asks every time it comes by, so a run of three iterations is
cut three times at one kind of point, and at all of them by all kinds together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Final, Literal, TypeAlias

from property_tests.recorded.steps import SessionStep, shortened, steps_of
from refengine.messages import ToolCall
from refengine.testing.ops import Ask, AskSpec, ToolSpec
from refengine.testing.scenario import (
    AgentSpec,
    HandlerSpec,
    MiddlewareSpec,
    ModelWrapSpec,
    RunSpec,
    Scenario,
    ToolWrapSpec,
)
from refengine.testing.strategies.variants import IDENTITY
from refengine.testing.subject_worlds.words import Dice

CutPoint: TypeAlias = Literal[
    "struct before", "before", "model", "answer", "struct after", "after",
    "wrapper", "tool", "result", "end",
]  # fmt: skip
POINTS: Final[tuple[CutPoint, ...]] = (
    *("struct before", "before", "model", "answer", "struct after", "after"),
    *("wrapper", "tool", "result", "end"),
)
"""Where a session is cut, in the order in which an iteration comes by."""

OF_CALLS: Final = frozenset(("wrapper", "tool", "result"))
OF_ANSWERS: Final = frozenset(("answer", "struct after", "after"))


def points_of(scenario: Scenario) -> list[CutPoint]:
    """Return the kinds of points that a session comes by; none if it cannot be told."""
    steps = list(chain.from_iterable(steps_of(scenario) or ()))
    answered = any(step.answered for step in steps)
    called = any(step.calls for step in steps)
    lacking = {"end"} if not any(map(_ends, steps_of(scenario) or ())) else set[str]()
    lacking |= set() if called else OF_CALLS
    lacking |= set() if answered else OF_ANSWERS
    return [each for each in POINTS if steps and each not in lacking]


def cut_at(
    scenario: Scenario, points: Collection[CutPoint], dice: Dice
) -> Scenario | None:
    """Return a session that is interrupted at these kinds of points, and goes on.

    Now and then from objects made anew, and with answers that say more than that it
    may; calls that ask at once are answered together or one after the other. None for
    a session of which the script does not say how it goes.
    """
    steps = steps_of(scenario)
    if not steps:
        return None
    scenario, kept = shortened(scenario, steps)
    rebuild = dice.chance(2)
    apart = points == {"tool"} and dice.chance(2)
    runs = [
        each
        for at, (run, of) in enumerate(zip(scenario.runs, kept, strict=True))
        for each in _runs(run, f"run {at}", _rounds(of, points, apart=apart), rebuild)
    ]
    agent = _asking(scenario.all_agents[0], points)
    return scenario.model_copy(update={"agent": agent, "runs": tuple(runs)})


Answers: TypeAlias = "dict[str, str] | None"
"""What a run is resumed with; None lets all go on."""


def _runs(
    run: RunSpec, key: str, rounds: Sequence[Answers], rebuild: bool
) -> Iterator[RunSpec]:
    yield run.model_copy(update={"checkpoint": key})
    for answers in rounds:
        yield RunSpec(
            resume=key,
            rebuild=rebuild,
            options=run.options,
            answers="all" if answers is None else dict(answers),
        )


def _rounds(
    steps: Sequence[SessionStep], points: Collection[CutPoint], *, apart: bool
) -> list[Answers]:
    """Return what a run is resumed with, each time that it was interrupted."""
    found: list[Answers] = []
    for step in steps:
        for point in POINTS:
            if point not in points or (point in OF_ANSWERS and not step.answered):
                continue
            if point == "end" or (point in OF_CALLS and not step.calls):
                continue
            alone = apart and len({call.id for call in step.calls}) == len(step.calls)
            found += map(_answer, step.calls) if alone else [{"*": f"at {point}"}]
    if "end" in points and _ends(steps):
        found.append(None)
    return found


def _answer(call: ToolCall) -> Answers:
    return {f"{call.name}({call.id})": f"to {call.id}"}


def _ends(steps: Sequence[SessionStep]) -> bool:
    """Tell whether a run comes to its end, and by an answer."""
    return bool(steps) and steps[-1].answered and not steps[-1].calls


def _asking(agent: AgentSpec, points: Collection[CutPoint]) -> AgentSpec:
    """Return the agent with what asks at these points, between two that look on."""
    first = IDENTITY.model_copy(update={"id": "outer"})
    last = IDENTITY.model_copy(update={"id": "inner"})
    asks = [_handler(point) for point in POINTS if point in points]
    handlers = [first, *agent.handlers, *filter(None, asks), last]
    changed: dict[str, object] = {"handlers": tuple(handlers)}
    structs = [_struct(point) for point in POINTS if point in points]
    changed["middlewares"] = tuple(filter(None, structs))
    if "tool" in points:
        changed["tools"] = tuple(map(_asking_tool, agent.tools))
    return agent.model_copy(update=changed)


def _asking_tool(tool: ToolSpec) -> ToolSpec:
    ask = Ask(op="ask", payload=f"{tool.name}?")
    return tool.model_copy(update={"body": (ask, *tool.body)})


def _struct(point: CutPoint) -> MiddlewareSpec | None:
    ask = (Ask(op="ask", payload=f"{point}?"),)
    if point == "struct before":
        return MiddlewareSpec(id=point, before_chat_model=ask)
    if point == "struct after":
        return MiddlewareSpec(id=point, after_chat_model=ask)
    return None


def _handler(point: CutPoint) -> HandlerSpec | None:
    """Return a handler that asks at a kind of point, whenever it comes by."""
    asks = AskSpec(payload=f"{point}?")
    after = asks.model_copy(update={"after": True})
    ops = (Ask(op="ask", payload=f"{point}?"),)
    before, behind = ToolWrapSpec(ask=asks), ToolWrapSpec(ask=after)
    hooks: dict[CutPoint, dict[str, object]] = {
        "before": {"before_model": ops},
        "model": {"wrap_model": ModelWrapSpec(ask=asks)},
        "answer": {"wrap_model": ModelWrapSpec(ask=after)},
        "after": {"after_model": ops},
        "wrapper": {"wrap_invokable": before, "wrap_streamable": before},
        "result": {"wrap_invokable": behind, "wrap_streamable": behind},
        "end": {"after_agent": ops},
    }
    if point not in hooks:
        return None
    return HandlerSpec.model_validate({"id": point, **hooks[point]})

"""Recorded sessions with extensions around what they have: in order, and merging tools.

Most of them change no answer's way, so that a session goes on as it was recorded and
all of it is met. Each sees and leaves something of its own, so that their order shows
in every request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from refengine.testing.ops import (
    AppendInstruction,
    AppendTools,
    ConfigOp,
    CtxAppend,
    EditWithMessage,
    KeepLast,
    MessageOp,
    RecordOp,
    RemoveTool,
    RunLocalRead,
    RunLocalSet,
    SetReturnDirectly,
    ToolSpec,
)
from refengine.testing.scenario import (
    AgentSpec,
    CtxText,
    HandlerSpec,
    MiddlewareSpec,
    ModelWrapSpec,
    Scenario,
    ToolWrapSpec,
    WrapToolCallSpec,
)
from refengine.testing.strategies.variants import IDENTITY
from refengine.testing.subject_worlds.words import Dice

MANY: Final = 1_000
"""So many handlers stand around a crowded session."""


def ordered(scenario: Scenario, dice: Dice) -> Scenario:
    """Return a session with structs and handlers before and after its own.

    Now and then its tools stream where the run does, so both kinds of wrappers act.
    """
    both = dice.chance(2)

    def around(agent: AgentSpec) -> AgentSpec:
        structs = [_struct(f"struct {at}", dice) for at in range(2)]
        handlers = [_handler(f"handler {at}", dice) for at in range(3)]
        return agent.model_copy(
            update={
                "instruction": agent.instruction or dice.pick(("", "Be brief.")),
                "tools": tuple(map(_both, agent.tools)) if both else agent.tools,
                "middlewares": (*structs[:1], *agent.middlewares, *structs[1:]),
                "handlers": _around(agent, handlers[:1], handlers[1:]),
            }
        )

    return _changed(scenario, around)


def merged(scenario: Scenario, dice: Dice) -> Scenario:
    """Return a session whose extensions add, replace and remove tools of its names."""

    def around(agent: AgentSpec) -> AgentSpec:
        names = [tool.name for tool in agent.tools] or ["look"]
        target = dice.pick(names)
        structs = (
            _bringing("struct 0", (target, "more")),
            _bringing("struct 1", ("more", dice.pick(names))),
        )
        handlers = [
            HandlerSpec(id=f"handler {at}", before_agent=ops)
            for at, ops in enumerate(_merging(names, target, dice))
        ]
        changed: dict[str, object] = {
            "middlewares": (*agent.middlewares, *structs[: dice.below(3)]),
            "handlers": _around(agent, handlers[:1], handlers[1:]),
        }
        if dice.chance(3):
            changed["unknown_tools_handler"] = "no <name>"
        return agent.model_copy(update=changed)

    return _changed(scenario, around)


def crowded(scenario: Scenario) -> Scenario:
    """Return a session with a handler that has every hook, to stand there repeatedly.

    It stands last, where ``CorpusWorld.repeat`` finds it.
    """
    unnamed = IDENTITY.model_copy(update={"id": ""})

    def around(agent: AgentSpec) -> AgentSpec:
        return agent.model_copy(
            update={"handlers": _around(agent, (), (unnamed,) * MANY)}
        )

    return _changed(scenario, around)


def _changed(scenario: Scenario, change: Callable[[AgentSpec], AgentSpec]) -> Scenario:
    agents = tuple(map(change, scenario.all_agents))
    one: dict[str, Any] = {"agents": agents}
    if scenario.agent is not None:
        one = {"agent": agents[0]}
    return scenario.model_copy(update=one)


def _around(
    agent: AgentSpec, first: Sequence[HandlerSpec], last: Sequence[HandlerSpec]
) -> tuple[HandlerSpec, ...]:
    """Put handlers around an agent's own; one that is named by position keeps it."""
    if any(each.same_as is not None for each in agent.handlers):
        return (*agent.handlers, *first, *last)
    return (*first, *agent.handlers, *last)


def _both(tool: ToolSpec) -> ToolSpec:
    return tool.model_copy(update={"kind": "both"})


def _struct(label: str, dice: Dice) -> MiddlewareSpec:
    wrap = _wrap(label, dice)
    return MiddlewareSpec(
        id=label,
        waits=dice.chance(2),
        additional_instruction=dice.pick(("", f"{label} says so.")),
        before_chat_model=_messages(label, dice),
        after_chat_model=dice.pick((_LOOK, ())),
        wrap_tool_call=WrapToolCallSpec(invokable=wrap, streamable=wrap),
    )


def _handler(label: str, dice: Dice) -> HandlerSpec:
    wrap = _wrap(label, dice)
    return HandlerSpec(
        id=label,
        plain=dice.chance(2),
        before_agent=(AppendInstruction(op="append_instruction", text=f" {label}"),),
        before_model=_messages(label, dice),
        after_model=dice.pick((_LOOK, ())),
        after_agent=dice.pick((_LOOK, None)),
        wrap_model=_model_wrap(label, dice),
        wrap_invokable=wrap,
        wrap_streamable=wrap,
    )


_LOOK: Final[tuple[MessageOp, ...]] = (RecordOp(op="record"),)


def _messages(label: str, dice: Dice) -> tuple[MessageOp, ...]:
    """Return what a hook before the model does: looks, or leaves something else."""
    ops: tuple[MessageOp, ...] = (
        RecordOp(op="record"),
        CtxAppend(op="ctx_append", key="h", text=label),
        EditWithMessage(op="append", msg=f"user:{label}", on_call=1),
        EditWithMessage(op="prepend", msg=f"user:<len> before {label}"),
        KeepLast(op="keep_last", n=12),
        RunLocalSet(op="runlocal_set", key="k", value=label),
        RunLocalRead(op="runlocal_get", key="k"),
    )
    one = dice.pick(ops)
    return (one,) if dice.chance(2) else (one, *_LOOK)


def _wrap(label: str, dice: Dice) -> ToolWrapSpec:
    return dice.pick(
        (
            ToolWrapSpec(id=label),
            ToolWrapSpec(id=label, record=label),
            ToolWrapSpec(id=label, prefix_result=f"{label} "),
            ToolWrapSpec(id=label, ctx_append=CtxText(key="h", text=label)),
            ToolWrapSpec(id=label, catch_error="caught <error>"),
            ToolWrapSpec(id=label, call_next=2),
        )
    )


def _model_wrap(label: str, dice: Dice) -> ModelWrapSpec | None:
    return dice.pick(
        (
            ModelWrapSpec(),
            ModelWrapSpec(record=label),
            ModelWrapSpec(prefix_user_input=f"{label}: "),
            ModelWrapSpec(append_input=f"user:{label}"),
            ModelWrapSpec(concat_stream=True),
            None,
        )
    )


def _bringing(label: str, names: Iterable[str]) -> MiddlewareSpec:
    """Return a struct that brings tools of these names, with results of its own."""
    tools = tuple(_tool(name, label) for name in names)
    return MiddlewareSpec(id=label, additional_tools=tools)


def _tool(name: str, whose: str) -> ToolSpec:
    return ToolSpec(name=name, result=f"{whose} gave <args>", description=whose)


def _merging(
    names: Sequence[str], target: str, dice: Dice
) -> list[tuple[ConfigOp, ...]]:
    """Return what three handlers do to the tools, one after the other."""
    other = dice.pick(names)
    first = AppendTools(
        op="append_tools", tools=(_tool(target, "first"), _tool("new", "first"))
    )
    last = AppendTools(
        op="append_tools", tools=(_tool("new", "last"), _tool(target, "last"))
    )
    between: tuple[ConfigOp, ...] = (
        RemoveTool(op="remove_tool", name="new"),
        RemoveTool(op="remove_tool", name=other),
        SetReturnDirectly(op="set_return_directly", name=other, value=True),
        RecordOp(op="record"),
    )
    steps: list[tuple[ConfigOp, ...]] = [(first,), (dice.pick(between),), (last,)]
    return dice.shuffled(steps)

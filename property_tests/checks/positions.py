"""Which extensions have which hook, and in which order a pass enters them.

All of it is read from a scenario; the postures of a profile turn after-passes round.
A place is written ``hook[position] name``, so that a report shows who it is and two
extensions of one name are still told apart.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from refengine.profile import Profile
from refengine.testing.scenario import AgentSpec, HandlerSpec

Kind: TypeAlias = Literal["invokable", "streamable"]

HOOKS: Final = (
    "before_agent",
    "before_model",
    "after_model",
    "after_agent",
    "wrap_model",
    "wrap_invokable",
    "wrap_streamable",
)
"""The hooks of a handler, in a scenario's words."""


def label(hook: str, position: int, extension: str) -> str:
    """Return how a hook of an extension is written."""
    return f"{hook}[{position}] {extension}"


def objects(agent: AgentSpec) -> list[int]:
    """Return, for each position of the handlers, where its object stood first."""
    found: list[int] = []
    for at, spec in enumerate(agent.handlers):
        found.append(at if spec.same_as is None else found[spec.same_as])
    return found


def has(spec: HandlerSpec, hook: str) -> bool:
    """Tell whether a handler has a hook; one without any takes part in before_agent."""
    if getattr(spec, hook) is not None:
        return True
    return hook == "before_agent" and not any(
        getattr(spec, each) is not None for each in HOOKS
    )


def of_handlers(agent: AgentSpec, hook: str) -> list[str]:
    """Return the places of a hook in the list of handlers, in order."""
    found: list[str] = []
    for at in objects(agent):
        spec = agent.handlers[at]
        if has(spec, hook):
            found.append(label(hook, at, spec.id or f"handler-{at}"))
    return found


def of_structs(agent: AgentSpec, field: str) -> list[str]:
    """Return the places of a model callback in the list of struct middlewares."""
    return [
        label(field, at, spec.id or f"middleware-{at}")
        for at, spec in enumerate(agent.middlewares)
        if getattr(spec, field)
    ]


def after_model(agent: AgentSpec, profile: Profile) -> list[str]:
    """Return a pass after the model, by the posture ``after_hooks``."""
    structs = of_structs(agent, "after_chat_model")
    handlers = of_handlers(agent, "after_model")
    if profile.after_hooks == "in_order":
        return structs + handlers
    if profile.after_hooks == "handlers_first":
        return handlers + structs
    return handlers[::-1] + structs[::-1]


def around_tool(agent: AgentSpec, kind: Kind) -> list[str]:
    """Return the layers around a call of that kind, outermost first."""
    given = [
        label(f"tool_call_middlewares.{kind}", at, each.id or f"tool-middleware-{at}")
        for at, each in enumerate(agent.tool_call_middlewares)
    ]
    structs = [
        label(f"wrap_tool_call.{kind}", at, each.id or f"middleware-{at}")
        for at, each in enumerate(agent.middlewares)
        if getattr(each.wrap_tool_call, kind) is not None
    ]
    return given + structs + of_handlers(agent, f"wrap_{kind}")

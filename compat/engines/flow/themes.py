"""What generated Flow worlds are about: each has a theme, so that no rule is rare.

A hook that gives a value, a model that fails beside it and a tool that somebody has to
confirm seldom meet by luck alone. A theme says which kinds are drawn at all; the first
is the plainest, to which failures shrink.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from compat.engines.flow.operations import AGENT_HOOKS, CALLBACKS, RUN_HOOKS

SHAPES: Final = ("one", "one", "family", "workflow", "tool")
TOOLS: Final = ("plain", "plain", "asks", "late", "confirms")
ANSWERS: Final = (
    *("text", "call", "call", "calls", "transfer", "transfer", "chunks"),
    *("thought", "error", "code", "unknown"),
)
"""How a model answers; calls need tools, and transfers a family."""
TEMPLATES: Final = (
    *("", "Be brief.", "Say {x?}.", "Say {x}.", "{app:x?} {{x?}} {}"),
    *("{{x}} of {user:x?}", "{x:y} {1x} {none?}", "{app:x} {temp:x?}."),
)
MODEL_HOOKS: Final = ("before_model", "after_model", "on_model_error")
TOOL_HOOKS: Final = ("before_tool", "after_tool", "on_tool_error")
ANY_HOOK: Final = (*RUN_HOOKS, *CALLBACKS)


@dataclass(frozen=True, slots=True)
class FlowTheme:
    """Kinds that the worlds of a theme are drawn from, and how many there are at least.

    ``hooks`` are all that is hooked into, none of them if empty; ``states`` has hooks
    and tools work with the state and nothing else. ``forms`` are those of later turns.
    In ``streams`` most turns stream, with ``structured`` agents have an output schema,
    with ``twins`` two tools may have one name, and with ``processes`` agents have
    request processors of their user's own.
    """

    shapes: Sequence[str] = SHAPES
    hooks: Sequence[str] = ()
    least_hooks: int = 0
    tools: Sequence[str] = TOOLS
    least_tools: int = 0
    answers: Sequence[str] = ANSWERS
    instructions: Sequence[str] = TEMPLATES[:4]
    forms: Sequence[str] = ("text", "confirms", "late")
    least_state: int = 0
    states: bool = False
    streams: bool = False
    structured: bool = False
    twins: bool = False
    processes: bool = False


THEMES: Final[Sequence[FlowTheme]] = (
    FlowTheme(),
    FlowTheme(hooks=ANY_HOOK),
    FlowTheme(hooks=ANY_HOOK, least_hooks=1),
    FlowTheme(
        shapes=("one", "one", "family"),
        hooks=MODEL_HOOKS,
        least_hooks=1,
        tools=("plain",),
        answers=("text", "error", "error", "chunks", "call", "thought", "code"),
    ),
    FlowTheme(
        shapes=("one",),
        hooks=("on_model_error",),
        least_hooks=1,
        tools=("plain",),
        answers=("error",),
    ),
    FlowTheme(
        shapes=("one",),
        hooks=("on_tool_error", "before_tool"),
        least_hooks=1,
        tools=("fails",),
        least_tools=1,
        answers=("call",),
    ),
    FlowTheme(
        shapes=("one",),
        tools=("flags", "flags", "state"),
        least_tools=1,
        answers=("calls",),
    ),
    FlowTheme(
        shapes=("one",),
        hooks=TOOL_HOOKS,
        least_hooks=1,
        tools=("plain", "fails", "bare"),
        least_tools=1,
        answers=("call", "call", "calls", "text"),
    ),
    FlowTheme(
        shapes=("one", "family", "workflow"),
        hooks=AGENT_HOOKS,
        least_hooks=1,
        answers=("text", "call", "transfer"),
    ),
    FlowTheme(hooks=RUN_HOOKS, least_hooks=2),
    FlowTheme(
        shapes=("one",), answers=("text",), instructions=TEMPLATES[4:], least_state=2
    ),
    FlowTheme(
        shapes=("one",),
        tools=("plain", "bare", "state"),
        least_tools=2,
        answers=("calls", "calls", "call"),
        twins=True,
    ),
    FlowTheme(
        shapes=("one",),
        tools=("asks", "asks", "confirms"),
        least_tools=1,
        answers=("call", "call", "calls"),
        forms=("confirms",),
    ),
    FlowTheme(
        shapes=("family",),
        answers=("transfer", "transfer", "transfers", "text"),
        forms=("text",),
    ),
    FlowTheme(
        shapes=("one",),
        tools=("plain",),
        least_tools=1,
        answers=("answer", "answer", "text", "call"),
        structured=True,
    ),
    FlowTheme(
        shapes=("one",),
        tools=("plain",),
        answers=("chunks", "bytes", "partial", "partial calls", "nothing"),
        streams=True,
    ),
    FlowTheme(
        shapes=("one", "family"),
        hooks=(*AGENT_HOOKS, *MODEL_HOOKS, *TOOL_HOOKS),
        least_hooks=2,
        tools=("state",),
        least_tools=1,
        answers=("call", "text"),
        states=True,
    ),
    FlowTheme(shapes=("workflow",), answers=("text", "text", "call")),
    FlowTheme(
        shapes=("one",),
        tools=("plain",),
        answers=("text", "call", "error"),
        processes=True,
    ),
)
"""All of them; a world is of each with the same chance."""

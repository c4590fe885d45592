"""Tools, struct middlewares and handlers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from pydantic import JsonValue

from refengine.testing.ops import ToolSpec
from refengine.testing.scenario import HandlerSpec, MiddlewareSpec, ToolWrapSpec
from refengine.testing.strategies.operations import (
    body_ops,
    config_ops,
    message_ops,
    model_wraps,
    tool_wraps,
)
from refengine.testing.strategies.words import (
    ANYTHING,
    LONG,
    WorldChoices,
    instructions,
    texts,
    tool_names,
)

Fields: TypeAlias = "dict[str, object]"
Parts: TypeAlias = "Callable[[WorldChoices, str], dict[str, SearchStrategy[object]]]"

TOOL_HOOKS: Final = ("wrap_invokable", "wrap_streamable")
DESCRIPTIONS: Final = ("", " says  what\n", "e\u0301")
PARAMETERS: Final[Sequence[dict[str, JsonValue]]] = (
    {
        "type": "object",
        "properties": {
            "q": {"type": "string", "description": " e\u0301 "},
            "a": {"type": "integer", "default": 1, "enum": [2, 1]},
        },
        "required": ["q"],
        "additionalProperties": False,
    },
    {
        "$defs": {"z": {"type": ["number", "null"]}},
        "type": "object",
        "properties": {"b": {"items": {"$ref": "#/$defs/z"}, "type": "array"}},
    },
)
"""Schemas of what tools are called with, nested and with keys in no order."""

HANDLER_HOOKS: Final = (
    "before_model",
    "after_model",
    "before_agent",
    "wrap_model",
    *TOOL_HOOKS,
    "after_agent",
)


@st.composite
def tools(draw: DrawFn, choices: WorldChoices = ANYTHING) -> ToolSpec:
    """Draw a tool of any kind, with a name that others may have too."""
    kind = draw(st.sampled_from(["invokable", "streamable", "both"]))
    spec: dict[str, object] = {"name": draw(tool_names(choices)), "kind": kind}
    long = "<args> of it" if choices.small else LONG
    other = st.sampled_from(["got <args>", "got <args>", long])
    spec["result"] = draw(st.one_of(texts(choices), other))
    if kind != "invokable" and draw(st.booleans()):
        chunks = draw(st.lists(texts(choices), min_size=1, max_size=3))
        spec["chunks"] = tuple(chunks)
        if choices.delays:
            spec["chunk_ms"] = draw(st.sampled_from([0, 0, 0, 3]))
        if kind == "both" and choices.distributes:  # one result in both kinds
            spec["result"] = "".join(chunks)
    if draw(st.integers(0, 2)) == 2:
        spec["description"] = draw(st.sampled_from(DESCRIPTIONS))
        spec["parameters"] = draw(st.sampled_from(PARAMETERS))
    if choices.delays:
        spec["delay_ms"] = draw(st.sampled_from([0, 0, 0, 1, 2, 5]))
    if choices.failures and draw(st.integers(0, 3)) == 3:
        spec["error"] = draw(st.sampled_from(["boom", "büm"]))
    if choices.failures and kind == "streamable" and draw(st.integers(0, 7)) == 7:
        spec["stream_error"] = "cut off"
    if choices.failures and choices.counting:
        spec["at_most_once"] = draw(st.booleans())
    if draw(st.integers(0, 3)) == 3:
        spec["body"] = draw(body_ops(choices))
    return ToolSpec.model_validate(spec)


@st.composite
def middlewares(
    draw: DrawFn, choices: WorldChoices = ANYTHING, label: str = ""
) -> MiddlewareSpec:
    """Draw a struct middleware with some of its fields."""
    spec = draw(_some_fields(_struct_fields, choices, label))
    wraps = _both_kinds(draw, choices, label, lambda kind: kind.removeprefix("wrap_"))
    named = {"id": label, "waits": draw(st.booleans())}
    return MiddlewareSpec.model_validate({**named, "wrap_tool_call": wraps, **spec})


@st.composite
def handlers(
    draw: DrawFn, choices: WorldChoices = ANYTHING, label: str = ""
) -> HandlerSpec:
    """Draw a handler with one or more hooks."""
    spec = draw(_some_fields(_handler_fields, choices, label))
    wraps = _both_kinds(draw, choices, label, str)
    named = {"id": label, "plain": draw(st.booleans())}
    return HandlerSpec.model_validate({**named, **wraps, **spec})


def _both_kinds(
    draw: DrawFn, choices: WorldChoices, label: str, key: Callable[[str], str]
) -> dict[str, ToolWrapSpec]:
    """Draw wraps for none, one or both kinds; alike where they have to distribute."""
    if choices.distributes:
        kinds = draw(st.sampled_from([(), TOOL_HOOKS]))
        one = draw(tool_wraps(choices, label)) if kinds else ToolWrapSpec()
        return {key(kind): one for kind in kinds}
    kinds = draw(st.sampled_from([(), TOOL_HOOKS[:1], TOOL_HOOKS[1:], TOOL_HOOKS]))
    return {key(kind): draw(tool_wraps(choices, label)) for kind in kinds}


@cache
def _struct_fields(choices: WorldChoices, _: str) -> dict[str, SearchStrategy[object]]:
    return {
        "before_chat_model": message_ops(choices, after=False),
        "after_chat_model": message_ops(choices, after=True),
        "additional_instruction": instructions(choices),
        "additional_tools": st.lists(tools(choices), max_size=2).map(tuple),
    }


@cache
def _handler_fields(
    choices: WorldChoices, label: str
) -> dict[str, SearchStrategy[object]]:
    return {
        "before_model": message_ops(choices, after=False),
        "after_model": message_ops(choices, after=True),
        "before_agent": config_ops(choices, tools(choices)),
        "wrap_model": model_wraps(choices, label),
        "after_agent": message_ops(choices, after=True),
    }


@st.composite
def _some_fields(draw: DrawFn, of: Parts, choices: WorldChoices, label: str) -> Fields:
    """Draw each of the fields, or leave it out.

    By a number, 0 or 1: what hangs on a boolean is not dropped when a failure shrinks.
    """
    either = st.integers(0, 1)
    return {name: draw(f) for name, f in of(choices, label).items() if draw(either)}

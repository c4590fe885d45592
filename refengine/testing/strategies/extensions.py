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
DESCRIPTIONS: Final = ("", " says  what\n", "e\u0301", "one\r\ntwo {x} 100%% $$x")
PARAMETERS: Final[Sequence[dict[str, JsonValue]]] = (
    {
        "type": "object",
        "properties": {
            "q": {"type": "string", "description": " e\u0301 "},
            "a": {"type": "integer", "default": 1, "enum": [2, 1]},
            " e\u0301 ": {"type": ["string", "null"], "default": None, "title": "É"},
        },
        "required": ["q", "a"],
        "additionalProperties": False,
    },
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {
            "z": {"type": ["number", "null"], "multipleOf": 0.5, "minimum": -1},
            "node": {
                "type": "object",
                "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, True]}},
                "additionalProperties": {"$ref": "#/$defs/z"},
            },
        },
        "type": "object",
        "properties": {
            "b": {"items": {"$ref": "#/$defs/z"}, "type": "array", "default": []},
            "a": {"$ref": "#/$defs/node", "examples": [{"next": None}, {}]},
            "any": {},
        },
        "required": ["b", "a"],
        "x-own": {"empty": "", "numbers": [1, 1.0, True]},
    },
    {"type": "object", "properties": {}},
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

# Made once: Hypothesis looks through a new strategy before it draws from it.
_BOOLEANS: Final = st.booleans()
_EITHER: Final = st.integers(0, 1)
_ONE_IN_3: Final = st.integers(0, 2)
_ONE_IN_4: Final = st.integers(0, 3)
_ONE_IN_8: Final = st.integers(0, 7)
_KIND: Final = st.sampled_from(["invokable", "streamable", "both"])
_CHUNK_MS: Final = st.sampled_from([0, 0, 0, 3])
_DELAY_MS: Final = st.sampled_from([0, 0, 0, 1, 2, 5])
_ERROR: Final = st.sampled_from(["boom", "büm"])
_DESCRIPTION: Final = st.sampled_from(DESCRIPTIONS)
_PARAMETERS: Final = st.sampled_from(PARAMETERS)
_NO_HOOKS: Final[tuple[str, ...]] = ()
_BOTH_OR_NONE: Final = st.sampled_from([_NO_HOOKS, TOOL_HOOKS])
_ANY_KINDS: Final = st.sampled_from(
    [_NO_HOOKS, TOOL_HOOKS[:1], TOOL_HOOKS[1:], TOOL_HOOKS]
)


@cache
def tools(choices: WorldChoices = ANYTHING) -> SearchStrategy[ToolSpec]:
    """Tools of any kind, with a name that others may have too."""
    return _tools(choices)


@st.composite
def _tools(draw: DrawFn, choices: WorldChoices) -> ToolSpec:
    kind = draw(_KIND)
    spec: dict[str, object] = {"name": draw(tool_names(choices)), "kind": kind}
    spec["result"] = draw(_results(choices))
    if kind != "invokable" and draw(_BOOLEANS):
        chunks = draw(_chunks(choices))
        spec["chunks"] = tuple(chunks)
        if choices.delays:
            spec["chunk_ms"] = draw(_CHUNK_MS)
        if kind == "both" and choices.distributes:  # one result in both kinds
            spec["result"] = "".join(chunks)
    if draw(_ONE_IN_3) == 2:
        spec["description"] = draw(_DESCRIPTION)
        spec["parameters"] = draw(_PARAMETERS)
    if choices.delays:
        spec["delay_ms"] = draw(_DELAY_MS)
    if choices.failures and draw(_ONE_IN_4) == 3:
        spec["error"] = draw(_ERROR)
    if choices.failures and kind == "streamable" and draw(_ONE_IN_8) == 7:
        spec["stream_error"] = "cut off"
    if choices.failures and choices.counting:
        spec["at_most_once"] = draw(_BOOLEANS)
    if draw(_ONE_IN_4) == 3:
        spec["body"] = draw(body_ops(choices))
    return ToolSpec.model_validate(spec)


@cache
def _results(choices: WorldChoices) -> SearchStrategy[str]:
    long = "<args> of it" if choices.small else LONG
    other = st.sampled_from(["got <args>", "got <args>", long])
    return st.one_of(texts(choices), other)


@cache
def _chunks(choices: WorldChoices) -> SearchStrategy[list[str]]:
    return st.lists(texts(choices), min_size=1, max_size=3)


@cache
def middlewares(
    choices: WorldChoices = ANYTHING, label: str = ""
) -> SearchStrategy[MiddlewareSpec]:
    """Struct middlewares with some of their fields."""
    return _middlewares(choices, label)


@st.composite
def _middlewares(draw: DrawFn, choices: WorldChoices, label: str) -> MiddlewareSpec:
    spec = draw(_some_of(_struct_fields, choices, label))
    wraps = _both_kinds(draw, choices, label, lambda kind: kind.removeprefix("wrap_"))
    named = {"id": label, "waits": draw(_BOOLEANS), "in_place": draw(_BOOLEANS)}
    return MiddlewareSpec.model_validate({**named, "wrap_tool_call": wraps, **spec})


@cache
def handlers(
    choices: WorldChoices = ANYTHING, label: str = ""
) -> SearchStrategy[HandlerSpec]:
    """Handlers with one or more hooks."""
    return _handlers(choices, label)


@st.composite
def _handlers(draw: DrawFn, choices: WorldChoices, label: str) -> HandlerSpec:
    spec = draw(_some_of(_handler_fields, choices, label))
    wraps = _both_kinds(draw, choices, label, str)
    named = {"id": label, "plain": draw(_BOOLEANS), "in_place": draw(_BOOLEANS)}
    return HandlerSpec.model_validate({**named, **wraps, **spec})


def _both_kinds(
    draw: DrawFn, choices: WorldChoices, label: str, key: Callable[[str], str]
) -> dict[str, ToolWrapSpec]:
    """Draw wraps for none, one or both kinds; alike where they have to distribute."""
    if choices.distributes:
        kinds = draw(_BOTH_OR_NONE)
        one = draw(tool_wraps(choices, label)) if kinds else ToolWrapSpec()
        return {key(kind): one for kind in kinds}
    kinds = draw(_ANY_KINDS)
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

    By a number, 0 or 1: what a boolean decides is not dropped when a failure shrinks.
    """
    fields = of(choices, label).items()
    return {name: draw(field) for name, field in fields if draw(_EITHER)}


@cache
def _some_of(of: Parts, choices: WorldChoices, label: str) -> SearchStrategy[Fields]:
    return _some_fields(of, choices, label)

"""Tools: what the model may call, made of plain functions.

A tool's function gives a JSON object; anything else that JSON has is told as
``{"result": ...}``. One that waits for somebody is ``long_running``: what it gives at
first is no end of its work.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from pydantic import Field, create_model

from compat.dialects.flow.contexts import ReadonlyContext, ToolContext
from compat.dialects.flow.model import FunctionDeclaration, LlmRequest
from compat.dialects.flow.profile import FlowProfile
from compat.dialects.flow.run_errors import DuplicateToolError
from compat.dialects.flow.tree import Agent
from compat.dialects.flow.values import freeze
from refengine.messages import Json

ToolFunction: TypeAlias = Callable[[ToolContext, "dict[str, Any]"], object]
"""Takes the context and the arguments; gives a result, or an awaitable of one."""

NeedsConfirmation: TypeAlias = "bool | Callable[..., bool | Awaitable[bool]]"

CONTEXT: Final = "tool_context"
"""The parameter of a plain function that is given the context and not declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as the flow has it.

    Without ``run`` it is declared and cannot be run. ``prepare`` changes the request
    instead of the declaration being added. ``needs_confirmation`` is a flag, or a
    function of the arguments. ``agent`` is the one that it runs, if it is an agent's.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Json] | None = field(default=None, hash=False)
    run: ToolFunction | None = None
    long_running: bool = False
    needs_confirmation: NeedsConfirmation = False
    prepare: Callable[[ToolContext, LlmRequest], object] | None = None
    agent: Agent | None = None

    def __post_init__(self) -> None:
        freeze(self, "parameters")

    @property
    def declaration(self) -> FunctionDeclaration:
        """What the model is told about it."""
        return FunctionDeclaration(
            name=self.name, description=self.description, parameters=self.parameters
        )


class Toolset(Protocol):
    """Tools that are only known when an agent runs."""

    async def tools(self, ctx: ReadonlyContext) -> Sequence[Tool]:
        """Return the tools for this run."""
        ...


def function_tool(
    function: Callable[..., object],
    *,
    name: str = "",
    description: str = "",
    long_running: bool = False,
    needs_confirmation: NeedsConfirmation = False,
) -> Tool:
    """Make a tool of a plain function, sync or async.

    Its parameters become the schema by their annotations; one called ``tool_context``
    is given the context. Arguments that do not fit are a TypeError of the call.
    """
    signature = inspect.signature(function)
    wants_context = CONTEXT in signature.parameters
    known = frozenset(signature.parameters) - {CONTEXT}

    def run(ctx: ToolContext, args: dict[str, Any]) -> object:
        given = {key: each for key, each in args.items() if key in known}
        return function(**given, **({CONTEXT: ctx} if wants_context else {}))

    return Tool(
        name=name or getattr(function, "__name__", ""),
        description=description or inspect.getdoc(function) or "",
        parameters=_schema(function, known),
        run=run,
        long_running=long_running,
        needs_confirmation=needs_confirmation,
    )


def _schema(
    function: Callable[..., object], known: frozenset[str]
) -> Mapping[str, Any]:
    """Return the JSON schema of the function's parameters."""
    hints = inspect.get_annotations(function, eval_str=True)
    fields: dict[str, Any] = {
        each.name: (
            hints.get(each.name, Any),
            Field() if each.default is each.empty else Field(default=each.default),
        )
        for each in inspect.signature(function).parameters.values()
        if each.name in known
    }
    made = create_model("Arguments", **fields)
    schema: dict[str, Any] = made.model_json_schema()
    schema.pop("title", None)
    return schema


def add_tool(request: LlmRequest, tool: Tool, agent: str, profile: FlowProfile) -> None:
    """Declare the tool in the request, and have its calls find it.

    Raises DuplicateToolError where a name may stand only once; elsewhere the last one
    runs and both are declared.
    """
    if tool.name in request.tools and profile.equal_tool_names == "error":
        raise DuplicateToolError(agent, tool.name)
    request.tools[tool.name] = tool
    request.declare(tool.declaration)


def as_tool(given: Tool | Callable[..., object]) -> Tool:
    """Return the tool, made of the function if it is one."""
    return given if isinstance(given, Tool) else function_tool(given)

"""Agents as their users write them: what each kind is made of, checked when it is made.

How they run is in ``running.py`` and ``flow.py``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from compat.dialects.flow.contexts import InvocationContext, ReadonlyContext
from compat.dialects.flow.events import Event
from compat.dialects.flow.hooks import (
    AfterModel,
    AfterTool,
    BeforeModel,
    BeforeTool,
    OnModelError,
    OnToolError,
)
from compat.dialects.flow.model import FlowModel, GenerateConfig
from compat.dialects.flow.processing import RequestProcessor, ResponseProcessor
from compat.dialects.flow.run_errors import AgentFieldError
from compat.dialects.flow.tools import Tool, Toolset, as_tool
from compat.dialects.flow.tree import Agent
from compat.dialects.flow.values import freeze
from refengine.messages import Json

InstructionProvider: TypeAlias = Callable[[ReadonlyContext], object]
"""Gives the text of an instruction, or an awaitable of it; used as it is."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LlmAgent(Agent):
    """An agent that asks a model: the seed's State, with its callbacks.

    Tools may be plain functions. ``output_schema`` is a JSON schema of an object. The
    processors are those of ``flow.py`` if none are given; a user's own may stand at any
    place among them.
    """

    model: FlowModel | None = None
    tools: Sequence[Tool | Callable[..., object]] = ()
    toolsets: Sequence[Toolset] = ()
    include_contents: Literal["default", "none"] = "default"
    config: GenerateConfig | None = None
    instruction: str = ""
    instruction_provider: InstructionProvider | None = None
    global_instruction: str = ""
    global_instruction_provider: InstructionProvider | None = None
    disallow_transfer_to_parent: bool = False
    disallow_transfer_to_peers: bool = False
    input_schema: Mapping[str, Json] | None = None
    output_schema: Mapping[str, Json] | None = None
    output_key: str = ""
    before_model: Sequence[BeforeModel] | BeforeModel = ()
    after_model: Sequence[AfterModel] | AfterModel = ()
    on_model_error: Sequence[OnModelError] | OnModelError = ()
    before_tool: Sequence[BeforeTool] | BeforeTool = ()
    after_tool: Sequence[AfterTool] | AfterTool = ()
    on_tool_error: Sequence[OnToolError] | OnToolError = ()
    request_processors: Sequence[RequestProcessor] | None = None
    response_processors: Sequence[ResponseProcessor] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        freeze(self, "input_schema", "output_schema")
        if self.include_contents not in {"default", "none"}:
            wanted, got = "'default' or 'none'", self.include_contents
            raise AgentFieldError(self.name, "include_contents", got, wanted)
        for index, each in enumerate(self.tools):
            if not isinstance(each, Tool) and not callable(each):
                wanted = "a Tool or a function"
                raise AgentFieldError(self.name, f"tools[{index}]", each, wanted)
        object.__setattr__(self, "tools", tuple(map(as_tool, self.tools)))
        object.__setattr__(self, "toolsets", tuple(self.toolsets))

    def _lists(self) -> tuple[str, ...]:
        model = ("before_model", "after_model", "on_model_error")
        tool = ("before_tool", "after_tool", "on_tool_error")
        return (*super()._lists(), *model, *tool)


@dataclass(frozen=True, kw_only=True, eq=False)
class SequentialAgent(Agent):
    """Runs its sub-agents one after the other."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LoopAgent(Agent):
    """Runs its sub-agents again and again, until one escalates.

    ``max_iterations`` 0 means no limit.
    """

    max_iterations: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        limit = self.max_iterations
        if type(limit) is not int or limit < 0:
            wanted = "a whole number, 0 for no limit"
            raise AgentFieldError(self.name, "max_iterations", limit, wanted)


@dataclass(frozen=True, kw_only=True, eq=False)
class ParallelAgent(Agent):
    """Runs its sub-agents at the same time, each on a branch of its own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CustomAgent(Agent):
    """Runs a function of its user's, which yields events."""

    run: Callable[[InvocationContext], AsyncIterator[Event]]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.run):
            wanted = "a function that yields events"
            raise AgentFieldError(self.name, "run", self.run, wanted)

"""What a model is asked and what it answers, and what a model is.

A request is the one value here that is not frozen: processors build it step by step,
and a before-model hook that changes it in place changes what the model sees, and
nothing that is kept. Its contents and its configuration are frozen, so that this is
the only way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from compat.dialects.flow.content import Content
from compat.dialects.flow.values import UNWRITTEN, freeze
from refengine.messages import NOTHING, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDeclaration:
    """What the model is told about a tool; ``parameters`` is a JSON schema."""

    name: str
    description: str = ""
    parameters: Mapping[str, Json] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        freeze(self, "parameters")


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateConfig:
    """How the model is asked to answer; ``extra`` is for a vendor's own settings."""

    system_instruction: str = ""
    tools: tuple[FunctionDeclaration, ...] = ()
    response_schema: Mapping[str, Json] | None = field(default=None, hash=False)
    response_mime_type: str = ""
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    stop_sequences: tuple[str, ...] = ()
    extra: Mapping[str, Json] = field(default=NOTHING, hash=False)

    def __post_init__(self) -> None:
        freeze(self, "response_schema", "extra")


@dataclass(slots=True, kw_only=True)
class LlmRequest:
    """What the model will be asked; processors and before-model hooks change it."""

    model: str = ""
    contents: list[Content] = field(default_factory=list[Content])
    config: GenerateConfig = field(default_factory=GenerateConfig)
    tools: dict[str, Any] = field(default_factory=dict[str, Any], metadata=UNWRITTEN)
    """the tools that its calls may name, as ``tools.py`` has them; not written"""

    def append_instructions(self, *texts: str) -> None:
        """Add texts to the system instruction, a blank line before each."""
        given = (self.config.system_instruction, *texts)
        joined = "\n\n".join(each for each in given if each)
        self.config = replace(self.config, system_instruction=joined)

    def declare(self, *declarations: FunctionDeclaration) -> None:
        """Add declarations of tools behind those that stand there."""
        self.config = replace(self.config, tools=(*self.config.tools, *declarations))


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that a model call cost, as its vendor counts them."""

    prompt: int = 0
    answer: int = 0
    thoughts: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmResponse:
    """What a model answered, or one chunk of it (``partial``).

    ``turn_complete`` ends a streamed answer. An answer that failed at the vendor has an
    ``error_code`` and is not an exception.
    """

    content: Content | None = None
    partial: bool = False
    turn_complete: bool = False
    interrupted: bool = False
    error_code: str = ""
    error_message: str = ""
    finish_reason: str = ""
    usage: Usage | None = None
    grounding: Mapping[str, Json] | None = field(default=None, hash=False)
    metadata: Mapping[str, Json] = field(default=NOTHING, hash=False)

    def __post_init__(self) -> None:
        freeze(self, "grounding", "metadata")


class FlowModel(Protocol):
    """A model: asked once, it gives one response, or chunks of one if it streams."""

    @property
    def name(self) -> str:
        """The vendor's name of it, which decides what it can do."""
        ...

    def generate(
        self, request: LlmRequest, *, stream: bool
    ) -> AsyncIterator[LlmResponse]:
        """Answer the request; an exception is a model error."""
        ...

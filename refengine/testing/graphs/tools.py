"""The world's tools as tools of LangChain: scripted, and seen by the world."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, cast

from langchain_core.tools import BaseTool
from pydantic import Field

from refengine.messages import Json
from refengine.testing.graphs.messages import written
from refengine.testing.graphs.model import error_at
from refengine.testing.graphs.schemas import arguments_model
from refengine.testing.notation import decoded
from refengine.testing.ops import ToolSpec
from refengine.testing.recorder import Recorder
from refengine.testing.world import CALLING, World

OWN: Final = "refengine_world"
"""The metadata key of a tool that observes itself."""
SCHEMA: Final[Mapping[str, Any]] = MappingProxyType(
    {"type": "object", "properties": {}, "additionalProperties": True}
)
"""Any arguments: a script may call a tool with whatever a subject looks for."""


class WorldTool(BaseTool):
    """A tool that gives what its spec says and records each execution.

    A result comes in one piece: neither framework streams what a tool returns.
    """

    world: Any = Field(exclude=True, repr=False)
    spec: Any = Field(exclude=True, repr=False)

    def run(
        self,
        *given: Any,  # noqa: ANN401  # as BaseTool.run
        tool_call_id: str | None = None,
        **more: Any,  # noqa: ANN401  # as BaseTool.run
    ) -> Any:  # noqa: ANN401  # as BaseTool.run
        """Run it, and remember for which call."""
        self._checked(given)
        with calling(tool_call_id or CALLING.get()):
            return super().run(*given, tool_call_id=tool_call_id, **more)

    async def arun(
        self,
        *given: Any,  # noqa: ANN401  # as BaseTool.arun
        tool_call_id: str | None = None,
        **more: Any,  # noqa: ANN401  # as BaseTool.arun
    ) -> Any:  # noqa: ANN401  # as BaseTool.arun
        """Run it, and remember for which call."""
        self._checked(given)
        with calling(tool_call_id or CALLING.get()):
            return await super().arun(*given, tool_call_id=tool_call_id, **more)

    def _run(self, /, *_: object, **arguments: object) -> str:
        text = self._begin(arguments)
        self._world.clock.sleep(self._spec.delay_ms / 1000)
        return self._end(text)

    async def _arun(self, /, *_: object, **arguments: object) -> str:
        text = self._begin(arguments)
        if self._spec.delay_ms:
            await asyncio.sleep(self._spec.delay_ms / 1000)
        return self._end(text)

    def _checked(self, given: Sequence[object]) -> None:
        """Refuse arguments that the schema does not take, as a typed tool does."""
        if self.spec.parameters is not None and given and isinstance(given[0], dict):
            arguments_model(self.name, self.spec.parameters).model_validate(given[0])

    @property
    def _world(self) -> World:
        return cast("World", self.world)

    @property
    def _spec(self) -> ToolSpec:
        return cast("ToolSpec", self.spec)

    def _begin(self, arguments: dict[str, object]) -> str:
        text = written(arguments)
        implementation = self._spec.result or "".join(self._spec.chunks)
        started(self._world.recorder, self.name, text, implementation)
        return text

    def _end(self, arguments: str) -> str:
        call_id, recorder = CALLING.get(), self._world.recorder
        failure = self._failure()
        if failure is not None:
            recorder.add("tool_error", {"error": failure}, call_id)
            raise error_at(failure, "tool")
        recorded = self._recorded(call_id or "")
        made = "".join(map(decoded, self._spec.chunks)) or self._spec.result
        result = decoded(made).replace("<args>", arguments)
        result = result if recorded is None else decoded(recorded)
        recorder.add("tool_end", {"result": result}, call_id)
        return result

    def _recorded(self, call_id: str) -> str | None:
        """Return what was recorded for this call, the last of it again and again."""
        recorded = self._spec.by_call.get(call_id)
        if recorded is None:
            return None
        times = self._world.count(f"{self.name} {call_id}")
        return recorded[min(times, len(recorded)) - 1]

    def _failure(self) -> str | None:
        times = self._world.count(self.name)
        if self._spec.at_most_once and times > 1:
            return f"{self.name} was executed twice"
        for op in self._spec.body:
            if op.op == "error" and op.on_call in {None, times}:
                return op.text
        return self._spec.error or self._spec.stream_error


def world_tool(spec: ToolSpec, world: World) -> WorldTool:
    """Return the tool that does what the spec says, in this world."""
    return WorldTool(
        name=spec.name,
        description=spec.description or f"tool {spec.name}",
        args_schema=dict(SCHEMA if spec.parameters is None else spec.parameters),
        return_direct=world.returns_directly(spec.name),
        metadata={OWN: True},
        world=world,
        spec=spec,
    )


def started(recorder: Recorder, name: str, arguments: str, implementation: str) -> None:
    """Put down that a tool begins, for the call that is being made."""
    data: dict[str, Json] = {
        "name": name,
        "arguments": arguments,
        "implementation": implementation,
        "mode": "invoke",
        "options": {},
        "ctx": "-",
    }
    recorder.add("tool_start", data, CALLING.get())


@contextmanager
def calling(call_id: str | None) -> Generator[None, None, None]:
    """Have what is observed inside belong to this call."""
    token = CALLING.set(call_id)
    try:
        yield
    finally:
        CALLING.reset(token)

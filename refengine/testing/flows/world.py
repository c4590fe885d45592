"""The world's model and tools where agents with sessions ask them, in any framework."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeVar

from refengine.messages import Json, Message, MessageChunk, join_chunks
from refengine.testing.flows.events import FlowCall, as_messages, object_in
from refengine.testing.json_values import is_mapping
from refengine.testing.notation import in_one_part, pieces_of
from refengine.testing.ops import ToolSpec
from refengine.testing.own_tools import with_own_tools
from refengine.testing.tool_runs import ToolRuns, calling, error_at, given_by_name
from refengine.testing.world import World

T = TypeVar("T")

MODEL: Final = "world"
"""The name of the model that a subject is given."""
TRANSFER: Final = "transfer_to_agent"
"""The framework's own tool, which is none of the subject's."""
ANY: Final[Mapping[str, Json]] = MappingProxyType(
    {"type": "object", "properties": {}, "additionalProperties": True}
)
"""Any arguments: a script may call a tool with whatever a subject looks for."""


@dataclass(frozen=True, slots=True)
class FlowAsked:
    """What a request carries; usage is counted in its ``texts``."""

    model: str
    instruction: str
    messages: Sequence[Json]
    tools: Sequence[Any]
    options: Mapping[str, Json]
    texts: Iterable[str]


@dataclass(frozen=True, slots=True)
class FlowAnswer:
    """An answer of the script, or a piece of it: ``partial``.

    Usage is told in words, so that what counts it has something to count.
    """

    message: Message
    partial: bool = False
    words_asked: int = 0
    words_told: int = 0


async def answered(
    world: World,
    asked: FlowAsked,
    response_of: Callable[[FlowAnswer], T],
    *,
    stream: bool,
) -> AsyncIterator[T]:
    """Put a request down, and yield the script's next answer as a framework has it.

    Raises what is scripted.
    """
    _put_down(world, asked)
    await asyncio.sleep(world.model.seconds)
    answer, failure = world.model.next_answer()
    if isinstance(answer, Message):
        others = [*(spec.name for spec in world.tool_specs), TRANSFER]
        answer = with_own_tools(answer, asked.tools, others)
    if stream:
        for piece in _pieces(answer):
            yield response_of(FlowAnswer(Message("assistant", piece), partial=True))
    if failure is not None:
        world.recorder.add("model_error", {"error": failure})
        raise error_at(failure, "model")
    whole = answer if isinstance(answer, Message) else join_chunks(answer)
    told = FlowAnswer(
        whole,
        words_asked=sum(len(text.split()) for text in asked.texts),
        words_told=len(in_one_part(whole.content).split()) + len(whole.tool_calls),
    )
    response = response_of(told)
    world.recorder.add("model_response", {"message": _said(whole)})
    yield response


def _put_down(world: World, asked: FlowAsked) -> None:
    messages = [*asked.messages]
    if asked.instruction:
        messages.insert(0, {"role": "system", "content": asked.instruction})
    named = {} if asked.model == MODEL else {"model": asked.model}
    options = {**asked.options, **named}
    request = {"messages": messages, "tools": asked.tools, "options": options}
    world.model.begin_call({**request, "ctx": "-"})


def _pieces(answer: Message | Sequence[MessageChunk]) -> Sequence[str]:
    """Return the texts that a stream brings before the whole answer."""
    chunks = pieces_of(answer) if isinstance(answer, Message) else answer
    texts = [in_one_part(each.content) for each in chunks]
    return [each for each in texts if each]


def _said(answer: Message) -> Json:
    """Return an answer of the script as observations have it."""
    calls = [
        FlowCall(each.id, each.name, object_in(each.arguments))
        for each in answer.tool_calls
    ]
    text = in_one_part(answer.content)
    return next(as_messages("model", text, calls, (), ()))


class FlowToolRuns:
    """A tool that gives what its spec says and records each execution.

    One that is a text in JSON is that text, as of a function that returns one: hooks
    see it so. Any other that is no JSON object is ``{"result": ...}``.
    """

    def __init__(self, spec: ToolSpec, world: World) -> None:
        self.name: str = spec.name
        self.description: str = spec.description or f"tool {spec.name}"
        self.parameters: dict[str, Json] = dict(
            ANY if spec.parameters is None else spec.parameters
        )
        self.is_direct: bool = world.returns_directly(spec.name)
        self._runs = ToolRuns(spec, world)

    async def result(
        self, args: Mapping[str, Any], call_id: str | None
    ) -> dict[str, Json] | str:
        """Run it once; raises what is scripted."""
        text = given_by_name(args)
        with calling(call_id):
            self._runs.begin(text)
            if self._runs.seconds:
                await asyncio.sleep(self._runs.seconds)
            result = self._runs.end(text)
        try:
            found: object = json.loads(result)
        except ValueError:
            found = None
        if isinstance(found, str):
            return found
        return dict(found) if is_mapping(found) else {"result": result}

"""Doors to the right engine in front of a model that is not told what it was sent.

What an engine does to a request on its last step, or to an answer on its first, is the
same to everybody as if the model stood behind somebody who does it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from property_tests.mutants.around import configured
from property_tests.mutants.mutant import Door
from refengine.agent import ChatModelAgentConfig
from refengine.messages import Message, MessageChunk
from refengine.stream import StreamReader, convert_stream
from refengine.tools import Options, ToolInfo

Asked: TypeAlias = tuple[Sequence[Message], Sequence[ToolInfo], Options]
"""What a model is asked with."""
Ask: TypeAlias = Callable[[Asked], Asked]
Hear: TypeAlias = Callable[[Any], Any]
"""Changes a message, or a chunk of one, or a stream of them."""


def _same(given: Any) -> Any:  # noqa: ANN401  # as Hear
    return given


class ChangedModel:
    """A model that is asked otherwise, or whose answer is heard otherwise."""

    def __init__(
        self,
        model: Any,  # noqa: ANN401  # of either kind
        ask: Ask = _same,
        hear: Hear = _same,
        read: Hear = _same,
    ) -> None:
        self._model = model
        self._ask = ask
        self._hear = hear
        self._read = read
        kinds = {name: getattr(model, name, None) for name in ("invoke", "stream")}
        self.invoke = None if kinds["invoke"] is None else self._invoked
        self.stream = None if kinds["stream"] is None else self._streamed

    async def _invoked(self, ctx: object, *given: Any) -> Any:  # noqa: ANN401  # as asked
        answer = await self._model.invoke(ctx, *self._ask(given))
        return self._hear(answer) if isinstance(answer, Message) else answer

    async def _streamed(self, ctx: object, *given: Any) -> Any:  # noqa: ANN401  # as asked
        answer = await self._model.stream(ctx, *self._ask(given))
        if not isinstance(answer, StreamReader):
            return answer
        chunks = cast("StreamReader[MessageChunk]", self._read(answer))
        return convert_stream(chunks, self._hear)


def models(change: Callable[[Any], Any]) -> Door:
    """Return the door to the right engine with other models, also those after one."""

    def changed(config: ChatModelAgentConfig) -> ChatModelAgentConfig:
        retry = config.retry
        if retry is not None:
            others = tuple(change(each) for each in retry.fall_back)
            retry = replace(retry, fall_back=others)
        return replace(config, model=change(config.model), retry=retry)

    return configured(changed)


def asked(ask: Ask) -> Door:
    """Return the door to the right engine whose models are asked otherwise."""
    return models(lambda model: ChangedModel(model, ask))


def sent(change: Callable[[Sequence[Message]], Sequence[Message]]) -> Door:
    """Return the door to the right engine whose models are sent other messages."""
    return asked(lambda given: (change(given[0]), given[1], given[2]))


def told(change: Callable[[ToolInfo], ToolInfo]) -> Door:
    """Return the door to the right engine whose models are told else of each tool."""
    return asked(
        lambda given: (given[0], [change(each) for each in given[1]], given[2])
    )


def heard(hear: Hear) -> Door:
    """Return the door to the right engine that hears other answers, and chunks."""
    return models(lambda model: ChangedModel(model, hear=hear))

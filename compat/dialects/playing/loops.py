"""Playing a processor of the stream loop, linear or not, with its callbacks.

A subject returns the processor, or the processor and a ``ResponseCallbacks``. Tools are
the world's: a result that is an object with ``requires_follow_up`` is one that asks for
another round, as a convention between tools and loop (the record's third step).
"""

from __future__ import annotations

import inspect
import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, Final, cast

from compat.dialects.stream_loop.callbacks import NO_CALLBACKS, ResponseCallbacks
from compat.dialects.stream_loop.linear import LinearProcessor, drawn_id
from compat.dialects.stream_loop.parts import Part, PartEvent
from compat.dialects.stream_loop.records import LOGGER
from compat.dialects.stream_loop.results import LoopResult, ToolOutput
from refengine.awaiting import settled
from refengine.context import Context
from refengine.messages import History, Message
from refengine.testing.json_values import is_mapping
from refengine.testing.scenario import RunSpec, Scenario
from refengine.testing.stack_play import StackPlay
from refengine.testing.subjects import Played, Subject, SubjectError
from refengine.testing.world import World
from refengine.tools import Options, Tool

ASKS: Final = "requires_follow_up"
NAMES: Final = tuple(each.name for each in fields(ResponseCallbacks))
STEPS: Final = (
    "process_rounds",
    "process_single_iteration",
    "process_response_chunk",
    "execute_tool_call",
    "provide_tool_result_feedback",
    "should_continue",
    "build_next_prompt",
    "add_next_prompt",
    "messages_of",
)
"""The steps that a processor may have of its own."""
INSTEAD: Final = (
    "return a LinearProcessor or a LoopProcessor of world.model, or a pair of it and"
    " ResponseCallbacks"
)


def play(scenario: Scenario, subject: Subject, world: World, got: object) -> Played:  # noqa: ARG001  # a player's signature
    """Play a processor that a subject built; raises SubjectError and EffectError."""
    processor, callbacks = _parts(got)
    logger = logging.getLogger(LOGGER)
    if not logger.handlers:  # what nobody asked for is not a line that a subject prints
        logger.addHandler(logging.NullHandler())
    shape = LoopRuns(world, processor, callbacks)
    return StackPlay(scenario, world, shape).played(got)


def _parts(got: object) -> tuple[LinearProcessor, ResponseCallbacks]:
    pair = (
        cast("tuple[object, ...]", got)
        if isinstance(got, tuple)
        else (got, NO_CALLBACKS)
    )
    if len(pair) != 2:
        raise SubjectError(pair, f"that is a tuple of {len(pair)}", INSTEAD)
    processor, callbacks = pair
    if not isinstance(processor, LinearProcessor):
        raise SubjectError(pair, "its first part is not a processor", INSTEAD)
    if not isinstance(callbacks, ResponseCallbacks):
        raise SubjectError(pair, "its second part is not a ResponseCallbacks", INSTEAD)
    return processor, callbacks


class LoopRuns:
    """A processor and its callbacks; what they are told of parts is put down."""

    def __init__(
        self, world: World, processor: LinearProcessor, callbacks: ResponseCallbacks
    ) -> None:
        self._world, self._processor = world, processor
        own = [each for each in NAMES if getattr(callbacks, each) is not None]
        steps = [each for each in STEPS if _is_own(processor, each)]
        self._hooks = Counter(dict.fromkeys([*own, *steps], 0))
        self._callbacks = self._watched(callbacks)
        for each in steps:
            setattr(processor, each, self._counted(each, getattr(processor, each)))
        if processor.new_id is drawn_id:
            processor.new_id = world.new_id  # drawn anew each time, it would be noise
        self._tools = [_AskingTool(each) for each in world.tools]
        self._history: Sequence[Message] = ()
        self._result: LoopResult | None = None

    @property
    def hooks(self) -> Mapping[str, int]:
        """How often each callback ran, and each step of the processor's own."""
        return dict(self._hooks)

    async def run(self, spec: RunSpec, said: Sequence[Message]) -> None:
        """Process one input; what the processor raises comes out."""
        self._result = None
        before = self._history if spec.continues else ()
        *earlier, last = said
        more: dict[str, Any] = {}
        if spec.steps is not None and _takes_iterations(self._processor):
            more["max_iterations"] = spec.steps
        found = await self._processor.process_input(
            last.content,
            tools=cast("Sequence[Tool]", self._tools),
            callbacks=self._callbacks,
            history=History((*before, *earlier)),
            **more,
        )
        self._result = found

    async def left(self) -> Mapping[str, object]:
        """Return how the last input ended, and the parts that it left."""
        result = self._result
        if result is None:
            return {"status": "error", "answer": "", "messages": [], "parts": []}
        self._history = result.history
        return {
            "status": result.status,
            "answer": result.text,
            "messages": tuple(result.history),
            "parts": [_of_part(each) for each in result.parts],
        }

    def _watched(self, callbacks: ResponseCallbacks) -> ResponseCallbacks:
        own: dict[str, Any] = {
            name: self._counted(name, getattr(callbacks, name))
            for name in NAMES
            if getattr(callbacks, name) is not None
        }
        more = {
            "on_part_event": self._before(self._sees_event, own.get("on_part_event")),
            "on_end": self._before(self._sees_end, own.get("on_end")),
        }
        return replace(callbacks, **{**own, **more})

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: object, **named: object) -> object:
            self._hooks[name] += 1
            return function(*given, **named)

        return counted

    @staticmethod
    def _before(
        look: Callable[[Any], None], callback: Callable[..., Any] | None
    ) -> Callable[[Any], Any]:
        async def both(fact: object) -> None:
            look(fact)
            if callback is not None:
                await settled(callback(fact))

        return both

    def _sees_event(self, event: PartEvent) -> None:
        self._world.recorder.add("part_event", _of_part(event), event.call_id or None)

    def _sees_end(self, result: LoopResult) -> None:
        self._result = result  # told also where an exception comes out


def _is_own(processor: LinearProcessor, step: str) -> bool:
    """Tell whether a step is none of the dialect's: its author's own."""
    found = getattr(type(processor), step, None)
    module: str = getattr(found, "__module__", "")
    return found is not None and not module.startswith("compat.")


def _takes_iterations(processor: LinearProcessor) -> bool:
    return "max_iterations" in inspect.signature(processor.process_input).parameters


def _of_part(part: Part | PartEvent) -> dict[str, object]:
    """Return a part without what is empty; of an error its class, not its text."""
    found = {key: each for key, each in asdict(part).items() if each not in ("", None)}
    if part.error:
        found["error"] = part.error.partition(":")[0]
        if part.kind == "tool_result":
            found["text"] = found["error"]
    return found


class _AskingTool:
    """A world's tool, whose result may ask for another round."""

    def __init__(self, tool: Tool) -> None:
        self.info = tool.info
        self._tool: Any = tool

    async def invoke(self, ctx: Context, arguments: str, options: Options) -> object:
        """Call it, and read a result that comes in pieces to its end."""
        if hasattr(self._tool, "invoke"):
            return output_of(await self._tool.invoke(ctx, arguments, options))
        stream = await self._tool.stream(ctx, arguments, options)
        try:
            return output_of("".join([each async for each in stream]))
        finally:
            await stream.aclose()


def output_of(text: str) -> str | ToolOutput:
    """Return what a tool gave: an object that says whether it asks, or a text."""
    try:
        given: object = json.loads(text) if ASKS in text else None
    except ValueError:
        return text
    if not is_mapping(given) or ASKS not in given:
        return text
    return ToolOutput(given.get("result"), given[ASKS])

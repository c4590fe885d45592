"""Profiles of the stream loop side by side, each posture by a run that shows it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from compat.dialects.stream_loop import (
    LoopProcessor,
    LoopProfile,
    ResponseCallbacks,
    ToolOutput,
    ToolResult,
)
from compat.profiles.small_worlds import (
    SmallModel,
    SmallTool,
    World,
    WorldPostureDifference,
    calling,
    raises,
    shown_differences,
)
from refengine.messages import MessageChunk
from refengine.testing.clock import Ids


def loop_differences(
    a: LoopProfile, b: LoopProfile
) -> Iterator[WorldPostureDifference]:
    """Yield the postures in which two profiles differ, each with what shows it."""
    yield from shown_differences(a, b, LOOP_WORLDS)


_AGAIN: Final = ToolOutput(1, requires_follow_up=True)


async def _looped(
    profile: LoopProfile,
    *script: list[MessageChunk | Exception],
    kind: type[LoopProcessor] = LoopProcessor,
    tools: Mapping[str, object] = MappingProxyType({"f": _AGAIN}),
    most: float | None = 2,
    on_chunk: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    model, ends = SmallModel(*script), list[dict[str, Any]]()
    logger = logging.getLogger("refengine.stream_loop.compared")
    logger.propagate = False
    loop = kind(model, profile=profile, new_id=Ids("id"), logger=logger)

    def on_end(result: Any) -> None:  # noqa: ANN401  # a LoopResult
        parts = [f"{each.kind} {each.state}" for each in result.parts]
        ends.append({"status": result.status, "text": result.text, "parts": parts})

    callbacks = ResponseCallbacks(on_end=on_end, on_chunk=on_chunk)
    made = [SmallTool(name, given) for name, given in tools.items()]
    try:
        await loop.process_input(
            "hi", tools=made, callbacks=callbacks, max_iterations=most
        )
    except ValueError as error:
        if not ends:
            raise
        return {"asked": model.asked, **ends[0], "raised": str(error)}
    return {"asked": model.asked, **ends[0]}


class _EmptyPrompt(LoopProcessor):
    def build_next_prompt(self, result: ToolResult) -> str:  # noqa: ARG002  # as its base
        return ""


_TWO: Final = MappingProxyType({"f": _AGAIN, "g": "done"})

LOOP_WORLDS: Final[Mapping[str, World[LoopProfile]]] = MappingProxyType(
    {
        "iteration_limit": (
            "max_iterations=0",
            lambda p: _looped(p, calling("f"), most=0),
        ),
        "exhausted_text": (
            "the tool of each of two rounds asks for another",
            lambda p: _looped(p, calling("f"), calling("f")),
        ),
        "follow_up": (
            "two calls: the result of the first asks for another round",
            lambda p: _looped(p, calling("f", "g"), tools=_TWO),
        ),
        "next_input": (
            "a result asks for another round",
            lambda p: _looped(p, calling("f")),
        ),
        "empty_prompt": (
            "the next prompt is overridden by one without text",
            lambda p: _looped(p, calling("f"), kind=_EmptyPrompt),
        ),
        "tool_failure": (
            "a tool raises",
            lambda p: _looped(p, calling("f"), tools={"f": ValueError("no")}),
        ),
        "open_parts": (
            "the stream breaks behind its first chunk",
            lambda p: _looped(p, [MessageChunk("so"), ValueError("broken")]),
        ),
        "raising_callback": (
            "on_chunk raises",
            lambda p: _looped(p, on_chunk=raises),
        ),
    }
)

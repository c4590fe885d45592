"""Goes on from what was said before; rounds are made by hand."""

import json

from compat.dialects.stream_loop import (
    LinearProcessor,
    LoopResult,
    ProcessParams,
    ResponseCallbacks,
    ToolResult,
)
from refengine import Message
from refengine.testing.world import World


class _HandLoop(LinearProcessor):
    """Asks again by hand while a result wants it, three rounds at most."""

    async def process_rounds(self, params: ProcessParams) -> LoopResult:
        while True:
            found = await self.process_in_time(params)
            asking = [
                each
                for each in found.results
                if each.error is None and each.requires_follow_up is True
            ]
            if not asking:
                return self.result_of(params, found.text, "completed")
            prompt = "\n".join(map(_prompt_of, asking))
            params.history = params.history.appended(Message("user", prompt))
            if params.round == 3:
                return self.result_of(params, found.text, "max_iterations")


def _prompt_of(result: ToolResult) -> str:
    short = (",", ":")
    written = json.dumps(
        result.result, ensure_ascii=False, separators=short, default=dict
    )
    return f"基于以下结果继续: {written}"


class _Turns:
    def __init__(self, world: World) -> None:
        self.world = world

    def end(self, result: LoopResult) -> None:
        turns = sum(each.role == "user" for each in result.history)
        self.world.effect("turns", turns)


def subject(world: World) -> object:
    """Return what is played in a world."""
    processor = _HandLoop(world.model, instruction="Go on.")
    return processor, ResponseCallbacks(on_end=_Turns(world).end)

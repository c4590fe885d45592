"""Fakes for tests that explore: they wait at every call, and keep nothing of a run."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from refengine.context import Context
from refengine.messages import Message, ToolCall
from refengine.tools import Options, ToolInfo
from tests.support import DONE


class Asking:
    """A model that keeps nothing: it calls the tool, and is done when it has answered.

    A message "late" makes it wait, so that its run begins after another one has ended.
    """

    def __init__(self, *arguments: str) -> None:
        self.arguments = arguments

    async def invoke(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> Message:
        if messages[-1].role == "tool":
            return DONE
        for _ in range(8 if messages[-1].content == "late" else 1):
            await asyncio.sleep(0)
        made = enumerate(self.arguments)
        calls = tuple(ToolCall(f"c{at}", "t", given) for at, given in made)
        return Message("assistant", tool_calls=calls)


class Slow:
    """A tool that waits, and counts how often it was executed for which arguments."""

    def __init__(self) -> None:
        self.info = ToolInfo("t")
        self.executed: Counter[str] = Counter()

    async def invoke(self, ctx: Context, arguments: str, options: Options) -> str:
        self.executed[arguments] += 1
        await asyncio.sleep(0)
        return f"{arguments} {self.executed[arguments]}"

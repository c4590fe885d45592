"""Ask a person before a file is deleted, and go on in another process.

First ``python approve.py ask``, then ``refengine checkpoint show runs.db "run 7"``, and
in the end ``python approve.py yes``, or ``no``.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Final

from refengine import (
    AgentEvent,
    ChatModelAgentConfig,
    Context,
    Endpoint,
    Message,
    Options,
    ToolCall,
    ToolCallInput,
    ToolCallResult,
    ToolInfo,
    ToolsConfig,
    build_agent,
    interrupt,
    with_invokable_tool_wrapper,
)
from refengine.state import Checkpoints, SqliteStore

RUN: Final = "run 7"


class Model:
    """Calls the tool, then tells what it gave; put your own in its place."""

    async def invoke(
        self,
        ctx: Context,  # noqa: ARG002  # as every model is asked
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],  # noqa: ARG002  # as every model is asked
        options: Options,  # noqa: ARG002  # as every model is asked
    ) -> Message:
        """Return the next answer; what it rests on is in the messages alone."""
        if messages[-1].role == "tool":
            return Message("assistant", f"It is {messages[-1].content}.")
        call = ToolCall("c1", "delete_file", '{"path": "old.log"}')
        return Message("assistant", "", (call,))


class DeleteFile:
    """A tool that does not delete anything."""

    info = ToolInfo("delete_file")

    async def invoke(
        self,
        ctx: Context,  # noqa: ARG002  # as every tool is called
        arguments: str,  # noqa: ARG002  # as every tool is called
        options: Options,  # noqa: ARG002  # as every tool is called
    ) -> str:
        """Return what would have been done."""
        return "deleted"


async def gate(ctx: Context, input: ToolCallInput, next: Endpoint) -> ToolCallResult:
    """Ask, then call; here the first process stops, and the second one goes on."""
    if not interrupt({"tool": input.name, "arguments": input.arguments}):
        raise PermissionError(f"{input.name} was not approved")
    return await next(ctx, input)


async def main(what: str) -> None:
    """Begin the run ("ask"), or answer what it asks ("yes", "no")."""
    async with SqliteStore("runs.db") as store:
        runs = Checkpoints(store)
        agent = await build_agent(
            ChatModelAgentConfig(
                name="janitor",
                description="",
                model=Model(),
                tools_config=ToolsConfig(tools=[DeleteFile()]),
                handlers=[with_invokable_tool_wrapper(gate)],
                checkpoints=runs,
            )
        )
        if what == "ask":
            run = agent.run([Message("user", "Tidy up.")], checkpoint=RUN)
        else:
            kept = await runs.read(RUN)
            answers = {str(each.address): what == "yes" for each in kept.pending}
            run = agent.resume(RUN, answers)
        async with run:
            async for event in run:
                print(line(event))  # noqa: T201  # it is a script


def line(event: AgentEvent) -> str:
    """Return what a person is told of an event."""
    if event.interrupts:
        return f"asks: {event.interrupts[0].payload}"
    if event.message is None:
        return f"failed: {event.error}"
    return f"{event.message.role}: {event.message.content or '(calls)'}"


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

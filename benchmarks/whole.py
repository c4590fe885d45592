"""A whole run, or build, of our engine in a setting: what a user's program does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.byhand import HELLO
from benchmarks.measure import Work
from benchmarks.parts import ANSWERS, ASKS, INSTRUCTION, SharedParts
from benchmarks.specs import STREAMED_HOOK, Setting
from compat.adapters import adapt
from refengine import (
    Agent,
    AgentMiddleware,
    ChatModelAgentConfig,
    Message,
    ToolsConfig,
    build_agent,
)

NAME: Final = "agent"


async def run(
    setting: Setting,
    kit: SharedParts,
    handlers: Sequence[object],
    structs: Sequence[AgentMiddleware],
) -> Work:
    """Build the agent and return one run of it, which ends with its answer."""
    agent = await build_agent(config_of(setting, kit, handlers, structs))
    return runs(agent, (HELLO,) * setting.history, stream=setting.stream)


def build(
    setting: Setting,
    kit: SharedParts,
    handlers: Sequence[object],
    structs: Sequence[AgentMiddleware],
) -> Work:
    """Return one build of the agent."""
    config = config_of(setting, kit, handlers, structs)

    async def work() -> Agent:
        return await build_agent(config)

    return work


def runs(
    agent: Agent,
    messages: Sequence[Message],
    *,
    stream: bool = False,
    checkpoint: str | None = None,
) -> Work:
    """Return one run of an agent, for a caller that needs no events.

    ``checkpoint`` is the key of one that is kept, and the same each time.
    """

    async def work() -> Message | None:
        async with agent.run(messages, stream, checkpoint=checkpoint) as run:
            return (await run.result()).answer

    return work


def config_of(
    setting: Setting,
    kit: SharedParts,
    handlers: Sequence[object],
    structs: Sequence[AgentMiddleware],
) -> ChatModelAgentConfig:
    """Return the configuration: structs stand as they are, or adapted to handlers."""
    make = kit.streamed_tool if setting.hook == STREAMED_HOOK else kit.tool
    model = kit.streamed_model if setting.stream else kit.model
    adapted = adapt(structs) if setting.form == "adapted" else []
    return ChatModelAgentConfig(
        NAME,
        "what is measured",
        model(ASKS, ANSWERS),
        INSTRUCTION,
        ToolsConfig([make(name) for name in setting.tool_names]),
        middlewares=structs if setting.form == "native" else (),
        handlers=[*adapted, *handlers],
    )

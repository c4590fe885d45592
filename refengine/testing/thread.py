"""A thread: runs that share a history, each starting where the last one ended."""

from __future__ import annotations

from collections.abc import Sequence

from refengine.agent import Agent
from refengine.messages import Message
from refengine.run import RunResult


class Thread:
    """Plays turns of one agent.

    A turn starts from the last result's messages, without the system message that the
    engine itself put first: it is told by object, so one of the same text that a hook
    or the caller put there stays.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.messages: tuple[Message, ...] = ()

    async def turn(
        self, messages: Sequence[Message], *, stream: bool = False
    ) -> RunResult:
        """Run the agent on the history so far and the new messages; raises as a run."""
        given = (*self.messages, *messages)
        async with self._agent.run(given, stream=stream) as run:
            result = await run.result()
        self.messages = result.messages.without(result.first)
        return result

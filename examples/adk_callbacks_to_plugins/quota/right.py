"""Counts the runs of a user, and refuses those that are too many: a plugin."""

from __future__ import annotations

from typing import Final

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.plugins import BasePlugin

from refengine.testing import World

QUOTA: Final = 2
RUNS: Final = "user:runs"
"""The key of a count that all sessions of a user share."""


class QuotaExceededError(Exception):
    """A user has no run left."""


def subject(world: World) -> object:
    """Return the agents of one session, and the plugins of their runner."""
    adk = world.as_adk()
    clerk = LlmAgent(name="clerk", model=adk.model, description="Knows the files.")
    desk = LlmAgent(
        name="desk",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
        sub_agents=[clerk],
    )
    return desk, [Quota(desk.name)]


class Quota(BasePlugin):
    """Refuses runs of an agent that are too many for their user."""

    def __init__(self, agent: str) -> None:
        super().__init__("quota")
        self._agent = agent

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        """Count a run; raises QuotaExceededError if it is one too many."""
        if agent.name != self._agent:
            return
        runs = callback_context.state.get(RUNS, 0)
        if runs >= QUOTA:
            raise QuotaExceededError(f"{runs} runs were all there are")
        callback_context.state[RUNS] = runs + 1

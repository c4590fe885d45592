"""Adds up what the model wrote, and tells it when the session ends."""

from collections.abc import Sequence

from compat.dialects.callbacks import AgentCallbacks, CallbackAgent, SessionManager
from refengine import Message
from refengine.testing.world import World


class _CostMeter:
    def __init__(self, world: World) -> None:
        self.world, self.spent, self.steps = world, 0, 0

    def step(self, _: int, __: Sequence[Message]) -> None:
        self.steps += 1

    def delta(self, text: str) -> None:
        self.spent += len(text)

    def end(self, _: str, __: str) -> None:
        self.world.effect("cost", {"characters": self.spent, "steps": self.steps})


def subject(world: World) -> object:
    """Return what is played in a world."""
    meter = _CostMeter(world)
    agent = CallbackAgent(world.model, world.tools)
    callbacks = AgentCallbacks(
        on_agent_step=meter.step,
        on_llm_text_delta=meter.delta,
        on_session_end=meter.end,
    )
    manager = SessionManager(agent, profile="callbacks-v1")
    manager.set_callbacks(callbacks)
    return manager

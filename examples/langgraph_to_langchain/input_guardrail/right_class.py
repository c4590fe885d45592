"""Refuses what must not be asked, before any model is: a class with two hooks.

One hook finds what is asked and leaves a note, the other acts on it before the first
model call; a later call of the model finds no note.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, NotRequired

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime

from refengine.testing import World

BANNED: Final = re.compile(r"password|api[ _]key", re.IGNORECASE)
REFUSAL: Final = "I cannot help with secrets."


class Noted(AgentState[Any]):
    """What the agent keeps, and whether it has to refuse."""

    refuse: NotRequired[Annotated[bool, PrivateStateAttr]]


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[Guard(world)],
    )


class Guard(AgentMiddleware[Noted]):
    """Looks at the message that a run begins with."""

    state_schema = Noted

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def before_agent(self, state: Noted, runtime: Runtime[None]) -> dict[str, Any]:  # noqa: ARG002  # as AgentMiddleware
        """Note whether to refuse."""
        last = state["messages"][-1] if state["messages"] else None
        found = isinstance(last, HumanMessage) and BANNED.search(last.text)
        self._world.effect("checked", {"messages": len(state["messages"])})
        return {"refuse": bool(found)}

    @hook_config(can_jump_to=["end"])
    def before_model(
        self,
        state: Noted,
        runtime: Runtime[None],  # noqa: ARG002  # as AgentMiddleware
    ) -> dict[str, Any] | None:
        """Refuse, if that was noted."""
        if not state.get("refuse"):
            return None
        return {"messages": [AIMessage(REFUSAL)], "jump_to": "end"}

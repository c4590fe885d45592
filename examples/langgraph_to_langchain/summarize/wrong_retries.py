"""Wrong: the built-in asks for a summary three times if the model fails.

The prompt is the same, and so is all that a model that answers is asked.
"""

from __future__ import annotations

from typing import Final

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware

from refengine.testing import World

LIMIT: Final = 7
"""A history of more messages is summarised."""
KEEP: Final = 3
"""So many messages at its end stay as they are."""
PROMPT: Final = "Summarise the conversation:\n{messages}"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    summarization = SummarizationMiddleware(
        lc.model,
        trigger=("messages", LIMIT + 1),
        keep=("messages", KEEP),
        trim_tokens_to_summarize=None,
        summary_prompt=PROMPT,
    )
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[summarization],
    )

"""Wrong: what to keep is said, and not when to begin: nothing is ever summarised.

Short histories are the same, and long ones are answered, until they do not fit.
"""

from __future__ import annotations

from typing import Final

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AnyMessage, get_buffer_string

from refengine.testing import World

KEEP: Final = 3
"""So many messages at its end stay as they are."""
PROMPT: Final = "Summarise the conversation:\n{messages}"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    def summarize(older: list[AnyMessage]) -> str:
        told = get_buffer_string(older, format="xml")
        return lc.model.invoke(PROMPT.format(messages=told)).text

    summarization = SummarizationMiddleware(
        lc.model,
        keep=("messages", KEEP),
        trim_tokens_to_summarize=None,
        summarizer=summarize,
    )
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[summarization],
    )

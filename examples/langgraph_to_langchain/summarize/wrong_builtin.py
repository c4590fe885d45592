"""Puts a summary in the place of a long history's older part: the built-in.

It asks the model through a function of our own. Given the model itself, it asks up to
three times; and it begins at its number, where the old hook began behind it.
Since langchain 1.5 it hides from streams what is written in its name, so a consumer
who saw the summary come no longer does.
"""

from __future__ import annotations

from typing import Final

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AnyMessage, get_buffer_string

from refengine.testing import World

LIMIT: Final = 7
"""A history of more messages is summarised."""
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
        trigger=("messages", LIMIT + 1),
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

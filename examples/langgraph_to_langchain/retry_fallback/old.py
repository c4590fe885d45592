"""Tries a model again, and then another one: runnables with retries and fallbacks."""
# What is ported is deprecated, and its types are partial.

from __future__ import annotations

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState
from langgraph.runtime import Runtime

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    tools = {each.name: each for each in [*lc.tools, list_files]}

    def retrying(model: BaseChatModel) -> Runnable[LanguageModelInput, AIMessage]:
        return model.bind_tools(list(tools.values())).with_retry(
            retry_if_exception_type=(TimeoutError, ConnectionError),
            stop_after_attempt=3,
            wait_exponential_jitter=False,
        )

    def pick_model(
        _: AgentState, __: Runtime
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return retrying(lc.model).with_fallbacks([retrying(lc.model_named("backup"))])

    return create_react_agent(pick_model, list(tools.values()), prompt=lc.system_prompt)


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"

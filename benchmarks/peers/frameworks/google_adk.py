"""google-adk: the callbacks of an agent, and plugins of its runner.

A run makes a session in memory and sends one message through a ``Runner``, which is the
least that anybody does who starts afresh: it goes through no server and no storage.
Callbacks before and after the model or the tool do not wrap it; ours that is named
beside them does, and so does more. Each callback and plugin does nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from itertools import cycle
from typing import Any, Final, TypeAlias

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai.types import (
    Content,
    FunctionCall,
    GenerateContentResponseUsageMetadata,
    Part,
)

from benchmarks.measure import Work
from benchmarks.peers.peer import (
    AFTER_MODEL,
    ANSWER,
    BEFORE_MODEL,
    CALL_ID,
    QUESTION,
    TOOL,
    TOOL_TEXT,
    WRAP_TOOL,
    Build,
    PeerCounts,
    Variant,
    counted,
    echo,
    watched,
)

Callback: TypeAlias = Callable[..., Awaitable[None]]

APP: Final = "measured"
USER: Final = "user"


class ScriptedLlm(BaseLlm):
    """Gives premade responses in turn, over and over."""

    following: Callable[[], LlmResponse]
    seen: PeerCounts | None = None

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT002  # as the framework declares it
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the next response, whatever it is asked."""
        del llm_request, stream
        if self.seen is not None:
            self.seen.model += 1
        yield self.following()


def scripted_model(seen: PeerCounts | None) -> ScriptedLlm:
    """Return a model that asks for the tool, answers, and begins again.

    It tells its usage as a vendor's does: where it has none, the framework logs that.
    """
    call = FunctionCall(id=CALL_ID, name=TOOL, args={"text": TOOL_TEXT})
    parts = (Part(function_call=call), Part(text=ANSWER))
    responses = [response_of(each) for each in parts]
    following = cycle(responses).__next__
    return ScriptedLlm(model="scripted", following=following, seen=seen)


def response_of(part: Part) -> LlmResponse:
    """Return what the model says, as one part."""
    usage = GenerateContentResponseUsageMetadata(
        prompt_token_count=1, candidates_token_count=1, total_token_count=2
    )
    content = Content(role="model", parts=[part])
    return LlmResponse(content=content, usage_metadata=usage)


class Plugin(BasePlugin):
    """A plugin with a name of its own."""

    def __init__(self, at: int) -> None:
        super().__init__(f"{type(self).__name__}-{at}")


class BeforeModelPlugin(Plugin):
    """Changes nothing before the model."""

    async def before_model_callback(
        self,
        *,
        callback_context: Any,  # noqa: ANN401  # unused
        llm_request: LlmRequest,
    ) -> None:
        """Let the model be called."""


class BeforeToolPlugin(Plugin):
    """Changes nothing before the tool."""

    async def before_tool_callback(
        self,
        *,
        tool: Any,  # noqa: ANN401  # unused
        tool_args: dict[str, Any],
        tool_context: Any,  # noqa: ANN401  # unused
    ) -> None:
        """Let the tool be called."""


def abstaining() -> Callback:
    """Return a callback of its own that changes nothing, whatever it is told."""

    async def callback(*_: object, **__: object) -> None:
        return None

    return callback


def of_agent(position: str) -> Build:
    """Return what builds a run of an agent with callbacks at that place."""

    def build(n: int, seen: PeerCounts | None) -> Work:
        callbacks = [counted(abstaining(), seen, "hooks") for _ in range(n)]
        return run_of(agent_of(seen, {position: callbacks}))

    return build


def of_plugins(kind: type[Plugin], hook: str) -> Build:
    """Return what builds a run of a runner with plugins of that kind."""

    def build(n: int, seen: PeerCounts | None) -> Work:
        plugins = [watched(kind(at), hook, seen) for at in range(n)]
        return run_of(agent_of(seen, {}), plugins)

    return build


def agent_of(seen: PeerCounts | None, callbacks: dict[str, Any]) -> LlmAgent:
    """Build the agent."""
    parts: dict[str, Any] = {**callbacks, "tools": [counted(echo, seen, "tool")]}
    return LlmAgent(name="agent", model=scripted_model(seen), **parts)


def run_of(agent: LlmAgent, plugins: Sequence[BasePlugin] = ()) -> Work:
    """Return a run of the agent, in a session of its own."""
    sessions = InMemorySessionService()
    runner = Runner(
        app_name=APP, agent=agent, session_service=sessions, plugins=list(plugins)
    )
    question = Content(role="user", parts=[Part(text=QUESTION)])

    async def work() -> str:
        session = await sessions.create_session(app_name=APP, user_id=USER)
        answer = ""
        async for event in runner.run_async(
            user_id=USER, session_id=session.id, new_message=question
        ):
            if event.is_final_response():
                answer = text_of(event.content)
        return answer

    return work


def text_of(content: Content | None) -> str:
    """Return the text of a response."""
    parts = [] if content is None else content.parts or []
    return "".join(part.text or "" for part in parts)


VARIANTS: Final = (
    Variant("before_model_callback", BEFORE_MODEL, of_agent("before_model_callback")),
    Variant("after_model_callback", AFTER_MODEL, of_agent("after_model_callback")),
    Variant("before_tool_callback", WRAP_TOOL, of_agent("before_tool_callback")),
    Variant(
        "plugin before_model_callback",
        BEFORE_MODEL,
        of_plugins(BeforeModelPlugin, "before_model_callback"),
    ),
    Variant(
        "plugin before_tool_callback",
        WRAP_TOOL,
        of_plugins(BeforeToolPlugin, "before_tool_callback"),
    ),
)

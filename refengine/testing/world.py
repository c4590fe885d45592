"""The world: what surrounds the extensions of a scenario, and observes all of it.

A world is played once, by a ``Session``. Model, tools and extensions put down what
happens to them, so neither an engine nor a door can report anything.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any, Final

from refengine.agent import ChatModelAgentConfig
from refengine.chain import SCOPE
from refengine.context import Context
from refengine.messages import Json
from refengine.model_calls import ModelRetry
from refengine.struct_middleware import AgentMiddleware, ChatModelAgentState
from refengine.testing.clock import Clock, Ids
from refengine.testing.extensions import (
    WorldHandler,
    handler_of,
    middleware_of,
    tool_middleware_of,
)
from refengine.testing.kept_runs import keeper_for
from refengine.testing.machine import install_line
from refengine.testing.notation import decoded
from refengine.testing.ops import Ask, ToolSpec
from refengine.testing.perform import Extension, perform_any
from refengine.testing.recorder import KEPT, RECORDED, Recorder
from refengine.testing.scenario import AgentSpec, RetrySpec, Scenario
from refengine.testing.scripted import (
    Body,
    LaterModel,
    RecordingTool,
    ScriptedModel,
    answer_text,
)
from refengine.testing.trace import strict_json
from refengine.tools import Tool, ToolMiddleware, ToolsConfig

if TYPE_CHECKING:
    from refengine.resume.checkpoint import Keeper
    from refengine.testing.adk import AdkFace
    from refengine.testing.graphs import LangChainWorld
    from refengine.testing.hand_over import SessionHalf
    from refengine.testing.pydantic_ai import PydanticAIFace

RESERVED: Final = frozenset((RECORDED, KEPT))
"""Names of effects that are the harness's own."""
CALLING: Final[ContextVar[str | None]] = ContextVar("calling", default=None)
"""The tool call that is being made, where it is another framework that makes it."""


class EffectError(TypeError):
    """``world.effect`` was given what cannot stand in a trace."""

    def __init__(self, name: object, data: object, cause: Exception) -> None:
        self.name = name
        self.data = data
        why = str(cause) or type(cause).__name__
        if isinstance(cause, RecursionError):
            why = "it holds itself, or is too deep"
        super().__init__(
            f"world.effect({name!r}, ...): {why}; give it a name and JSON values"
        )


def _json_of(name: object, data: object) -> Json:
    """Return an effect's data as JSON values; raises what is wrong with them."""
    if not isinstance(name, str) or not name or name in RESERVED:
        raise TypeError("that is not a name for an effect of a subject")
    seen = strict_json(data)
    _AS_JSON(seen)
    return seen


async def _alone(number: int, _: Context) -> str:
    raise LookupError(f"no session is played that has an agent {number}")


_AS_JSON: Final = json.JSONEncoder(allow_nan=False).encode
"""Raises ValueError where a number is none; made once, for it is used all the time."""


class WorldExtraError(ImportError):
    """Something was asked for that another installation of refengine has."""

    def __init__(self, what: str, extra: str, cause: ImportError) -> None:
        self.extra = extra
        super().__init__(
            f"{what} needs the extra {extra!r} ({cause});"
            f" install it: {install_line(extra)}"
        )


@contextmanager
def _of_extra(what: str, extra: str) -> Generator[None, None, None]:
    """Import what needs an extra; raises WorldExtraError, or our own ImportError."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "refengine":
            raise
        raise WorldExtraError(what, extra, error) from error


class World:
    """The real objects of one agent of a scenario.

    A subject is given it for ``effect``, ``now``, ``new_id``, ``random``, ``tools``,
    ``instruction``, ``model`` and ``config``: whatever is not the same in every run
    must come from here, or two runs of one subject differ.
    """

    def __init__(
        self,
        spec: AgentSpec,
        scenario: Scenario,
        recorder: Recorder,
        *,
        model_seconds: float = 0,
        keeper: Keeper | None = None,
    ) -> None:
        """Make them; runs are kept in ``keeper``, by default in one of its own."""
        self.recorder = recorder
        self.checkpoints: Keeper | None = keeper or keeper_for(scenario, recorder)
        self.factory_calls: int = 0
        policies = [each.retry for each in scenario.all_agents if each.retry]
        self.model: ScriptedModel = ScriptedModel(
            scenario.model_script,
            at_end=scenario.script_end,
            recorder=recorder,
            seconds=model_seconds,
            timed=any(each.wait_ms for each in policies),
        )
        self._spec = spec
        self.output_key: str | None = spec.output_key
        self.run: int = 0
        self.wire: str | None = None
        self.half: SessionHalf | None = None
        """Which half of a session is played that is handed over; None if all of it."""
        self.asks: Callable[[int, Context], Awaitable[str]] = _alone
        """Runs another agent of the session, for a tool, and returns its answer."""
        self.tells_nodes = False
        """Whether a graph's run says through which nodes it went."""
        self.clock: Clock = Clock()
        self.new_id: Ids = Ids("id")
        self.instruction: str = decoded(spec.instruction)
        self.tools: tuple[Tool, ...] = tuple(map(self.tool, spec.tools))
        self.middlewares: tuple[AgentMiddleware, ...] = tuple(self._middlewares())
        self.handlers: tuple[WorldHandler, ...] = tuple(self._handlers())
        self.tool_call_middlewares: tuple[ToolMiddleware, ...] = tuple(
            tool_middleware_of(wrap, at, self)
            for at, wrap in enumerate(spec.tool_call_middlewares)
        )
        self.misused: EffectError | None = None
        self._state: ChatModelAgentState | None = None
        self._states = 0
        self._executed: Counter[str] = Counter()
        self._asked = 0
        self._langchain: LangChainWorld | None = None
        self._adk: AdkFace | None = None
        self._pydantic_ai: PydanticAIFace | None = None

    @cached_property
    def random(self) -> Random:
        """Numbers that are the same in every run, and no secret."""
        return Random(0)  # noqa: S311  # as it says

    def as_langchain(self) -> LangChainWorld:
        """Return model and tools for a graph of LangChain or LangGraph.

        It is the same object each time. Raises WorldExtraError without the extra.
        """
        if self._langchain is None:
            with _of_extra("world.as_langchain()", "langchain"):
                from refengine.testing.graphs import bridge  # noqa: PLC0415  # an extra
            self._langchain = bridge.LangChainBridge.of(self)
        return self._langchain

    def as_adk(self) -> AdkFace:
        """Return model, tools and services for agents of Google's ADK.

        It is the same object each time. Raises WorldExtraError without the extra.
        """
        if self._adk is None:
            with _of_extra("world.as_adk()", "adk"):
                from refengine.testing.adk import bridge  # noqa: PLC0415  # an extra
            self._adk = bridge.AdkBridge(self)
        return self._adk

    def as_pydantic_ai(self) -> PydanticAIFace:
        """Return model, tools and instructions for an agent of pydantic-ai.

        It is the same object each time. Raises WorldExtraError without the extra.
        """
        if self._pydantic_ai is None:
            with _of_extra("world.as_pydantic_ai()", "pydantic-ai"):
                from refengine.testing.pydantic_ai import bridge  # noqa: PLC0415  # an extra
            self._pydantic_ai = bridge.PydanticAIBridge(self)
        return self._pydantic_ai

    def config(self, **changes: Any) -> ChatModelAgentConfig:  # noqa: ANN401  # its fields
        """Return the configuration of the agent, with these fields changed.

        ``middlewares`` and ``handlers`` join the world's own: after its struct
        middlewares, and before its handlers.
        """
        for own, before, after in (("middlewares", 1, 0), ("handlers", 0, 1)):
            if own in changes:
                given = tuple(changes[own])
                mine = getattr(self, own)
                changes[own] = (*mine * before, *given, *mine * after)
        return replace(self._config(), **changes) if changes else self._config()

    def _config(self) -> ChatModelAgentConfig:
        spec = self._spec
        answer = spec.unknown_tools_handler
        tools = ToolsConfig(
            tools=list(self.tools),
            return_directly=dict(spec.return_directly),
            tool_call_middlewares=self.tool_call_middlewares,
            unknown_tools_handler=(None if answer is None else self._unknown),
            sequential=spec.sequential,
        )
        return ChatModelAgentConfig(
            name=spec.name,
            description="",
            model=self.model,
            instruction=self.instruction,
            tools_config=tools,
            middlewares=self.middlewares,
            handlers=self.handlers,
            max_iterations=spec.max_iterations,
            checkpoints=self.checkpoints,
            retry=None if spec.retry is None else self._retry(spec.retry),
        )

    def _retry(self, spec: RetrySpec) -> ModelRetry:
        def backoff(attempt: int) -> float:
            if spec.backoff is not None:
                self.recorder.note({"at": "backoff", "attempt": attempt})
            return attempt * spec.wait_ms / 1000

        def is_named(error: Exception) -> bool:
            return spec.retry_on in (None, str(error))

        later = tuple(LaterModel(self.model, name) for name in spec.fall_back)
        return ModelRetry(spec.max_retries, is_named, backoff, later)

    def _unknown(self, name: str, arguments: str) -> str:
        """Answer a call of a tool that is not there."""
        self._asked += 1
        return self._spec.answer_for(name, arguments, self._asked)

    def goes_on_from(self, other: World) -> None:
        """Go on where another world of this agent stands, as in another process.

        Model, clock and ids are not the agent's and stay; its extensions and tools are
        new, and so is what they count.
        """
        self.model = other.model
        self.run = other.run
        self.clock = other.clock
        self.new_id = other.new_id
        self.factory_calls = other.factory_calls
        self.misused = other.misused

    @property
    def standing(self) -> dict[str, Json]:
        """Where it stands, for a world in another process that goes on from there."""
        return {
            "calls": self.model.calls,
            "executed": dict[str, Json](self._executed),
            "ids": self.new_id.last,
        }

    def stand(self, there: Mapping[str, Any]) -> None:
        """Go on where a world in another process stood."""
        self.model.calls = there["calls"]
        self._executed = Counter(there["executed"])
        self.new_id.last = there["ids"]

    def name_handlers_apart(self) -> None:
        """Give handlers that have one name different ones."""
        different = {id(each): each for each in self.handlers}.values()
        taken: set[str] = set()
        for each in different:
            while each.name in taken:
                each.name += "'"
            taken.add(each.name)

    def owns(self, extension: object) -> bool:
        """Tell whether an extension is the world's own, by identity."""
        own = (*self.middlewares, *self.handlers, *self.tool_call_middlewares)
        return any(extension is each for each in own)

    @property
    def tool_specs(self) -> Sequence[ToolSpec]:
        """What the agent's own tools are made from."""
        return self._spec.tools

    def returns_directly(self, name: str) -> bool:
        """Tell whether the agent's configuration has that tool end a run."""
        return self._spec.return_directly.get(name, False)

    def count(self, tool: str) -> int:
        """Count one more execution of a tool that another framework runs."""
        self._executed[tool] += 1
        return self._executed[tool]

    def tool(self, spec: ToolSpec) -> Tool:
        """Return a recording tool that does what the spec says."""
        return RecordingTool(spec, recorder=self.recorder, body=self._body(spec))

    def of_run(self, spec: ToolSpec) -> ToolSpec:
        """Return the spec with the number of the run where ``<run>`` stands."""
        changed = {
            "name": self.numbered(spec.name),
            "result": self.numbered(spec.result),
            "chunks": spec.chunks and tuple(map(self.numbered, spec.chunks)),
        }
        return spec.model_copy(update=changed)

    def effect(self, name: str, data: object = None) -> None:
        """Put down what a subject did outside of the agent (contract §0).

        ``data`` are JSON values, as they are now. Raises EffectError, which also ends
        the session: a hook that catches it must not hide that nothing was put down.
        """
        try:
            seen = _json_of(name, data)
        except (TypeError, ValueError, RecursionError) as error:
            self.misused = EffectError(name, data, error)
            raise self.misused from error
        scope = SCOPE.get(None)
        call_id = CALLING.get() if scope is None else scope.call_id
        self.recorder.add("effect", {"name": name, "data": seen}, call_id)

    def now(self) -> float:
        """Return the seconds since the session began, on its virtual clock."""
        return self.clock.now()

    def numbered(self, text: str) -> str:
        """Put the number of the run where ``<run>`` stands."""
        return text.replace("<run>", str(max(self.run, 1)))

    def state_number(self, state: ChatModelAgentState) -> int:
        """Return which state object of struct middlewares this is, from 1.

        Objects follow one another, so remembering the last one is enough to tell.
        """
        if state is not self._state:
            self._state = state
            self._states += 1
        return self._states

    def _body(self, spec: ToolSpec) -> Body | None:
        number = spec.agent
        if number is not None:
            return lambda ctx: self.asks(number, ctx)
        if not spec.body:
            return None
        me = Extension(self, spec.name)

        async def body(ctx: Context) -> str | None:
            answer: str | None = None
            for op in me.due("tool_body", spec.body):
                if isinstance(op, Ask):
                    answer = answer_text(me.ask("tool_body", ctx, op))
                else:
                    ctx = perform_any(me, "tool_body", ctx, op)
            if me.waits:
                await me.rest()
            return answer

        return body

    def _middlewares(self) -> Sequence[AgentMiddleware]:
        return [
            middleware_of(spec, at, self)
            for at, spec in enumerate(self._spec.middlewares)
        ]

    def _handlers(self) -> Sequence[WorldHandler]:
        made: list[WorldHandler] = []
        for at, spec in enumerate(self._spec.handlers):
            again = spec.same_as
            made.append(handler_of(spec, at, self) if again is None else made[again])
        return made

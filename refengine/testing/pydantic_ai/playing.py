"""Playing an agent that a subject built with pydantic-ai, as a caller of it would.

A turn is ``agent.run`` on the messages so far, with a handler of events if it streams.
What waits for a person is answered as the scenario's runs say, and the run goes on.
"""

from __future__ import annotations

import functools
import inspect
from collections import ChainMap
from collections.abc import (
    AsyncIterable,
    Awaitable,
    Callable,
    Collection,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, cast

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability, Hooks, WrapperCapability
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ToolCallPart,
)
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.result import AgentStream
from pydantic_ai.tools import (
    DeferredToolRequests,
    DeferredToolResults,
    ToolDefinition,
    ToolDenied,
)
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool
from pydantic_ai.usage import UsageLimits

from refengine.messages import Json, Message, MessageChunk, join_chunks
from refengine.testing.channels import UNKEPT
from refengine.testing.flows.session import RESUMED, EndlessConfirmationError
from refengine.testing.flows.watching import CountedHooks, OwnExecution
from refengine.testing.person import APPROVAL, RepliesInTurn
from refengine.testing.pydantic_ai.bridge import ScriptedAgentModel, ScriptedAgentTool
from refengine.testing.pydantic_ai.messages import (
    marks,
    our_chunk,
    our_result,
    ours,
    theirs,
    unnamed,
)
from refengine.testing.recorder import snapshot
from refengine.testing.scenario import RunSpec, Scenario
from refengine.testing.stack_play import StackPlay
from refengine.testing.subjects import WAYS, Played, SubjectError, Way
from refengine.testing.tool_runs import calling, given_by_name, written
from refengine.testing.world import World

REQUESTS: Final = 50
"""Requests of a run at most, where a caller says nothing: the framework's default."""
DENIED: Final = "denied"
FAILED: Final[Mapping[str, Json]] = MappingProxyType(
    {"status": "error", "answer": None, "messages": [], "values": {}, UNKEPT: True}
)
"""How a run ends out of which an exception comes: its caller is given nothing else."""
INSTEAD: Final = "return an Agent of pydantic_ai, built from world.as_pydantic_ai()"


def play_pydantic_ai(
    scenario: Scenario, world: World, got: object, ways: Sequence[Way] = WAYS
) -> Played:
    """Play the agent that the subject built; raises SubjectError and EffectError.

    Both ways are ``agent.run``, since ``run_sync`` is that in a loop of its own: a way
    says only what callers of a graph on the other side had.
    """
    agent = cast("Any", got)
    if not _is_agent(got):
        raise SubjectError(got, "that is no agent of pydantic-ai", INSTEAD)
    model = _wrapped(agent.model)
    if not isinstance(model, ScriptedAgentModel) or model.world is not world:
        why = "its model is not world.as_pydantic_ai().model, so nobody sees it"
        raise SubjectError(got, why, INSTEAD)
    way: Way = scenario.way if scenario.way in ways else ways[0]
    return StackPlay(scenario, world, AgentRuns(world, agent), way).played(got)


def _wrapped(model: object) -> object:
    """Return the model behind those that wrap it, as an observer's do."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return model


def _is_agent(got: object) -> bool:
    return isinstance(got, Agent)


class AgentRuns:
    """An agent, played run by run."""

    def __init__(self, world: World, agent: Agent[Any, Any]) -> None:
        self._world, self._agent = world, agent
        self._person = RepliesInTurn()
        self._hooks = CountedHooks(_call_of)
        agent.root_capability.apply(self._watch)
        self._observed = frozenset(_observed(agent, world))
        self._history: Sequence[ModelMessage] = ()
        self._left: dict[str, object] = {}
        self._heard = 0

    @property
    def hooks(self) -> Mapping[str, int]:
        """How often each hook of a capability ran."""
        return dict(self._hooks.counts)

    async def run(self, spec: RunSpec, said: Sequence[Message]) -> None:
        """Play one run; what comes out of the agent comes out here."""
        self._person.begins(frozenset(spec.denies), spec.replies)
        self._left = {**FAILED}
        self._heard = self._world.model.calls
        before = self._history if spec.continues else ()
        how: dict[str, Any] = {
            "deps": dict(ChainMap({}, spec.options, *spec.doors.values())) or None,
            "usage_limits": UsageLimits(request_limit=spec.steps or REQUESTS),
            "capabilities": [_Observing(self._world, self._observed)],
            "event_stream_handler": self._consumed if spec.streaming else None,
        }
        history = [*before, *theirs(said[:-1])]
        result = await self._asked(said[-1].content, message_history=history, **how)
        await self._answered(result, how)

    async def _asked(self, *said: str, **how: Any) -> Any:  # noqa: ANN401  # of the framework
        """Return what a part of a run came to."""
        with _in_turn():
            try:
                return await self._agent.run(*said, **how)
            except UsageLimitExceeded:
                self._left["status"] = "max_iterations"
                raise

    async def _answered(self, result: Any, how: Mapping[str, Any]) -> None:  # noqa: ANN401  # of the framework
        """Let a person answer what a run waits for, until it waits no more."""
        for _ in range(RESUMED):
            self._history = result.all_messages()
            if not isinstance(result.output, DeferredToolRequests):
                self._left = {
                    "status": "completed",
                    "answer": Message("assistant", _text(result.output)),
                    "messages": unnamed(ours(self._history)),
                    "marks": marks(self._history),
                    "values": {},
                }
                return
            result = await self._asked(
                message_history=self._history,
                deferred_tool_results=self._decided(result.output),
                **how,
            )
        raise EndlessConfirmationError

    async def left(self) -> Mapping[str, object]:
        """Return how the last run ended, and the messages that it left."""
        return self._left

    def _decided(self, asked: DeferredToolRequests) -> DeferredToolResults:
        results = DeferredToolResults()
        for call in asked.approvals:
            results.approvals[call.tool_call_id] = self._approved(call) or ToolDenied(
                DENIED
            )
        for call in asked.calls:
            results.calls[call.tool_call_id] = snapshot(self._person.next_reply().value)
        return results

    def _approved(self, call: ToolCallPart) -> bool:
        """Ask the person about a call; that it was asked is put down."""
        kind = self._person.next_reply().kind
        denied = call.tool_call_id in self._person.denied or kind in {"no", "nothing"}
        question: dict[str, Json] = {
            "name": call.tool_name,
            "args": snapshot(call.args_as_dict()),
            "approved": not denied,
        }
        with calling(call.tool_call_id):
            self._world.effect(APPROVAL, question)
        return not denied

    async def _consumed(
        self, _: RunContext[Any], events: AsyncIterable[AgentStreamEvent]
    ) -> None:
        """Put down what a consumer of a stream receives, an answer in one event."""
        pieces: list[MessageChunk] = []
        cut: dict[str, Json] = {}
        try:
            async for event in events:
                chunk = our_chunk(event)
                if chunk is not None:
                    pieces.append(chunk)
                if isinstance(event, FunctionToolResultEvent):
                    self._told(our_result(event.part))
        except Exception:
            cut = {"stream_error": "cut off"}
            raise
        finally:
            if isinstance(cast("object", events), AgentStream) and (pieces or not cut):
                self._streamed(self._speaker(), pieces, cut)

    def _speaker(self) -> str:
        """Return who answered: a hook where the model was not asked again."""
        asked, self._heard = (
            self._world.model.calls > self._heard,
            self._world.model.calls,
        )
        return "model" if asked else "hook"

    def _told(self, result: Message) -> None:
        piece = MessageChunk(result.content)
        self._streamed("tool", [piece], {}, result.tool_call_id)

    def _streamed(
        self,
        kind: str,
        pieces: Sequence[MessageChunk],
        cut: Mapping[str, Json],
        call_id: str | None = None,
    ) -> None:
        """Put down what came in these pieces; ``cut`` says that more was to come."""
        whole = join_chunks(pieces) if pieces else Message("assistant", "")
        calls: list[Json] = [[c.id, c.name, c.arguments] for c in whole.tool_calls]
        data: dict[str, Json] = {
            "kind": kind,
            "agent": "",
            "whole": {"text": whole.content, "tool_calls": calls},
            "stream": [each.content for each in pieces if each.content],
            **cut,
        }
        self._world.recorder.add("event", data, call_id)

    def _watch(self, capability: AbstractCapability[Any]) -> None:
        """Count the hooks of a capability that its author wrote.

        One that makes another for each run has that one watched, too. It may be a copy,
        with what was put on this one: that would go on with this one's own state.
        """
        for stage in _stages_of(capability):
            name = f"{type(capability).__name__}.{stage}"
            hook = _as_written(capability, stage)
            self._put(capability, stage, self._hooks.watched(hook, name, stage))
        if type(capability).for_run is not AbstractCapability.for_run:
            for_run = _as_written(capability, "for_run")
            self._put(capability, "for_run", self._watching(for_run))
        if isinstance(capability, WrapperCapability):  # some stand in for the inner one
            inner: AbstractCapability[Any] = capability.wrapped
            inner.apply(self._watch)

    def _put(
        self,
        capability: AbstractCapability[Any],
        name: str,
        watched: Callable[..., Any],
    ) -> None:
        vars(watched)[WATCHED] = True
        object.__setattr__(capability, name, watched)

    def _watching(self, for_run: Callable[..., Any]) -> Callable[..., Any]:
        """Return what makes a capability for a run, and has it watched."""

        @functools.wraps(for_run)
        async def watching(ctx: RunContext[Any]) -> AbstractCapability[Any]:
            made: AbstractCapability[Any] = await for_run(ctx)
            made.apply(self._watch)
            return made

        return watching


WATCHED: Final = "refengine_watched"
"""The mark of a method that was put into the place of a capability's own."""


def _as_written(capability: AbstractCapability[Any], name: str) -> Callable[..., Any]:
    """Return a method of a capability, without what was put into its place."""
    given: object = vars(capability).get(name)
    if hasattr(given, WATCHED):
        object.__delattr__(capability, name)
    found: Callable[..., Any] = getattr(capability, name)
    return found


@contextmanager
def _in_turn() -> Generator[None, None, None]:
    """Have plain functions run in threads of the loop, which has them in one order.

    Those of anyio, which are used otherwise, come as they please.
    """
    with ThreadPoolExecutor(1) as one, Agent.using_thread_executor(one):
        yield


class _Observing(AbstractCapability[Any]):
    """Says which call is run, and puts down what tools do that come with a run.

    Inside all that a capability brings; what others do is put down where they run.
    """

    def __init__(self, world: World, observed: Collection[str]) -> None:
        self._world, self._observed = world, observed

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:  # noqa: ANN401  # whatever a tool gives
        """Run it, as the call that it is."""
        del ctx
        with calling(call.tool_call_id):
            if call.tool_name in self._observed:
                return await handler(args)
            given = given_by_name(_without_defaults(args, call, tool_def))
            with OwnExecution(self._world, call.tool_name, given) as done:
                return done(await handler(args))


def _observed(agent: Agent[Any, Any], world: World) -> Iterator[str]:
    """Yield the names of an agent's tools that are put down where they run.

    Inside of what a subject wraps its toolsets in: such a wrapper answers for a tool
    that failed just as a hook of a capability does.
    """
    leaves: list[AbstractToolset[Any]] = []
    for toolset in agent.toolsets:
        toolset.apply(leaves.append)
    for leaf in leaves:
        if isinstance(leaf, FunctionToolset):
            _observe(leaf, world)
            yield from leaf.tools


def _observe(leaf: FunctionToolset[Any], world: World) -> None:
    """Put down what the tools of a toolset do, but for those of the world.

    It may be one of the subject's module, which another world has seen before.
    """
    inner = inspect.unwrap(leaf.call_tool)

    @functools.wraps(inner)
    async def call_tool(
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        made: ToolsetTool[Any],
    ) -> Any:  # noqa: ANN401  # as the toolset's own
        if isinstance(leaf.tools.get(name), ScriptedAgentTool):
            return await inner(name, tool_args, ctx, made)
        given = _without_defaults(tool_args, _asked(ctx), made.tool_def)
        with OwnExecution(world, name, given_by_name(given)) as done:
            return done(await inner(name, tool_args, ctx, made))

    object.__setattr__(leaf, "call_tool", call_tool)


def _asked(ctx: RunContext[Any]) -> ToolCallPart | None:
    """Return the call that is run, as the model made it."""
    parts = (part for each in reversed(ctx.messages) for part in each.parts)
    calls = (part for part in parts if isinstance(part, ToolCallPart))
    return next((c for c in calls if c.tool_call_id == ctx.tool_call_id), None)


def _without_defaults(
    args: Mapping[str, Any], call: ToolCallPart | None, told: ToolDefinition
) -> dict[str, Any]:
    """Return arguments without those that the framework put in for lack of any.

    Others run a tool with what the model gave, and leave defaults to its function.
    """
    given = set[str]() if call is None else call.args_as_dict().keys()
    fields: Mapping[str, Any] = told.parameters_json_schema.get("properties", {})
    return {
        name: value
        for name, value in args.items()
        if name in given
        or "default" not in fields.get(name, {})
        or value != fields[name]["default"]
    }


STAGES: Final = tuple(
    name
    for name in vars(AbstractCapability)
    if name.startswith(("after_", "before_", "handle_", "on_", "prepare_", "wrap_"))
)
"""The hooks that a capability may have."""


def _stages_of(capability: AbstractCapability[Any]) -> Sequence[str]:
    """Return the hooks that a subject gave a capability, none of the package's."""
    if isinstance(capability, Hooks):
        return [*cast("Any", capability)._registry]  # noqa: SLF001  # no public place tells
    kind = type(capability)
    if kind.__module__.startswith("pydantic_ai."):
        return ()
    return [
        each
        for each in STAGES
        if getattr(kind, each) is not getattr(AbstractCapability, each)
    ]


def _call_of(given: Sequence[object]) -> str | None:
    calls = (each.tool_call_id for each in given if isinstance(each, ToolCallPart))
    return next(calls, None)


def _text(output: object) -> str:
    """Return an answer as text; one of another type as JSON."""
    return output if isinstance(output, str) else written(output)

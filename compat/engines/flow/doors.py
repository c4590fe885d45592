"""The door to a Flow engine: what it can be asked for, and what comes back.

A door opens a world once. What it opened keeps sessions and artifacts as long as the
world is played, and makes runners over them, several if a turn asks for a fresh one.
What a scenario needs and the engine does not declare is refused.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol, cast

from compat.dialects.flow.content import Content
from compat.dialects.flow.events import Event
from compat.dialects.flow.profile import FlowProfile
from compat.engines.capabilities import refuse_lacking
from compat.engines.dialect_loading import DialectEngine, load_dialect_engine
from compat.engines.flow.operations import AnyFlowOp
from compat.engines.flow.scenario import FlowAgentSpec, FlowScenario
from compat.engines.flow.world import FlowWorld
from refengine.messages import Json

FLOW_CAPABILITIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "callbacks": "an agent has callbacks",
        "plugins": "a runner has plugins",
        "sub_agents": "an agent has agents below it, to which it may hand over",
        "workflow_agents": "agents run in a sequence, in a loop or in parallel",
        "agent_tools": "an agent is called as a tool",
        "confirmation": "a tool waits until its user says yes or no",
        "long_running": "a tool's result comes later",
        "structured": "an answer, or what an agent is asked, has a schema",
        "artifacts": "files are kept in versions",
        "streaming": "a run streams",
        "processors": "an agent has request processors of its user's own",
        "edited_response": "a hook changes a response in place",
        "failing_after_run": "an after_run hook fails",
    }
)
"""Every capability of a Flow engine, and what needs it."""


_OF_OPERATION: Final[Mapping[str, str]] = MappingProxyType(
    {
        "edit_response": "edited_response",
        "ask_confirmation": "confirmation",
        "save_artifact": "artifacts",
        "read_artifact": "artifacts",
    }
)
"""What an operation needs, wherever it is done."""


@dataclass(frozen=True, slots=True)
class KeptSession:
    """What a session service has of a session: events, state of all scopes, files.

    ``artifacts`` has the text of each version of a file.
    """

    events: tuple[Event, ...] = ()
    state: Mapping[str, Json] = field(default_factory=dict[str, Json])
    artifacts: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )


class FlowRunner(Protocol):
    """A runner of an engine over the agents and plugins of a world."""

    def run(
        self, user_id: str, session_id: str, content: Content, *, stream: bool
    ) -> AsyncGenerator[Event, None]:
        """Yield the events that a message leads to; an error ends the run."""
        ...

    async def close(self) -> None:
        """Have the plugins close."""
        ...


class OpenedWorld(Protocol):
    """A world on an engine: its services, and runners over them."""

    async def create(
        self,
        user_id: str,
        session_id: str,
        state: Mapping[str, Json],
        artifacts: Mapping[str, str],
    ) -> None:
        """Make a session with that state and one version of each file."""
        ...

    def runner(self) -> FlowRunner:
        """Build agents, plugins and a runner; raises what building them raises."""
        ...

    async def kept(self, user_id: str, session_id: str) -> KeptSession:
        """Load a session afresh from where it is kept."""
        ...


class FlowEngine(DialectEngine, Protocol):
    """An engine of the Flow dialect, as the harness drives it."""

    @property
    def profile(self) -> FlowProfile:
        """The profile that says what it does where versions differ."""
        ...

    def open(self, world: FlowWorld) -> OpenedWorld:
        """Make the services of a world, and what makes its runners."""
        ...


def load_flow_engine(name: str, profile: str | None = None) -> FlowEngine:
    """Return the Flow engine that a text names, under a profile if one is asked for.

    Raises LoadError, or UnknownProfileError for a profile that does not exist.
    """
    why = "a Flow engine opens worlds, open(world)"
    known = FLOW_CAPABILITIES
    engine = load_dialect_engine(name, profile, method="open", why=why, known=known)
    return cast("FlowEngine", engine)


def refuse_flow(engine: FlowEngine, scenario: FlowScenario) -> None:
    """Raise CapabilityError for the first thing of a scenario that an engine lacks."""
    refuse_lacking(engine, flow_needs(scenario), FLOW_CAPABILITIES)


def flow_needs(scenario: FlowScenario) -> Iterator[tuple[str, str]]:
    """Yield each capability that a scenario needs, and what needs it."""
    for each in scenario.agents():
        yield from _needs_of_agent(each)
    for plugin in scenario.plugins:
        yield "plugins", f"plugin {plugin.name!r}"
    for at, turn in enumerate(scenario.turns):
        if turn.stream:
            yield "streaming", f"turn {at}"
    for owner, op in _operations(scenario):
        if op.op == "raise" and owner.startswith("after_run of plugin"):
            yield "failing_after_run", owner
        elif op.op in _OF_OPERATION:
            yield _OF_OPERATION[op.op], owner
    if any(each.artifacts for each in scenario.sessions.values()):
        yield "artifacts", "a session"


def _needs_of_agent(agent: FlowAgentSpec) -> Iterator[tuple[str, str]]:
    owner = f"agent {agent.name!r}"
    of_agent: tuple[tuple[str, object], ...] = (
        ("callbacks", agent.callbacks),
        ("sub_agents", agent.kind == "llm" and agent.sub_agents),
        ("workflow_agents", agent.kind != "llm"),
        ("processors", agent.processors),
        ("structured", agent.input_schema or agent.output_schema),
    )
    yield from ((capability, owner) for capability, needed in of_agent if needed)
    for tool in agent.tools:
        of_tool: tuple[tuple[str, object], ...] = (
            ("agent_tools", tool.agent),
            ("confirmation", tool.needs_confirmation),
            ("long_running", tool.long_running),
        )
        owner = f"tool {tool.called!r}"
        yield from ((capability, owner) for capability, needed in of_tool if needed)


def _operations(scenario: FlowScenario) -> Iterator[tuple[str, AnyFlowOp]]:
    """Yield all operations, and whose they are."""
    for plugin in scenario.plugins:
        for hook, todo in plugin.hooks.items():
            yield from ((f"{hook} of plugin {plugin.name!r}", op) for op in todo)
    for agent in scenario.agents():
        for hook, callbacks in agent.callbacks.items():
            owner = f"{hook} of agent {agent.name!r}"
            yield from ((owner, op) for todo in callbacks for op in todo)
        for at, each in enumerate(agent.processors):
            yield from (
                (f"processor {at} of agent {agent.name!r}", op) for op in each.do
            )
        for tool in agent.tools:
            yield from ((f"tool {tool.called!r}", op) for op in tool.do)

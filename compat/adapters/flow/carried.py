"""Which parts of a Flow agent and its plugins an agent of the engine has a place for.

Model and tool hooks of one agent, without state: FLOW-COMPAT. What else there is is
refused by name: what stands in the agent when it is ported, what a hook reaches for
when it does. A refusal is kept as well, since the tool stage makes data of exceptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, NoReturn, cast, final

from compat.adapters.errors import NotCarriedError
from compat.adapters.flow.plugins import LLM_HOOKS
from compat.dialects.flow import Actions, Content, LlmAgent, Plugin, Tool
from compat.dialects.flow.contexts import Invocation, InvocationContext
from compat.dialects.flow.events import Events
from compat.dialects.flow.plugins import Plugins
from compat.dialects.flow.profile import FlowProfile
from compat.dialects.flow.sessions import InMemorySessionService, Session
from compat.dialects.flow.tree import AgentTree

HANDLERS: Final = "the engine's handlers"
_AGENT: Final = frozenset(
    (
        *LLM_HOOKS,
        "name",
        "description",
        "model",
        "tools",
        "config",
        "instruction",
        "global_instruction",
        "disallow_transfer_to_parent",
        "disallow_transfer_to_peers",
        "input_schema",
    )
)
"""The fields of an agent that are carried, or say nothing about a single one."""
_TOOL: Final = frozenset(("name", "description", "parameters", "run"))
_LEAVE: Final = "leave it on the Flow runner, or port it by hand"


def refuse_parts(agent: LlmAgent, plugins: Sequence[Plugin]) -> None:
    """Raise NotCarriedError for the first part that has no place on the engine."""
    bare = LlmAgent(name=agent.name)
    _refuse_set(f"agent {agent.name}", agent, bare, _AGENT)
    if agent.model is None:
        raise _refused(f"agent {agent.name}", "an agent without a model")
    names: set[str] = set()
    for each in agent.tools:
        tool = cast("Tool", each)
        _refuse_set(f"tool {tool.name}", tool, Tool(name=tool.name), _TOOL)
        if tool.run is None or tool.name in names:
            what = "no function" if tool.run is None else "the name of another tool"
            raise _refused(f"tool {tool.name}", what)
        names.add(tool.name)
    for plugin in plugins:
        _refuse_set(
            f"plugin {plugin.name}",
            plugin,
            Plugin(name=plugin.name),
            {*LLM_HOOKS, "name"},
        )


def _refuse_set(
    owner: str, given: object, bare: object, carried: frozenset[str] | set[str]
) -> None:
    for each in fields(cast("Any", given)):
        name = each.name
        if name not in carried and getattr(given, name) != getattr(bare, name, None):
            raise _refused(owner, name)


def _refused(owner: str, part: str) -> NotCarriedError:
    return NotCarriedError(owner, part, HANDLERS, _LEAVE)


@final
@dataclass(frozen=True, slots=True)
class Refusals:
    """What hooks of one run reached for in vain."""

    owner: str
    found: list[NotCarriedError]

    def refuse(self, part: str) -> NoReturn:
        """Raise NotCarriedError for a part, and keep it."""
        error = _refused(self.owner, part)
        self.found.append(error)
        raise error

    def check(self, actions: Actions) -> None:
        """Raise what was refused, or NotCarriedError for an action that was set."""
        for error in self.found:
            raise error
        unset = Actions()
        for each in fields(Actions):
            if getattr(actions, each.name) != getattr(unset, each.name):
                self.refuse(f"actions.{each.name}")


@final
class _NoValues(Mapping[str, Any]):
    """A state, or a list of events, that can be neither read nor written."""

    def __init__(self, refusals: Refusals, part: str) -> None:
        self._refusals, self._part = refusals, part

    def __getitem__(self, key: object) -> NoReturn:
        self._refusals.refuse(self._part)

    def __setitem__(self, key: str, value: object) -> None:
        self._refusals.refuse(self._part)

    def __iter__(self) -> NoReturn:
        self._refusals.refuse(self._part)

    def __len__(self) -> int:  # noqa: PLE0303  # it returns nothing at all
        self._refusals.refuse(self._part)

    def update(self, values: object) -> None:
        """Refuse them."""
        del values
        self._refusals.refuse(self._part)


@final
@dataclass(frozen=True, slots=True)
class _NoArtifacts:
    """Artifacts that cannot be kept."""

    refusals: Refusals

    def __getattr__(self, name: str) -> NoReturn:
        self.refusals.refuse("artifacts")


@final
@dataclass(frozen=True, slots=True)
class _NoOtherAgent:
    """Runs no agent."""

    refusals: Refusals

    def __call__(self, ctx: InvocationContext) -> Events:
        self.refusals.refuse(f"running agent {ctx.agent.name}")


@dataclass(frozen=True, slots=True)
class CarriedRun:
    """One run of the engine as the hooks of a flow see it."""

    ctx: InvocationContext
    refusals: Refusals


def carried_run(
    agent: LlmAgent,
    plugins: Sequence[Plugin],
    profile: FlowProfile,
    said: Content | None,
    ids: Iterator[str],
) -> CarriedRun:
    """Return the context of a run, in which all that is not carried is refused."""
    refusals = Refusals(f"a hook of agent {agent.name}", [])
    session = Session(
        app="app",
        user_id="user",
        id="session",
        state=cast("Any", _NoValues(refusals, "state")),
        events=cast("Any", _NoValues(refusals, "session.events")),
    )
    invocation = Invocation(
        id=f"e-{next(ids)}",
        session=session,
        session_service=InMemorySessionService(),
        artifact_service=cast("Any", _NoArtifacts(refusals)),
        plugins=Plugins(plugins, wraps=profile.plugin_errors == "wrapped"),
        tree=AgentTree(agent),
        profile=profile,
        run_agent=_NoOtherAgent(refusals),
        new_id=ids.__next__,
        clock=lambda: 0.0,
        user_content=said,
    )
    whole = InvocationContext(invocation=invocation, agent=agent, first=True)
    return CarriedRun(whole, refusals)

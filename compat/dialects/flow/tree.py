"""What agents of every kind have, and the tree that a runner makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, final

from compat.dialects.flow.run_errors import AgentFieldError, AgentPlaceError

AnyCallback: TypeAlias = Callable[..., object]


@dataclass(frozen=True, kw_only=True, eq=False)
class Agent:
    """What agents of every kind have.

    ``before_agent`` and ``after_agent`` are callbacks in order; a single one may be
    given as it is. A name is one of its tree's only, and never ``user``.
    """

    __refengine_player__: ClassVar = "compat.dialects.playing.flows:play"

    name: str
    description: str = ""
    sub_agents: Sequence[Agent] = ()
    before_agent: Sequence[AnyCallback] | AnyCallback = ()
    after_agent: Sequence[AnyCallback] | AnyCallback = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name in {"", "user"}:
            wanted = "a text that is not empty and not 'user'"
            raise AgentFieldError(str(self.name), "name", self.name, wanted)
        for hook in self._lists():
            object.__setattr__(self, hook, self._callables(hook))
        object.__setattr__(self, "sub_agents", tuple(self.sub_agents))
        for each in self.sub_agents:
            if not isinstance(each, Agent):
                raise AgentFieldError(self.name, "sub_agents", each, "agents")

    def _lists(self) -> tuple[str, ...]:
        return ("before_agent", "after_agent")

    def _callables(self, hook: str) -> tuple[Any, ...]:
        given = getattr(self, hook)
        listed = (given,) if callable(given) else tuple(given)
        for index, each in enumerate(listed):
            if not callable(each):
                place = f"{hook}[{index}]"
                raise AgentFieldError(self.name, place, each, "a function")
        return listed


@final
class AgentTree:
    """A root agent and all below it, each at one place and with a name of its own.

    Raises AgentPlaceError, which names the parents of an agent that stands twice.
    """

    __slots__ = ("_by_name", "_parents", "root")

    def __init__(self, root: Agent) -> None:
        self.root = root
        self._by_name: dict[str, Agent] = {}
        self._parents: dict[str, Agent | None] = {}
        for agent, parent in _walk(root, None):
            if agent.name in self._by_name:
                self._refuse(agent, parent)
            self._by_name[agent.name] = agent
            self._parents[agent.name] = parent

    def _refuse(self, agent: Agent, parent: Agent | None) -> None:
        found = self._parents[agent.name], parent
        names = tuple("the root" if each is None else each.name for each in found)
        raise AgentPlaceError(agent.name, names)

    def find(self, name: str) -> Agent | None:
        """Return the agent of that name, None if the tree has none."""
        return self._by_name.get(name)

    def parent(self, agent: Agent) -> Agent | None:
        """Return the agent above it; None for the root, and for one of no tree."""
        return self._parents.get(agent.name)

    def path(self, agent: Agent) -> Iterator[Agent]:
        """Yield the agent and those above it, up to the root."""
        step: Agent | None = agent
        while step is not None:
            yield step
            step = self.parent(step)


def _walk(agent: Agent, parent: Agent | None) -> Iterator[tuple[Agent, Agent | None]]:
    yield agent, parent
    for each in agent.sub_agents:
        yield from _walk(each, agent)

"""Whom an agent may hand its turn to: its children, its parent and its peers.

Only agents with a model transfer, and only to a parent that is one, since a sequence,
a loop or a parallel agent has decided already who goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from compat.dialects.flow.errors import AgentNotFoundError, TransferArgumentError

if TYPE_CHECKING:
    from compat.dialects.flow.profile import FlowProfile
    from refengine.messages import Json

ARGUMENT: Final = "agent_name"


class AgentInTree(Protocol):
    """An agent as far as its place in a tree goes."""

    @property
    def name(self) -> str:
        """What it is called; a name stands once in a tree."""
        ...

    @property
    def sub_agents(self) -> Sequence[AgentInTree]:
        """Its children, in the order of their declaration."""
        ...


@runtime_checkable
class ModelAgentInTree(AgentInTree, Protocol):
    """An agent with a model, which may transfer and be told not to."""

    @property
    def disallow_transfer_to_parent(self) -> bool:
        """Whether it must not hand back."""
        ...

    @property
    def disallow_transfer_to_peers(self) -> bool:
        """Whether it must not hand over to another child of its parent."""
        ...


def transfers(agent: AgentInTree) -> bool:
    """Tell whether an agent's flow is one that can transfer at all."""
    return isinstance(agent, ModelAgentInTree) and bool(
        agent.sub_agents
        or not agent.disallow_transfer_to_parent
        or not agent.disallow_transfer_to_peers
    )


def transfer_targets(
    agent: AgentInTree, parent: AgentInTree | None
) -> tuple[AgentInTree, ...]:
    """Return whom an agent may transfer to: children, then the parent, then peers.

    Each group is in the order of declaration. Nobody, if it cannot transfer at all.
    """
    if not isinstance(agent, ModelAgentInTree) or not transfers(agent):
        return ()
    return (*agent.sub_agents, *_upwards(agent, parent))


def _upwards(
    agent: ModelAgentInTree, parent: AgentInTree | None
) -> Iterator[AgentInTree]:
    if not isinstance(parent, ModelAgentInTree):
        return
    if not agent.disallow_transfer_to_parent:
        yield parent
    if not agent.disallow_transfer_to_peers and transfers(parent):
        yield from (each for each in parent.sub_agents if each.name != agent.name)


def wanted_name(args: Mapping[str, Json] | None) -> str:
    """Return the name that a call of ``transfer_to_agent`` has.

    Raises TransferArgumentError where there is none, or no text.
    """
    name = None if args is None else args.get(ARGUMENT)
    if not isinstance(name, str) or not name:
        raise TransferArgumentError(name)
    return name


def found_target(
    name: str,
    agent: AgentInTree,
    parent: AgentInTree | None,
    root: AgentInTree,
    profile: FlowProfile,
) -> AgentInTree:
    """Return the agent of that name, as far as a transfer of ``agent`` reaches.

    Raises AgentNotFoundError for a name that it does not reach, its own one too where
    the profile refuses a transfer to oneself.
    """
    targets = transfer_targets(agent, parent)
    if name == agent.name and profile.transfer_to_self == "allowed":
        return agent
    reached = _tree(root) if profile.transfer_reach == "whole_tree" else targets
    for each in reached:
        if each.name == name and name != agent.name:
            return each
    raise AgentNotFoundError(name, [each.name for each in targets])


def _tree(agent: AgentInTree) -> Iterator[AgentInTree]:
    yield agent
    for each in agent.sub_agents:
        yield from _tree(each)

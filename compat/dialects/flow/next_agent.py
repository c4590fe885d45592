"""Which agent the user's next message goes to (adk.md §1.8)."""

from __future__ import annotations

from collections.abc import Sequence

from compat.dialects.flow.agents import LlmAgent
from compat.dialects.flow.content import Content
from compat.dialects.flow.events import Event
from compat.dialects.flow.foreign import USER
from compat.dialects.flow.profile import FlowProfile
from compat.dialects.flow.transfer import transfer_targets
from compat.dialects.flow.tree import Agent, AgentTree


def next_agent(
    tree: AgentTree, events: Sequence[Event], content: Content, profile: FlowProfile
) -> tuple[Agent, str]:
    """Return who goes on: who made the call that the message answers, with its branch.

    Else, on no branch, who spoke last, perhaps whom that one handed over to, or the
    root.

    An agent goes on only if transfers could have led back from it: all agents from it
    to the root ask models and may hand over to their parent.
    """
    asked = _asking_event(events, {each.id for each in content.responses})
    caller = None if asked is None else tree.find(asked.author)
    if asked is not None and caller is not None:
        return caller, asked.branch
    targets = profile.next_agent == "transfer_target"
    for event in reversed(events):
        speaker = None if event.author == USER else tree.find(event.author)
        if speaker is None or (targets and _is_failure(event)):
            continue
        for found in (_handed_to(tree, speaker, event) if targets else None, speaker):
            if found is not None and _leads_back(tree, found):
                return found, ""
    return tree.root, ""


def _is_failure(event: Event) -> bool:
    """Tell whether an event says nothing but that something failed."""
    return bool(event.error_code) and not (event.content and event.content.parts)


def _handed_to(tree: AgentTree, speaker: Agent, event: Event) -> Agent | None:
    name = event.actions.transfer_to_agent
    reached = {each.name for each in transfer_targets(speaker, tree.parent(speaker))}
    return tree.find(name) if name in reached else None


def _asking_event(events: Sequence[Event], ids: set[str]) -> Event | None:
    made = (
        event
        for event in reversed(events)
        if any(each.id in ids for each in event.calls)
    )
    return next(made, None) if ids else None


def _leads_back(tree: AgentTree, agent: Agent) -> bool:
    return all(
        isinstance(each, LlmAgent) and not each.disallow_transfer_to_parent
        for each in tree.path(agent)
    )

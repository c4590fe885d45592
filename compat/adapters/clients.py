"""Clients of the callbacks dialect's first version as clients of its second."""

from __future__ import annotations

from compat.dialects.callbacks.client import Client, V1Client
from compat.dialects.callbacks.table import AgentCallbacks


def v1_callbacks(client: V1Client) -> AgentCallbacks:
    """Return what the first version's slot is set to for a client, by hand there."""
    return AgentCallbacks(
        on_agent_step=client.handle_agent_step,
        on_tool_call_start=client.handle_tool_call,
    )


def client_v2_of(client: V1Client) -> Client:
    """Return a client of the second version that is delivered the same.

    Under the same posture ``failures`` the two methods are called with the same data in
    the same order (CB-COMPAT).
    """
    return Client(v1_callbacks(client))

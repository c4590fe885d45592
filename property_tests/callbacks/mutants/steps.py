"""The steps of sessions with callbacks that mutants replace, by name, and no others.

Each is a public function or method with a sentence that says what it does. A function
that other modules import by name is replaced where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from compat.dialects.callbacks import agent, manager
from compat.dialects.callbacks.agent import CallbackAgent
from compat.dialects.callbacks.client import Client
from compat.dialects.callbacks.delivering import Delivery
from compat.dialects.callbacks.manager import SessionManager
from compat.dialects.callbacks.profile import callbacks_profile
from compat.dialects.callbacks.reporting import Reporting
from compat.dialects.callbacks.stores import SqliteSessionStore
from compat.engines.callbacks import playing
from compat.engines.callbacks.playing import play_callbacks
from compat.engines.callbacks.reference import CallbacksV2
from property_tests.dialects.broken import BrokenReferences
from property_tests.mutants.steps import EngineStep

CALLBACKS_STEPS: Final[Mapping[str, EngineStep]] = MappingProxyType(
    {
        "agent.emit": EngineStep(CallbackAgent, "emit"),
        "agent.state_of": EngineStep(agent, "state_of"),
        "agent.notify": EngineStep(agent, "notify"),
        "agent.ended": EngineStep(agent, "ended"),
        "reporting.step": EngineStep(Reporting, "before_model_rewrite_history"),
        "reporting.tool": EngineStep(Reporting, "wrap_invokable_tool_call"),
        "manager.delivered": EngineStep(manager, "delivered"),
        "manager.set_client": EngineStep(SessionManager, "set_client"),
        "manager.remove_client": EngineStep(SessionManager, "remove_client"),
        "manager.load": EngineStep(SessionManager, "load_session"),
        "manager.save": EngineStep(SessionManager, "save_session"),
        "client.connect": EngineStep(Client, "set_session_manager"),
        "delivery.where": EngineStep(Delivery, "where"),
        "stores.sqlite_load": EngineStep(SqliteSessionStore, "load"),
        "versions.adapted": EngineStep(playing, "client_v2_of"),
    }
)
"""All of them, from a fact of the agent to what is kept."""

BROKEN: Final = BrokenReferences(
    prefix="callbacks",
    under="callbacks-v2",
    profile_named=callbacks_profile,
    reference=CallbacksV2,
    play_on=play_callbacks,
    steps=CALLBACKS_STEPS,
)
broken = BROKEN.broken
step = BROKEN.step

"""The public names of the dialect, as ``compat.dialects.callbacks`` gives them."""

from compat.dialects.callbacks.agent import CallbackAgent, SessionResult
from compat.dialects.callbacks.client import (
    Client,
    SessionClient,
    SimpleClient,
    V1Client,
)
from compat.dialects.callbacks.delivering import CallbackMiddleware, Delivery
from compat.dialects.callbacks.facts import SessionFact
from compat.dialects.callbacks.manager import SessionManager
from compat.dialects.callbacks.profile import CallbacksProfile, callbacks_profile
from compat.dialects.callbacks.state import SessionState
from compat.dialects.callbacks.stores import (
    MemorySessionStore,
    SessionStore,
    SqliteSessionStore,
    StoredSession,
)
from compat.dialects.callbacks.table import (
    CALLBACK_TYPES,
    AgentCallbacks,
    CallbackTable,
    CallbackType,
)

__all__ = [
    "CALLBACK_TYPES",
    "AgentCallbacks",
    "CallbackAgent",
    "CallbackMiddleware",
    "CallbackTable",
    "CallbackType",
    "CallbacksProfile",
    "Client",
    "Delivery",
    "MemorySessionStore",
    "SessionClient",
    "SessionFact",
    "SessionManager",
    "SessionResult",
    "SessionState",
    "SessionStore",
    "SimpleClient",
    "SqliteSessionStore",
    "StoredSession",
    "V1Client",
    "callbacks_profile",
]

"""One interface in another's place, one file a dialect (contract §1)."""

from compat.adapters.back import middlewares_of, tool_middleware_of
from compat.adapters.errors import (
    AdapterError,
    ChangedContextError,
    FlippedOrderError,
    NoCallbackError,
    NoCapabilityError,
    NoStructError,
    NotCarriedError,
    NotReachedError,
    WiderScopeError,
)
from compat.adapters.structs import AdaptedMiddleware, adapt, handler_of

__all__ = [
    "AdaptedMiddleware",
    "AdapterError",
    "ChangedContextError",
    "FlippedOrderError",
    "NoCallbackError",
    "NoCapabilityError",
    "NoStructError",
    "NotCarriedError",
    "NotReachedError",
    "WiderScopeError",
    "adapt",
    "handler_of",
    "middlewares_of",
    "tool_middleware_of",
]

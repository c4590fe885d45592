"""Loading sessions with callbacks by the text that names them, or why not."""

from __future__ import annotations

from typing import cast

from compat.engines.callbacks.capabilities import CALLBACKS_CAPABILITIES
from compat.engines.callbacks.doors import CallbacksEngine
from compat.engines.dialect_loading import load_dialect_engine


def load_callbacks_engine(name: str, profile: str | None = None) -> CallbacksEngine:
    """Return the engine that a text names, under a profile if one is asked for.

    Raises LoadError, or UnknownProfileError for a profile that there is not.
    """
    why = "an engine of sessions opens worlds, open(world)"
    known = CALLBACKS_CAPABILITIES
    engine = load_dialect_engine(name, profile, method="open", why=why, known=known)
    return cast("CallbacksEngine", engine)

"""Loading a Flow engine by the text that names it: what can be played, or why not.

A Flow engine is what ``FlowEngine`` asks for.
"""

from __future__ import annotations

from typing import cast

from compat.engines.dialect_loading import load_dialect_engine
from compat.engines.flow.capabilities import FLOW_CAPABILITIES
from compat.engines.flow.doors import FlowEngine


def load_flow_engine(name: str, profile: str | None = None) -> FlowEngine:
    """Return the Flow engine that a text names, under a profile if one is asked for.

    Raises LoadError, or UnknownProfileError for a profile that does not exist.
    """
    why = "a Flow engine opens worlds, open(world)"
    known = FLOW_CAPABILITIES
    engine = load_dialect_engine(name, profile, method="open", why=why, known=known)
    return cast("FlowEngine", engine)

"""Loading a Flow engine by the text that names it: what can be played, or why not.

A Flow engine is what ``FlowEngine`` asks for. What a text names is a class or a
function; it is called without arguments, or with ``profile=`` if one was asked for.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any, Final, cast

from compat.engines.capabilities import MissingExtraError
from compat.engines.flow.capabilities import FLOW_CAPABILITIES
from compat.engines.flow.doors import FlowEngine
from compat.engines.importing import GROUP, apart, find
from compat.engines.load_errors import (
    BrokenFactoryError,
    NotAnEngineError,
    NotInstalledError,
    UnknownCapabilityError,
)

PACKAGE: Final = "compat.engines.flow."
"""Where the doors of ours to Flow engines stand."""


def installed_flow_engines() -> tuple[str, ...]:
    """Return the names of our installed doors to Flow engines, sorted."""
    found = entry_points(group=GROUP)
    return tuple(sorted({x.name for x in found if x.value.startswith(PACKAGE)}))


def load_flow_engine(name: str, profile: str | None = None) -> FlowEngine:
    """Return the Flow engine that a text names, under a profile if one is asked for.

    Raises LoadError, or UnknownProfileError for a profile that there is not.
    """
    found = find(name)
    given: dict[str, Any] = {} if profile is None else {"profile": profile}
    try:
        with apart(found.folder):
            engine: Any = found.factory(**given)
    except MissingExtraError as error:
        raise NotInstalledError(str(error)) from error
    except TypeError as error:
        raise BrokenFactoryError(found.text, found.error_line(error)) from error
    if not callable(getattr(engine, "open", None)):
        why = "it has no method open: a Flow engine opens worlds, open(world)"
        raise NotAnEngineError(found.text, engine, why)
    for each in engine.capabilities:
        if each not in FLOW_CAPABILITIES:
            raise UnknownCapabilityError(found.text, each, [*FLOW_CAPABILITIES])
    return cast("FlowEngine", engine)

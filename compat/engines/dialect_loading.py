"""Loading a door to a dialect by the text that names it, or why it cannot be loaded.

What a text names is a class or a function; it is called without arguments, or with
``profile=`` if one was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from compat.engines.capabilities import MissingExtraError
from compat.engines.importing import COMMAND, apart, find
from compat.engines.load_errors import (
    BrokenFactoryError,
    NotAnEngineError,
    NotInstalledError,
    UnknownCapabilityError,
)
from refengine.errors import UnknownProfileError


class DialectEngine(Protocol):
    """What engines of all dialects say of themselves; each adds how it is driven.

    ``capabilities`` are those of the dialect's ``capabilities.py`` that it has.
    """

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def capabilities(self) -> frozenset[str]:
        """What it has a place for."""
        ...

    @property
    def version(self) -> str:
        """Its version, "" if it has none."""
        ...


def load_dialect_engine(
    name: str, profile: str | None, *, method: str, why: str, known: Iterable[str]
) -> Any:  # noqa: ANN401  # the dialect knows its type
    """Return the door that a text names, under a profile if one is asked for.

    It has that method, which ``why`` is about, and declares what is ``known`` alone.
    Raises LoadError, or UnknownProfileError for a profile that does not exist.
    """
    found = find(name)
    option = "dialect_profile" if name.startswith(COMMAND) else "profile"
    given: dict[str, Any] = {} if profile is None else {option: profile}
    try:
        with apart(found.folder):
            engine: Any = found.factory(**given)
    except UnknownProfileError:  # what was asked for, and not what the factory is
        raise
    except MissingExtraError as error:
        raise NotInstalledError(str(error)) from error
    except (Exception, SystemExit) as error:
        raise BrokenFactoryError(found.text, found.error_line(error)) from error
    if not callable(getattr(engine, method, None)):
        raise NotAnEngineError(found.text, engine, f"it has no method {method}: {why}")
    capabilities = [*known]
    for each in engine.capabilities:
        if each not in capabilities:
            raise UnknownCapabilityError(found.text, each, capabilities)
    return engine

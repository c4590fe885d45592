"""The door to what a driver plays, by the dialect that it says it speaks."""

from __future__ import annotations

from typing import Any, Final

from compat.drivers.flow.engine import RemoteFlowEngine
from compat.drivers.kept import KeptDriver
from compat.drivers.loops import RemoteStreamLoop
from compat.drivers.remote import RemoteEngine
from compat.drivers.sessions import RemoteCallbacks
from refengine.errors import RefengineError

REACT: Final = "react"
SPOKEN: Final = (REACT, "stream-loop", "flow", "callbacks")
"""The dialects that drivers may speak."""


class DriverDialectError(RefengineError):
    """A driver speaks a dialect that there is no door to."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        super().__init__(
            f"the driver says that its dialect is {dialect!r}: there are only"
            f" {', '.join(SPOKEN)}"
        )


def opened(name: str, driver: KeptDriver, profile: str | None = None) -> Any:  # noqa: ANN401  # each dialect has a door of its own
    """Return the door to a driver, under a profile of its dialect if one is asked for.

    Raises DriverDialectError, or UnknownProfileError for a dialect's profile.
    """
    match driver.about.get("dialect", REACT):
        case "react":
            return RemoteEngine(name, driver)
        case "stream-loop":
            return RemoteStreamLoop(name, driver, profile)
        case "flow":
            return RemoteFlowEngine(name, driver, profile)
        case "callbacks":
            return RemoteCallbacks(name, driver, profile)
        case other:
            raise DriverDialectError(other)

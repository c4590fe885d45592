"""The engines behind drivers that come with this package, by entry point."""

from __future__ import annotations

from compat.drivers.building import GoDriver
from compat.drivers.remote import RemoteEngine


def eino_0_9_13() -> RemoteEngine:
    """Return eino v0.9.13, built if it never was; raises MissingExtraError."""
    return _in_go(GoDriver("eino", "0.9.13", "v09"))


def _in_go(driver: GoDriver) -> RemoteEngine:
    return RemoteEngine(driver.name, lambda: [str(driver.built())])

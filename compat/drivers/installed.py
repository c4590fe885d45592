"""The engines behind drivers that come with this package, by entry point."""

from __future__ import annotations

from compat.drivers.building import GoDriver
from compat.drivers.remote import RemoteEngine


def eino_0_7_17() -> RemoteEngine:
    """Return eino v0.7.17, built if it never was; raises MissingExtraError."""
    return _in_go(GoDriver("eino", "0.7.17", "v07"))


def eino_0_7_37() -> RemoteEngine:
    """Return eino v0.7.37, built if it never was; raises MissingExtraError."""
    return _in_go(GoDriver("eino", "0.7.37", "v07"))


def eino_0_8_13() -> RemoteEngine:
    """Return eino v0.8.13, built if it never was; raises MissingExtraError."""
    return _in_go(GoDriver("eino", "0.8.13", "v08"))


def eino_0_9_13() -> RemoteEngine:
    """Return eino v0.9.13, built if it never was; raises MissingExtraError."""
    return _in_go(GoDriver("eino", "0.9.13", "v09"))


def _in_go(driver: GoDriver) -> RemoteEngine:
    return RemoteEngine(driver.name, lambda: [str(driver.built())])

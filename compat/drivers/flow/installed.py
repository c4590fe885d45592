"""The Flow engines behind drivers that come with this package, by entry point."""

from __future__ import annotations

from compat.drivers.building import GoDriver
from compat.drivers.flow.engine import RemoteFlowEngine
from compat.drivers.kept import KeptDriver


def adk_go_0_4_0(profile: str | None = None) -> RemoteFlowEngine:
    """Return adk-go v0.4.0, built if it never was; raises MissingExtraError."""
    return _in_go(GoDriver("adk", "0.4.0", "v04", engine="adk-go"), profile)


def adk_go_0_5_0(profile: str | None = None) -> RemoteFlowEngine:
    """Return adk-go v0.5.0, built if it never was; raises MissingExtraError."""
    return _in_go(GoDriver("adk", "0.5.0", "v05", engine="adk-go"), profile)


def _in_go(driver: GoDriver, profile: str | None) -> RemoteFlowEngine:
    kept = KeptDriver(lambda: [str(driver.built())])
    return RemoteFlowEngine(driver.name, kept, profile)

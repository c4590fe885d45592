"""The Flow engines behind drivers that come with this package, by entry point."""

from __future__ import annotations

from compat.drivers.connection import KeptDriver
from compat.drivers.flow.engine import RemoteFlowEngine
from compat.drivers.installed import go_driver


def adk_go_0_4_0(profile: str | None = None) -> RemoteFlowEngine:
    """Return adk-go v0.4.0, built if it never was; raises MissingExtraError."""
    return _in_go("adk-go@0.4.0", profile)


def adk_go_0_5_0(profile: str | None = None) -> RemoteFlowEngine:
    """Return adk-go v0.5.0, built if it never was; raises MissingExtraError."""
    return _in_go("adk-go@0.5.0", profile)


def _in_go(name: str, profile: str | None) -> RemoteFlowEngine:
    driver = go_driver(name)
    kept = KeptDriver(lambda: [str(driver.built())])
    return RemoteFlowEngine(driver.name, kept, profile)

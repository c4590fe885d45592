"""The engines behind drivers that come with this package, by entry point."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from compat.drivers.building import GoDriver
from compat.drivers.node_building import NodeDriver
from compat.drivers.remote import RemoteEngine
from refengine.errors import RefengineError


def eino_0_7_17() -> RemoteEngine:
    """Return eino v0.7.17, built if it never was; raises MissingExtraError."""
    return _in_go("eino@0.7.17")


def eino_0_7_37() -> RemoteEngine:
    """Return eino v0.7.37, built if it never was; raises MissingExtraError."""
    return _in_go("eino@0.7.37")


def eino_0_8_13() -> RemoteEngine:
    """Return eino v0.8.13, built if it never was; raises MissingExtraError."""
    return _in_go("eino@0.8.13")


def eino_0_9_13() -> RemoteEngine:
    """Return eino v0.9.13, built if it never was; raises MissingExtraError."""
    return _in_go("eino@0.9.13")


GO_DRIVERS: Final = MappingProxyType(
    {
        each.name: each
        for each in (
            GoDriver("eino", "0.7.17", "v07"),
            GoDriver("eino", "0.7.37", "v07"),
            GoDriver("eino", "0.8.13", "v08"),
            GoDriver("eino", "0.9.13", "v09"),
            GoDriver("adk", "0.4.0", "v04", engine="adk-go"),
            GoDriver("adk", "0.5.0", "v05", engine="adk-go"),
        )
    }
)
"""The drivers in Go, by what their engines are called."""


class EngineNameError(RefengineError, ValueError):
    """No driver in a language is called so."""

    def __init__(self, name: str, language: str, known: Iterable[str]) -> None:
        self.name = name
        there = ", ".join(known)
        super().__init__(f"{name!r} is not an engine in {language}; there are {there}")


def go_driver(name: str) -> GoDriver:
    """Return the driver of an engine in Go; raises EngineNameError."""
    found = GO_DRIVERS.get(name)
    if found is None:
        raise EngineNameError(name, "Go", GO_DRIVERS)
    return found


def langchain_js_1() -> RemoteEngine:
    """Return LangChain.js 1, built if it never was; raises MissingNodeError."""
    return _in_node("langchain-js@1")


def ai_sdk_4() -> RemoteEngine:
    """Return the AI SDK 4, built if it never was; raises MissingNodeError."""
    return _in_node("ai-sdk@4")


def ai_sdk_5() -> RemoteEngine:
    """Return the AI SDK 5, built if it never was; raises MissingNodeError."""
    return _in_node("ai-sdk@5")


NODE_DRIVERS: Final = MappingProxyType(
    {
        each.name: each
        for each in (
            NodeDriver("ai-sdk@4", "ai-sdk", "ai-sdk/4"),
            NodeDriver("ai-sdk@5", "ai-sdk", "ai-sdk/5"),
            NodeDriver("langchain-js@1", "langchain", "langchain"),
        )
    }
)
"""The drivers in TypeScript of engines with handlers, by what these are called."""


def node_driver(name: str) -> NodeDriver:
    """Return a driver, built when it is asked for; raises EngineNameError."""
    found = NODE_DRIVERS.get(name)
    if found is None:
        raise EngineNameError(name, "TypeScript", NODE_DRIVERS)
    return found


def _in_node(name: str) -> RemoteEngine:
    driver = node_driver(name)
    return RemoteEngine(driver.name, driver.command)


def _in_go(name: str) -> RemoteEngine:
    driver = go_driver(name)
    return RemoteEngine(driver.name, lambda: [str(driver.built())])

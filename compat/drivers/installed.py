"""The engines behind drivers that come with this package, by entry point.

To build a driver takes minutes, in which modules are downloaded and somebody should see
so; a worker has one minute to answer, and what it prints is kept for its errors. So it
is built (``prepare``) before anybody waits for a worker that has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Final

from compat.drivers.building import GoDriver
from compat.drivers.java_building import JavaDriver
from compat.drivers.node_building import NodeDriver
from compat.drivers.remote import RemoteEngine
from compat.drivers.rust_building import RustDriver
from compat.engines.importing import GROUP
from refengine.errors import RefengineError, error

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


SINCE_5: Final = ("ai-sdk/since-5",)
SINCE_6: Final = (*SINCE_5, "ai-sdk/since-6")

NODE_DRIVERS: Final = MappingProxyType(
    {
        each.name: each
        for each in (
            NodeDriver("ai-sdk@4", "ai-sdk", "ai-sdk/4"),
            NodeDriver("ai-sdk@5", "ai-sdk", "ai-sdk/5", shared=SINCE_5),
            NodeDriver("ai-sdk@6", "ai-sdk", "ai-sdk/6", shared=SINCE_6),
            NodeDriver("ai-sdk@7", "ai-sdk", "ai-sdk/7", shared=SINCE_6),
            NodeDriver("langchain-js@1", "langchain", "langchain"),
        )
    }
)
"""The drivers in TypeScript of engines with handlers, by what these are called."""

LANGCHAIN4J: Final = JavaDriver("langchain4j@1", "langchain4j", "1.19.0")
RIG: Final = RustDriver("rig@0.44", "rig", "0.44.0")


@error
class EngineNameError(RefengineError, ValueError):
    """No driver in a language is called so."""

    name: str
    language: str
    known: Iterable[str]
    says = "{name!r} is not an engine in {language}; there are {known!j}"


def go_driver(name: str) -> GoDriver:
    """Return the driver of an engine in Go; raises EngineNameError."""
    if name not in GO_DRIVERS:
        raise EngineNameError(name, "Go", GO_DRIVERS)
    return GO_DRIVERS[name]


def node_driver(name: str) -> NodeDriver:
    """Return a driver, built when it is asked for; raises EngineNameError."""
    if name not in NODE_DRIVERS:
        raise EngineNameError(name, "TypeScript", NODE_DRIVERS)
    return NODE_DRIVERS[name]


def _in_node(name: str) -> RemoteEngine:
    return RemoteEngine(name, node_driver(name).command)


def _in_go(name: str) -> RemoteEngine:
    driver = go_driver(name)
    return RemoteEngine(name, lambda: [str(driver.built())])


def langchain4j_1() -> RemoteEngine:
    """Return LangChain4j behind its driver; raises MissingToolchainError."""
    return RemoteEngine(LANGCHAIN4J.name, LANGCHAIN4J.command)


def rig_0_44() -> RemoteEngine:
    """Return rig behind its driver; raises MissingToolchainError."""
    return RemoteEngine(RIG.name, RIG.command)


# The others, which raise MissingExtraError without Go, or MissingToolchainError.
eino_0_7_17 = partial(_in_go, "eino@0.7.17")
eino_0_7_37 = partial(_in_go, "eino@0.7.37")
eino_0_8_13 = partial(_in_go, "eino@0.8.13")
eino_0_9_13 = partial(_in_go, "eino@0.9.13")
langchain_js_1 = partial(_in_node, "langchain-js@1")
ai_sdk_4 = partial(_in_node, "ai-sdk@4")
ai_sdk_5 = partial(_in_node, "ai-sdk@5")
ai_sdk_6 = partial(_in_node, "ai-sdk@6")
ai_sdk_7 = partial(_in_node, "ai-sdk@7")

PACKAGE: Final = "compat.drivers"
"""Where the engines stand that come with a driver of ours."""


def prepare(engine: str) -> None:
    """Build the driver of an installed engine, if it has one that never was built.

    Why one cannot be built is told by whoever loads the engine.
    """
    for point in entry_points(group=GROUP, name=engine):
        if f"{point.module}.".startswith(f"{PACKAGE}."):
            with suppress(RefengineError, ImportError, OSError):
                point.load()()

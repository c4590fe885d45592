"""The door to a Flow engine behind a driver, whatever language it is written in.

    engine = RemoteFlowEngine("mine", KeptDriver(lambda: ["/path/to/driver"]))

Models, tools, callbacks and plugins are those of the world, which is called back;
agents, runners and services are the engine's own.
"""

from __future__ import annotations

import weakref

from compat.dialects.flow.profile import FlowProfile, flow_profile
from compat.drivers.flow.opened import RemoteFlowWorld
from compat.drivers.kept import KeptDriver
from compat.engines.flow.world import FlowWorld


class RemoteFlowEngine:
    """A Flow engine in another process, which says itself what it is."""

    def __init__(
        self, name: str, driver: KeptDriver, profile: str | None = None
    ) -> None:
        """Take a driver; raises UnknownProfileError.

        It is judged under the profile that it tells, unless another one is given.
        """
        self.name = name
        self._driver = driver
        about = driver.about
        self.version: str = about["version"]
        self.profile: FlowProfile = flow_profile(profile or about["profile"])
        self.capabilities = frozenset[str](about["capabilities"])

    def open(self, world: FlowWorld) -> RemoteFlowWorld:
        """Open a world; when it is gone, the driver may forget it."""
        driver = self._driver.connected()
        opened = RemoteFlowWorld(driver, world)
        weakref.finalize(opened, driver.remove, opened.number)
        return opened

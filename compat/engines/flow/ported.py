"""The reference of the Flow dialect with its callbacks as plugins (FLOW-COMPAT)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compat.adapters import NoCallbackError
from compat.adapters.flow import callbacks_to_plugins
from compat.dialects.flow.plugins import Plugin
from compat.dialects.flow.profile import FlowProfile
from compat.dialects.flow.tree import Agent
from compat.engines.flow.capabilities import FLOW_CAPABILITIES
from compat.engines.flow.reference import DialectWorld
from compat.engines.flow.world import FlowWorld


@dataclass(frozen=True, slots=True)
class PortedDialect:
    """Plays a world whose callbacks moved into one plugin, which stands last."""

    profile: FlowProfile
    name: str = "flow-ported"
    version: str = ""
    capabilities: frozenset[str] = frozenset(FLOW_CAPABILITIES) - {"edited_response"}

    def open(self, world: FlowWorld) -> DialectWorld:
        """Open a world over services in memory."""
        return DialectWorld(world, self.profile, self._port)

    def _port(
        self, root: Agent, plugins: Sequence[Plugin]
    ) -> tuple[Agent, Sequence[Plugin]]:
        try:
            port = callbacks_to_plugins(root, self.profile, plugins)
        except NoCallbackError:
            return root, plugins
        return port.root, port.plugins

"""The door to google-adk, as it is installed (extra ``adk``).

It is driven through its public interface alone. What its rules are is the profile
``adk-py-2``, which was compared with the versions that ``CONFIRMED`` tells.
"""

from __future__ import annotations

import warnings
from typing import Any, Final

from compat.dialects.flow.profile import FlowProfile, flow_profile
from compat.engines.capabilities import needs, of_extra
from compat.engines.flow.doors import FLOW_CAPABILITIES
from compat.engines.flow.world import FlowWorld

CONFIRMED: Final = ("2.13.0",)
"""The versions on which the worlds of ``tests/flow_postures.json`` were played.

There is one for most postures of the profile, in which no other option plays as these
versions do. The table says of every other option why no world tells it apart.
"""


class UnconfirmedVersionWarning(UserWarning):
    """The installed google-adk is another one than its profile was confirmed on."""


class GoogleAdkEngine:
    """Plays worlds with the ``Runner`` of google-adk, over its services in memory."""

    name = "google-adk"
    # An agent of google-adk makes its flow itself; there is no public place for more.
    capabilities = frozenset(FLOW_CAPABILITIES) - {"processors"}

    def __init__(self, version: str = "", profile: str = "adk-py-2") -> None:
        """Play that version under a profile; raises UnknownProfileError."""
        self.version = version
        self.profile: FlowProfile = flow_profile(profile)

    def open(self, world: FlowWorld) -> Any:  # noqa: ANN401  # an AdkWorld, whose module needs the extra
        """Open a world; raises MissingExtraError."""
        with of_extra(self.name, "adk"):
            from compat.engines.flow.adk.running import AdkWorld  # noqa: PLC0415  # an extra
        return AdkWorld(world)


def installed(profile: str = "adk-py-2") -> GoogleAdkEngine:
    """Return google-adk as it is installed; raises MissingExtraError.

    Warns with UnconfirmedVersionWarning of a version that nobody confirmed.
    """
    version = needs("google-adk", "adk", "google.adk", "google-adk")
    if version not in CONFIRMED:
        known = ", ".join(CONFIRMED)
        told = f"google-adk {version}: its profile was confirmed on {known} alone"
        warnings.warn(told, UnconfirmedVersionWarning, stacklevel=2)
    return GoogleAdkEngine(version, profile)

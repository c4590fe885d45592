"""A world's bridge to Google's ADK, and playing agents that are built from it.

Needs the extra ``adk``; nothing outside imports its modules before a subject asks for
the bridge. This one says what the bridge is, and imports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.artifacts import BaseArtifactService
    from google.adk.models import BaseLlm
    from google.adk.sessions import BaseSessionService
    from google.adk.tools.base_tool import BaseTool


class AdkFace(Protocol):
    """A world as Google's ADK sees it; ``bridge.AdkBridge`` is one.

    ``model`` and ``tools`` are the world's own, ``instruction`` is that of its agent,
    or an empty text. Agents may have other tools too, which are observed when they run,
    but no other model. The services keep all in memory; whoever builds a ``Runner``
    gives it the first.
    """

    model: BaseLlm
    instruction: str
    session_service: BaseSessionService
    artifact_service: BaseArtifactService

    @property
    def tools(self) -> Sequence[BaseTool]:
        """The world's tools."""
        ...

    def model_named(self, name: str) -> BaseLlm:
        """Return a second model; it plays the same script, and requests name it."""
        ...

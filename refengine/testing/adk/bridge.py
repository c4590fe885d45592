"""What ``world.as_adk()`` gives a subject to build its agents from."""

from __future__ import annotations

from collections.abc import Sequence

from google.adk.artifacts import BaseArtifactService, InMemoryArtifactService
from google.adk.models import BaseLlm
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.tools.base_tool import BaseTool

from refengine.testing.adk.model import MODEL, WorldLlm
from refengine.testing.adk.tools import WorldAdkTool
from refengine.testing.world import World


class AdkBridge:
    """A world as Google's ADK sees it.

    ``model`` and ``tools`` are the world's own, ``instruction`` is that of its agent,
    or an empty text. Agents may have other tools too, which are observed when they run,
    but no other model. The services keep all in memory; whoever builds a ``Runner``
    gives it the first.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.model: BaseLlm = self.model_named(MODEL)
        self.instruction: str = world.instruction or ""
        self._tools = [WorldAdkTool(spec, world) for spec in world.tool_specs]
        self.session_service: BaseSessionService = InMemorySessionService()
        self.artifact_service: BaseArtifactService = InMemoryArtifactService()

    @property
    def tools(self) -> Sequence[BaseTool]:
        """The world's tools, in a list that may be changed."""
        return list(self._tools)

    def model_named(self, name: str) -> BaseLlm:
        """Return a second model; it plays the same script, and requests name it."""
        return WorldLlm(model=name, world=self._world)

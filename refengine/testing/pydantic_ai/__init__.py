"""A world's bridge to pydantic-ai, and playing agents that are built from it.

Needs the extra ``pydantic-ai``; nothing outside imports its modules before a subject
asks for the bridge. This one says what the bridge is, and imports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_ai.models import Model
    from pydantic_ai.tools import Tool


class PydanticAIFace(Protocol):
    """A world as pydantic-ai sees it; ``bridge.PydanticAIBridge`` is one.

    ``model`` and ``tools`` are the world's own; ``instructions`` is that of its agent,
    or None where there is none. An agent may have other tools too, which are observed
    when they run, but no other model.
    """

    model: Model
    instructions: str | None

    @property
    def tools(self) -> Sequence[Tool[Any]]:
        """The world's tools."""
        ...

    def model_named(self, name: str) -> Model:
        """Return a second model; it plays the same script, and requests name it."""
        ...

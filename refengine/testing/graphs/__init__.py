"""A world's bridge to LangChain and LangGraph, and playing what they compile.

Needs the extra ``langchain``; nothing outside imports its modules before a subject asks
for the bridge. This one says what the bridge is, and imports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool

    from refengine.testing.scenario import ValueDoor


class LangChainWorld(Protocol):
    """A world as LangChain and LangGraph see it; ``bridge.LangChainBridge`` is one.

    ``model`` and ``tools`` are the world's own; ``system_prompt`` is the instruction,
    or None where there is none. A graph may be built from other tools too, which are
    observed when they run, but from no other model.
    """

    model: BaseChatModel
    system_prompt: str | None

    @property
    def tools(self) -> Sequence[BaseTool]:
        """The world's tools."""
        ...

    def model_named(self, name: str) -> BaseChatModel:
        """Return a second model; it plays the same script, and requests name it."""
        ...

    def approves(self, call: Mapping[str, Any]) -> bool:
        """Ask the world's person about a tool call, by its ``id`` or name and args."""
        ...

    def answer_interrupts(self, answer: Callable[[Any], object]) -> None:
        """Say what resumes an interrupted graph: ``answer`` is given its value."""
        ...

    def takes(self, **doors: ValueDoor) -> None:
        """Say by which door your application gives values, if not by OLD's."""
        ...

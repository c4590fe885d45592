"""One run of a graph: what it is asked, what it leaves, how it fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from langchain_core.messages import BaseMessage
from langgraph.errors import GraphRecursionError
from langgraph.types import Command

from refengine.messages import Json
from refengine.testing.graphs.messages import marks, role_of, said
from refengine.testing.graphs.raising import point_of_scripted
from refengine.testing.graphs.values import values_of
from refengine.testing.world import World

CLIENTS: Final = frozenset(("openai", "httpx", "httpx2"))
"""Packages whose errors a model over the wire raises, and nothing else here does."""
RESUMED: Final = 50
"""So often one run is resumed; one that goes on asking is no session."""


class EndlessInterruptError(RuntimeError):
    """A run was resumed and resumed, and interrupted again each time."""

    def __init__(self) -> None:
        super().__init__(
            f"the graph interrupted more than {RESUMED} times in one run;"
            " let what answer_interrupts returns be something that ends it"
        )


@dataclass(frozen=True, slots=True)
class Ask:
    """One call of the graph: its input, and what goes with it."""

    input: object
    config: Mapping[str, Any]
    context: object
    streaming: bool
    resumes: bool = False


class Turn:
    """One run. ``ask`` is the next call of the graph, None once the run is over."""

    def __init__(self, world: World, ask: Ask, given: Sequence[BaseMessage]) -> None:
        self.ask: Ask | None = ask
        self.left: Sequence[BaseMessage] | None = None
        self._world = world
        self._given = given
        self._before = said(given)
        self._resumed = 0
        self._calls = world.model.calls

    def took(self, state: Mapping[str, Any], stored: Mapping[str, Json]) -> None:
        """Take what a call gave: an interrupt to answer, or the end of the run."""
        pending = state.get("__interrupt__") or ()
        if pending and self.ask is not None:
            self._resumed += 1
            if self._resumed > RESUMED:
                raise EndlessInterruptError
            self.ask = self._resuming(self.ask, pending)
            return
        self.left = list(state.get("messages") or ())
        answer = said(self.left[-1:])
        direct = bool(self.left) and role_of(self.left[-1]) == "tool"
        data: dict[str, object] = {
            "status": "returned_directly" if direct else "completed",
            "answer": answer[0] if answer else None,
            "messages": said(self.left),
            "marks": marks(self.left),
            "values": {**values_of(state), **stored},
        }
        self._end(data)

    def failed(self, error: Exception, state: Mapping[str, Any]) -> None:
        """Take an exception that came out of a call, and what the thread then holds."""
        data = {"kind": "error", "agent": "", **_told(error)}
        self._world.recorder.add("event", data)
        messages = list(state.get("messages") or ())
        self._end(
            {
                "status": "error",
                "answer": None,
                "messages": said(messages),
                "values": values_of(state),
            }
        )

    def _resuming(self, ask: Ask, pending: Sequence[Any]) -> Ask:
        """Return the call that resumes all interrupts of a run at once."""
        face = self._world.as_langchain()
        answers = {each.id: face.resumed_with(each.value) for each in pending}
        return replace(ask, input=Command(resume=answers), resumes=True)

    def _end(self, data: Mapping[str, object]) -> None:
        self.ask = None
        recorder = self._world.recorder
        calls = self._world.model.calls - self._calls
        recorder.add("run_end", {**data, "iterations": calls})
        if said(self._given) != self._before:
            recorder.add("caller_object_changed", {"path": "messages"})


def _told(error: Exception) -> dict[str, Json]:
    """Return class and point of an exception, in the words of other engines' errors."""
    point = point_of_scripted(error) or _of_client(error)
    if point is None:
        point = "max_iterations" if isinstance(error, GraphRecursionError) else "hook"
    told: dict[str, Json] = {"point": point, "text": str(error)}
    return {"error": told, "class": type(error).__name__}


def _of_client(error: BaseException) -> str | None:
    """Return where an error of a vendor's client arose, also behind what wraps it."""
    seen: list[BaseException] = []
    inner: BaseException | None = error
    while inner is not None and inner not in seen:
        roots = {kind.__module__.partition(".")[0] for kind in type(inner).__mro__}
        if not roots.isdisjoint(CLIENTS):
            return "model"
        seen.append(inner)
        inner = inner.__cause__ or inner.__context__
    return None

"""Watching a graph from outside: its nodes, and tools that are not the world's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from threading import Event
from typing import Any, Final, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langgraph.errors import GraphBubbleUp

from refengine.testing.graphs.messages import content_of
from refengine.testing.graphs.tools import OWN, calling, started
from refengine.testing.narrowing import is_list, is_mapping
from refengine.testing.recorder import snapshot
from refengine.testing.world import CALLING, World

_ENDS: Final = frozenset(("__start__", "__end__"))


WAIT: Final = 5.0
"""Seconds after which a call goes on though the one before it has not ended."""


class Turns:
    """Has the calls of one response run one after the other, in order.

    LangGraph gives each a thread, and whichever is faster would change what a subject
    that counts calls does. After one that failed the others do not run: whether they
    would have begun is a matter of luck. An event loop needs no such order: it has one
    of its own.
    """

    def __init__(self) -> None:
        self.kept = False
        self._mine: dict[UUID, tuple[object, Event]] = {}
        self._ends: dict[tuple[object, object], Event] = {}
        self._failed: dict[object, BaseException] = {}

    def begin(self, run_id: UUID, told: Mapping[str, Any]) -> None:
        """Wait until the call before this one has ended."""
        path: Sequence[Any] = told.get("langgraph_path") or ()
        if not (self.kept and len(path) == 3 and isinstance(path[1], int)):
            return
        step, at = told.get("langgraph_step"), path[1]
        mine = self._ends.setdefault((step, at), Event())
        if at:
            self._ends.setdefault((step, at - 1), Event()).wait(WAIT)
        if step in self._failed:
            mine.set()
            raise self._failed[step]
        self._mine[run_id] = (step, mine)

    def end(self, run_id: UUID, error: BaseException | None = None) -> None:
        """Say that a call has ended, and how if it failed; to interrupt is no failure."""
        if run_id not in self._mine:
            return
        step, mine = self._mine.pop(run_id)
        if error is not None and not isinstance(error, GraphBubbleUp):
            self._failed.setdefault(step, error)
        mine.set()

    def anew(self, *, kept: bool) -> None:
        """Begin another call of a graph; a resumed one has only some of the calls."""
        self.kept = kept
        self._ends.clear()
        self._failed.clear()


class GraphWatch(BaseCallbackHandler):
    """Counts nodes as the hooks of a graph, and observes a subject's own tools.

    A callback is what both frameworks offer anybody who wants to look.
    """

    run_inline = True
    raise_error = True  # a watch that fails must not be silent about it

    def __init__(self, world: World) -> None:
        self._world = world
        self._calls: dict[UUID, str | None] = {}
        self.nodes: Counter[str] = Counter()
        self.turns = Turns()
        self.stranger: str | None = None

    def expect(self, graph: Any) -> None:  # noqa: ANN401  # a graph of any framework
        """Know the nodes that there are, so that one that never ran is told."""
        for node in getattr(graph, "nodes", ()):
            if node not in _ENDS:
                self.nodes[f"node {node}"] += 0

    def on_chain_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002  # as BaseCallbackHandler
        inputs: Any,  # noqa: ANN401  # as BaseCallbackHandler
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **more: Any,  # noqa: ANN401  # as BaseCallbackHandler
    ) -> None:
        """Count a node that is entered; one of a tool call waits for its turn."""
        told = metadata or {}
        node = told.get("langgraph_node")
        if node is None or more.get("name") != node:
            return
        if f"node {node}" in self.nodes:
            self.nodes[f"node {node}"] += 1
        call_id = _call_of(inputs)
        if call_id is not None:
            # The node runs in a copy of this context, so all it does is of that call.
            CALLING.set(call_id)
            self.turns.begin(run_id, told)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401, ARG002  # as BaseCallbackHandler
        """Let the next call begin."""
        self.turns.end(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401  # as BaseCallbackHandler
        """Let the next call begin, or not."""
        self.turns.end(run_id, error)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],  # noqa: ARG002  # as BaseCallbackHandler
        *,
        metadata: dict[str, Any] | None = None,
        **_: Any,  # noqa: ANN401  # as BaseCallbackHandler
    ) -> None:
        """Remember a model that is not the world's, of which nothing is seen."""
        if not (metadata or {}).get(OWN):
            name = (serialized or {}).get("name") or "a chat model"
            self.stranger = self.stranger or str(name)

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **more: Any,  # noqa: ANN401  # as BaseCallbackHandler
    ) -> None:
        """Put down that a tool begins, unless it does so itself."""
        if (metadata or {}).get(OWN):
            return
        call_id = cast("str | None", more.get("tool_call_id"))
        self._calls[run_id] = call_id
        name = str((serialized or {}).get("name"))
        text = input_str
        if inputs is not None:
            text = json.dumps(snapshot(inputs), ensure_ascii=False)
        with calling(call_id):
            started(self._world.recorder, name, text, f"the subject's own {name}")

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401  # as BaseCallbackHandler
        """Put down what it gave."""
        if run_id in self._calls:
            call_id = self._calls.pop(run_id)
            self._world.recorder.add("tool_end", {"result": _result(output)}, call_id)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401  # as BaseCallbackHandler
        """Put down that it failed."""
        if run_id in self._calls:
            call_id = self._calls.pop(run_id)
            self._world.recorder.add("tool_error", {"error": str(error)}, call_id)

    def hooks(self) -> Mapping[str, int]:
        """Return how often each node ran."""
        return dict(self.nodes)


def _call_of(inputs: object) -> str | None:
    """Return the id of the tool call that a node was sent, if it was sent one."""
    if is_list(inputs) and len(inputs) == 1:
        inputs = inputs[0]
    if is_mapping(inputs) and is_mapping(inputs.get("tool_call")):
        inputs = inputs["tool_call"]
    found = is_mapping(inputs) and inputs.get("id") if "id" in _keys(inputs) else None
    return found if isinstance(found, str) else None


def _keys(value: object) -> Collection[str]:
    return value.keys() if is_mapping(value) else ()


def _result(output: Any) -> object:  # noqa: ANN401  # whatever a tool returned
    return content_of(output) if hasattr(output, "content") else snapshot(output)

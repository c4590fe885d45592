"""Watching a graph from outside: its nodes, and tools that are not the world's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Event
from traceback import walk_tb
from typing import Any, Final, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from pydantic import BaseModel, ValidationError

from refengine.testing.graphs.messages import content_of
from refengine.testing.graphs.tools import OWN
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.recorder import snapshot
from refengine.testing.tool_runs import calling, given_by_name, started
from refengine.testing.world import CALLING, World

_ENDS: Final = frozenset(("__start__", "__end__"))
PARSES: Final = "_parse_input"
"""The step of a tool of LangChain that looks at arguments, before its function runs."""
WAIT: Final = 5.0
"""Seconds after which a call goes on though the one before it has not ended."""
NESTED: Final = "|"
"""What stands in the name of a node's place where that is a graph within the graph."""
DEEPEST: Final = 4
"""So many functions and objects lie between a tool and one that it wraps, at most."""


class NodeTurns:
    """Has the calls of one response run one after the other, in order.

    LangGraph gives each a thread, and whichever is faster would change what a subject
    that counts calls does. An event loop needs no such order: it has one of its own.
    """

    def __init__(self) -> None:
        self._kept = False
        self._some: Sequence[int] | None = None
        self._mine: dict[UUID, Event] = {}
        self._ends: dict[tuple[object, object], Event] = {}

    def begin(self, run_id: UUID, about: Mapping[str, Any]) -> None:
        """Wait until the call before this one has ended."""
        path: Sequence[Any] = about.get("langgraph_path") or ()
        if not (self._kept and len(path) == 3 and isinstance(path[1], int)):
            return
        step, at = about.get("langgraph_step"), path[1]
        self._mine[run_id] = self._ends.setdefault((step, at), Event())
        before = self._before(at)
        if before is not None:
            self._ends.setdefault((step, before), Event()).wait(WAIT)

    def end(self, run_id: UUID) -> None:
        """Say that a call has ended."""
        mine = self._mine.pop(run_id, None)
        if mine is not None:
            mine.set()

    def _before(self, at: int) -> int | None:
        """Return the place of the call that this one comes after, if there is one."""
        if self._some is None:
            return at - 1 if at else None
        return max((each for each in self._some if each < at), default=None)

    def anew(self, some: Sequence[int] | None) -> None:
        """Begin another call of a graph; a resumed one has only some of the calls."""
        self._kept = True
        self._some = some
        self._ends.clear()


class GraphWatch(BaseCallbackHandler):
    """Counts nodes as the hooks of a graph, and observes a subject's own tools.

    A callback is what both frameworks offer anybody who wants to look.
    """

    run_inline = True
    raise_error = True  # a watch that fails must not be silent about it

    def __init__(self, world: World) -> None:
        self._world = world
        self._calls: dict[UUID, tuple[str, str | None]] = {}
        self._around: set[UUID] = set()
        self._made_for: dict[UUID, str | None] = {}
        self._wrappers: set[str] = set()
        self._others = {spec.name for spec in world.tool_specs}
        self.nodes: Counter[str] = Counter()
        self._written: dict[str, BaseTool] = {}
        self._steps: dict[int, list[str]] = {}
        self._of_node: dict[UUID, str] = {}
        self.failed: dict[str, BaseException] = {}
        self.raised: dict[str, BaseException] = {}
        """What the tool of each call raised last, whoever answered for it."""
        self.turns: NodeTurns = NodeTurns()
        self.stranger: str | None = None

    def expect(self, graph: Any) -> None:  # noqa: ANN401  # a graph of any framework
        """Know nodes and tools that there are, so that one that never ran is told."""
        nodes: Mapping[str, Any] = getattr(graph, "nodes", {})
        for name, node in nodes.items():
            if name not in _ENDS:
                self.nodes[f"node {name}"] += 0
            tools = getattr(getattr(node, "bound", None), "tools_by_name", {})
            for tool in tools.values():
                marks: Mapping[str, Any] = tool.metadata or {}
                if marks.get(OWN):
                    continue
                if tool.name not in self._others and _is_written(tool):
                    self.nodes[f"tool {tool.name}"] += 0
                    self._written[tool.name] = tool
                if wraps_its_like(tool):
                    self._wrappers.add(tool.name)

    def counted(self, calls: Iterable[Mapping[str, Any]]) -> Mapping[str, int]:
        """Return how often each node and tool ran.

        A tool that did not, though the model made these ``calls`` of it with arguments
        that fit, counts by them: something of the subject's answers them in its place.
        """
        found = Counter(self.nodes)
        idle = {k: each for k, each in self._written.items() if not found[f"tool {k}"]}
        for call in calls if idle else ():
            if tool := idle.get(call["name"]):
                found[f"tool {tool.name}"] += _fits(tool, call["arguments"])
        return found

    def _ran(self, tool: str) -> None:
        if f"tool {tool}" in self.nodes:
            self.nodes[f"tool {tool}"] += 1

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
        about = metadata or {}
        node = about.get("langgraph_node")
        if node is None or more.get("name") != node:
            return
        if f"node {node}" in self.nodes:
            self.nodes[f"node {node}"] += 1
            self._step(node, about)
        call_id = _call_of(inputs)
        # The node runs in a copy of this context, so all it does is of that call; one
        # that runs inline would hand the call on to what comes after it.
        CALLING.set(call_id)
        if call_id is not None:
            self._of_node[run_id] = call_id
            self.turns.begin(run_id, about)

    def _step(self, node: str, about: Mapping[str, Any]) -> None:
        """Remember in which step of a run a node was entered, but none further in."""
        if NESTED not in str(about.get("langgraph_checkpoint_ns", "")):
            self._steps.setdefault(about["langgraph_step"], []).append(node)

    def begin_run(self) -> None:
        """Forget the steps of the run before."""
        self._steps = {}

    @property
    def steps(self) -> list[list[str]]:
        """The nodes of each step of a run; those of one step run at the same time."""
        return [sorted(nodes) for _, nodes in sorted(self._steps.items())]

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401, ARG002  # as BaseCallbackHandler
        """Let the next call begin."""
        self._of_node.pop(run_id, None)
        self.turns.end(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401  # as BaseCallbackHandler
        """Remember a call that failed, and let the next one begin."""
        call_id = self._of_node.pop(run_id, None)
        if call_id is not None and not isinstance(error, GraphBubbleUp):
            self.failed[call_id] = error
        self.turns.end(run_id)

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
        name = str((serialized or {}).get("name"))
        call_id = cast("str | None", more.get("tool_call_id")) or CALLING.get()
        self._made_for[run_id] = call_id
        outer = self._outer(name, call_id)
        if outer is not None and outer not in self._around:
            self._around.add(outer)  # it runs where the tool within it does
            self._world.recorder.take_back("tool_start", call_id)
        if (metadata or {}).get(OWN):
            return
        self._calls[run_id] = (name, call_id)
        if outer is None and name in self._wrappers:
            self._around.add(run_id)
            return
        text = input_str if inputs is None else given_by_name(inputs)
        with calling(call_id):
            started(self._world.recorder, name, text, f"the subject's own {name}")

    def _outer(self, name: str, call_id: str | None) -> UUID | None:
        """Return the run of a tool of that name that this call is made in."""
        found = (run for run, of in self._calls.items() if of == (name, call_id))
        return next(found, None)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401  # as BaseCallbackHandler
        """Put down what it gave."""
        self._made_for.pop(run_id, None)
        if run_id in self._calls:
            name, call_id = self._calls.pop(run_id)
            self._ran(name)
            if run_id not in self._around:
                data = {"result": _result(output)}
                self._world.recorder.add("tool_end", data, call_id)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401  # as BaseCallbackHandler
        """Put down that it failed."""
        of_call = self._made_for.pop(run_id, None)
        if of_call is not None:
            self.raised[of_call] = error
        if run_id in self._calls:
            name, call_id = self._calls.pop(run_id)
            # It asks, and is begun again later; or it was never begun at all.
            if isinstance(error, GraphBubbleUp) or _refuses_arguments(error):
                if run_id not in self._around:
                    self._world.recorder.take_back("tool_start", call_id)
                return
            self._ran(name)
            if run_id not in self._around:
                data = {"error": str(error)}
                self._world.recorder.add("tool_error", data, call_id)

    def hooks(self) -> Mapping[str, int]:
        """Return how often each node ran."""
        return dict(self.nodes)


def _refuses_arguments(error: BaseException) -> bool:
    """Tell whether a tool was not run at all, since its arguments do not fit.

    A port may look at them earlier; what the model is told of it is compared. An error
    of the same class that the tool's own code raises is an execution.
    """
    if not isinstance(error, ValidationError):
        return False
    frames = (frame.f_code.co_name for frame, _ in walk_tb(error.__traceback__))
    return PARSES in frames


def _fits(tool: BaseTool, arguments: str) -> bool:
    """Tell whether a tool takes these arguments, as far as its schema says."""
    schema = tool.tool_call_schema
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return False  # as a tool of another process has it
    try:
        schema.model_validate_json(arguments)
    except ValidationError:
        return False
    return True


def _is_written(tool: Any) -> bool:  # noqa: ANN401  # a tool of any framework
    """Tell whether a tool is a function of the user's, and not an installed one."""
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    code = getattr(function, "__code__", None)
    return code is not None and "site-packages" not in code.co_filename


def _call_of(inputs: object) -> str | None:
    """Return the id of the tool call that a node was sent, if it was sent one."""
    if is_list(inputs) and len(inputs) == 1:
        inputs = inputs[0]
    if is_mapping(inputs) and is_mapping(inputs.get("tool_call")):
        inputs = inputs["tool_call"]
    found = inputs.get("id") if is_mapping(inputs) else None
    return found if isinstance(found, str) else None


def _result(output: Any) -> object:  # noqa: ANN401  # whatever a tool returned
    return content_of(output) if hasattr(output, "content") else snapshot(output)


def wraps_its_like(tool: BaseTool) -> bool:
    """Tell whether a tool is put around another one of its name.

    Both are begun when it is called, and the call is still one execution: that of the
    tool within. It is looked for in what the function has in it, and in its object.
    """
    seen: set[int] = set()
    reached: list[Any] = [tool]
    for _ in range(DEEPEST):
        reached = [
            each for one in reached for each in _within(one) if id(each) not in seen
        ]
        seen.update(map(id, reached))
        if any(_is_like(each, tool) for each in reached):
            return True
    return False


def _is_like(found: object, tool: BaseTool) -> bool:
    if not isinstance(found, BaseTool) or found is tool:
        return False
    return found.name == tool.name


def _within(value: Any) -> Iterator[object]:  # noqa: ANN401  # whatever a subject wrote
    """Yield what a tool, a function, a bound method or a collection holds."""
    if is_list(value):
        yield from value
        return
    if is_mapping(value):
        yield from value.values()
        return
    if isinstance(value, BaseTool):
        yield from (each for each in vars(value).values() if _may_hold(each))
        return
    for cell in getattr(value, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not given a value yet
            continue
    for name in ("__self__", "__wrapped__", "func", "args", "__defaults__"):
        found: object = getattr(value, name, None)
        yield from found if isinstance(found, tuple) else (found,)
    yield from (getattr(value, "keywords", None) or {}).values()
    yield from (getattr(value, "__kwdefaults__", None) or {}).values()


def _may_hold(value: object) -> bool:
    return isinstance(value, BaseTool) or callable(value) or is_list(value)

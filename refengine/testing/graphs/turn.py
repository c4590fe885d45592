"""One run of a graph: what it is asked, what its consumer receives, what it leaves.

Of a stream, node names differ between the frameworks and with every hook, so a message
is told by where it comes from: the model, the tools, or a hook. What hooks put into a
history for the model alone (system and user messages, removals) is not part of what is
consumed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import reduce
from itertools import groupby
from operator import add
from typing import Any, Final, TypeAlias, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langgraph.errors import GraphRecursionError
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import BaseModel

from refengine.messages import Json
from refengine.testing.channels import UNKEPT
from refengine.testing.graphs.bridge import bridge_of
from refengine.testing.graphs.messages import calls_of, marks, role_of, said, text_of
from refengine.testing.graphs.nodes import GraphWatch
from refengine.testing.graphs.tools import OWN
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.own_failures import told
from refengine.testing.recorder import Recorder, snapshot
from refengine.testing.tool_runs import point_of_scripted
from refengine.testing.world import World

OWN_KEYS: Final = frozenset(
    (
        "messages",  # told apart
        "__interrupt__",
        "remaining_steps",  # counts steps, and every hook that is a node adds one
        "is_last_step",
        "jump_to",  # where a hook goes next
        "llm_input_messages",  # what a hook hands to the model, which sees it
    )
)
"""Keys by which the frameworks talk to themselves."""


STORED: Final = 1_000
"""So many items of a store are looked at."""


def values_of(state: Mapping[str, Any]) -> dict[str, Json]:
    """Return the values that a state keeps, without the frameworks' own keys."""
    return {
        key: value_of(value)
        for key, value in state.items()
        if key not in OWN_KEYS and value is not None
    }


def stored_in(graph: Any) -> dict[str, Json]:  # noqa: ANN401  # a graph of any framework
    """Return what the graph's store in memory holds, without the keys of its items.

    Those are mostly drawn at random. Other stores are the subject's own affair.
    """
    store = getattr(graph, "store", None)
    if not isinstance(store, InMemoryStore):
        return {}
    found = store.search((), limit=STORED)
    items = [[*each.namespace, value_of(each.value)] for each in found]
    return {"(store)": sorted(items, key=repr)} if items else {}


def value_of(value: Any) -> Json:  # noqa: ANN401  # whatever a subject keeps
    """Return anything that a subject keeps or hands on, as JSON."""
    if isinstance(value, BaseMessage):
        return said([value])[0]
    if isinstance(value, BaseModel):
        return snapshot(value.model_dump(mode="json"))
    if is_dataclass(value) and not isinstance(value, type):
        return snapshot(asdict(value))
    if is_mapping(value):
        return {str(key): value_of(part) for key, part in value.items()}
    if is_list(value):
        return [value_of(part) for part in value]
    return snapshot(value)


CLIENTS: Final = frozenset(("openai", "httpx", "httpx2"))
"""Packages whose errors a model over the wire raises, and nothing else here does."""
RESUMED: Final = 50
"""So often one run is resumed; one that goes on asking is not a session."""


class EndlessInterruptError(RuntimeError):
    """A run was resumed and resumed, and interrupted again each time."""

    def __init__(self) -> None:
        super().__init__(
            f"the graph interrupted more than {RESUMED} times in one run;"
            " let answer_interrupts return something that ends it"
        )


@dataclass(frozen=True, slots=True)
class RunWaits:
    """What a run waits for: answers to interrupts, or only to be let go on.

    Each interrupt has the tool call in whose node it arose, if it was in one's;
    ``stopped`` are the calls that are not made yet, None where nothing stopped it.
    """

    interrupts: Sequence[tuple[Any, Mapping[str, Any] | None]] = ()
    stopped: Sequence[Mapping[str, Any]] | None = None

    @property
    def any(self) -> bool:
        """Whether it waits for anything."""
        return bool(self.interrupts) or self.stopped is not None


@dataclass(frozen=True, slots=True)
class GraphCall:
    """One call of the graph: its input, and what goes with it."""

    input: object
    config: Mapping[str, Any]
    context: object
    streaming: bool
    resumes: bool = False


class GraphTurn:
    """One run. ``ask`` is the next call of the graph, None once the run is over."""

    def __init__(
        self,
        world: World,
        ask: GraphCall,
        given: Sequence[BaseMessage],
        watch: GraphWatch,
    ) -> None:
        self._watch = watch
        self.ask: GraphCall | None = ask
        self.left: Sequence[BaseMessage] | None = None
        self.values: Mapping[str, Any] = {}
        """What else a run left that ended well, as its caller was given it."""
        self._world = world
        self._given = given
        self._before = said(given)
        self._resumed = 0
        self._calls = world.model.calls

    def took(
        self, state: Mapping[str, Any], stored: Mapping[str, Json], waiting: RunWaits
    ) -> None:
        """Take what a call gave: an interrupt to answer, or the end of the run."""
        if waiting.any and self.ask is not None:
            self._resumed += 1
            if self._resumed > RESUMED:
                self.failed(EndlessInterruptError(), state)
                return
            self.ask = self._resuming(self.ask, waiting)
            self._world.recorder.settle()
            if self.ask is None:
                self._left("interrupted", state)
            return
        self.left = list(state.get("messages") or ())
        self.values = {k: v for k, v in state.items() if k not in OWN_KEYS}
        answer = said(self.left[-1:])
        direct = bool(self.left) and role_of(self.left[-1]) == "tool"
        self._end(
            "returned_directly" if direct else "completed",
            {"answer": answer[0] if answer else None},
            self.left,
            {"marks": marks(self.left), "values": {**values_of(state), **stored}},
        )

    def failed(self, error: Exception, state: Mapping[str, Any] | None) -> None:
        """Take an exception that came out of a call, and what the thread then holds.

        Without a thread nobody can tell what a run left that failed.
        """
        data = {"kind": "error", "agent": "", **_error_entry(error)}
        self._world.recorder.add("event", data)
        self._left("error", state)

    def _left(self, status: str, state: Mapping[str, Any] | None) -> None:
        """End a run that failed, or that stopped and was not let go on."""
        messages = list((state or {}).get("messages") or ())
        more: dict[str, object] = {"values": values_of(state or {})}
        unkept = {UNKEPT: True} if state is None else {}
        self._end(status, {"answer": None}, messages, {**more, **unkept})

    def _resuming(self, ask: GraphCall, waiting: RunWaits) -> GraphCall | None:
        """Return the call that resumes all interrupts of a run at once, if any does."""
        bridge = bridge_of(self._world)
        if not waiting.interrupts:
            goes_on = bridge.goes_on(waiting.stopped or ())
            return replace(ask, input=None, resumes=True) if goes_on else None
        answers = {
            each.id: bridge.resumed_with(each.value, call)
            for each, call in waiting.interrupts
        }
        return replace(ask, input=Command(resume=answers), resumes=True)

    def _end(
        self,
        status: str,
        answer: Mapping[str, object],
        messages: Sequence[BaseMessage],
        more: Mapping[str, object],
    ) -> None:
        self.ask = None
        recorder = self._world.recorder
        calls = self._world.model.calls - self._calls
        data = {"status": status, **answer, "messages": said(messages), **more}
        if self._world.tells_nodes:
            data["nodes"] = self._nodes(failed=status == "error")
        recorder.add("run_end", {**data, "iterations": calls})
        if said(self._given) != self._before:
            recorder.add("caller_object_changed", {"path": "messages"})

    def _nodes(self, *, failed: bool) -> dict[str, Json]:
        """Return the steps of the run, and the least limit with which it ends so.

        A run takes a step more than it has, in which there is nothing left to do. Of
        the nodes beside one that failed it is luck which of them had begun.
        """
        steps: list[Json] = [list[Json](each) for each in self._watch.steps]
        if failed:
            return {"steps": steps[:-1]}
        return {"steps": steps, "smallest_recursion_limit": len(steps) + 1}


def _error_entry(error: Exception) -> dict[str, Json]:
    """Return class and point of an exception, in the words of other engines' errors."""
    point = point_of_scripted(error) or _of_client(error)
    if point is None:
        point = "max_iterations" if isinstance(error, GraphRecursionError) else "hook"
    entry: dict[str, Json] = {"point": point, "text": str(error)}
    return {"error": entry, "class": type(error).__name__, **told(error)}


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


Held: TypeAlias = "tuple[str | None, dict[str, Json]]"  # a message, and its call if any

OF_A_MODEL: Final = ("run-", "lc_run-")
"""How the ids begin that a chat model gives to what it answers."""


class Consumer:
    """Joins the pieces of a stream to messages, and puts them down when it has ended.

    Not as they come: the consumer of a stream is beside the threads of its graph, and
    where its messages stood among what those do would be luck.
    """

    def __init__(self, recorder: Recorder) -> None:
        """Put down what is received; results of tools in the order of their calls.

        Threads have no order, that of an event loop depends on how wrappers are
        written, and whichever result is first says nothing.
        """
        self._recorder = recorder
        self._held: list[Held] = []
        self._pieces: list[BaseMessage] = []
        self._from = ""

    def take(self, message: BaseMessage, metadata: Mapping[str, Any]) -> None:
        """Take one piece."""
        if not isinstance(message, (AIMessage, ToolMessage)):
            return
        source = _source(metadata, message)
        known = self._pieces[-1] if self._pieces else None
        if known is not None and (known.id != message.id or source != self._from):
            self.end()
        self._from = source
        self._pieces.append(message)
        if isinstance(message, ToolMessage):
            self.end()  # it comes in one piece, so nothing that fails later cuts it off

    def wrote(self, data: object) -> None:
        """Take what a hook or a tool wrote to the stream by itself."""
        self.end()
        text = json.dumps(value_of(data), ensure_ascii=False)
        whole: Json = {"text": text, "tool_calls": []}
        self._held.append((None, {"kind": "custom", "agent": "", "whole": whole}))

    def end(self, *, failed: bool = False) -> None:
        """Complete the message that is being received."""
        pieces, self._pieces = self._pieces, []
        if not pieces:
            return
        data: dict[str, Json] = {
            "kind": self._from,
            "agent": "",
            "whole": _whole(pieces),
            "stream": [text for text in map(text_of, pieces) if text],
        }
        if failed:
            data["stream_error"] = "cut off"
        self._held.append((getattr(pieces[0], "tool_call_id", None), data))

    def close(self, *, failed: bool) -> None:
        """Put down all that was received."""
        self.end(failed=failed and self._model_failed())
        for of_tool, some in groupby(
            self._held, lambda held: held[1]["kind"] == "tool"
        ):
            held = list(some)
            if of_tool and len(held) > 1:
                order = self._call_order()
                held.sort(key=lambda each: order.get(each[0] or "", 0))
            for call_id, data in held:
                self._recorder.add("event", data, call_id)
        self._held.clear()

    def _model_failed(self) -> bool:
        """Tell whether it is the model's stream that was cut, and not a later call."""
        last = self._recorder.last("model_response", "model_error")
        return last is not None and last.kind == "model_error"

    def _call_order(self) -> Mapping[str, int]:
        """Return the places of the calls of all responses so far."""
        order = {call: at for at, call in enumerate(self._recorder.earlier_calls)}
        for each in self._recorder.trace().of("model_response"):
            message = cast("Mapping[str, Any]", each.data["message"])
            for call in message.get("tool_calls", ()):
                order[call["id"]] = len(order)
        return order


def _source(metadata: Mapping[str, Any], message: BaseMessage) -> str:
    """Return who said it; names of nodes are the author's choice, and say nothing."""
    if isinstance(message, ToolMessage):
        return "tool"
    if metadata.get(OWN) or (message.id or "").startswith(OF_A_MODEL):
        return "model"
    return "hook"


def _whole(pieces: Sequence[BaseMessage]) -> Json:
    text = "".join(map(text_of, pieces))
    chunks = [each for each in pieces if isinstance(each, AIMessageChunk)]
    whole = reduce(add, chunks) if chunks else pieces[0]
    found = calls_of(whole) if isinstance(whole, AIMessage) else {}
    calls: Any = found.get("tool_calls", ())
    return {
        "text": text,
        "tool_calls": [[c["id"], c["name"], c["arguments"]] for c in calls],
    }

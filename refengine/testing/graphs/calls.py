"""How a graph is called: in which way, on virtual time, and with what.

A hook that is only async fails in ``invoke``, and one that is only plain may fail in
``ainvoke``. That is how a graph is called, not what it does, so a session is played
again the other way (verdicts, channel k).

``RunSpec.options`` are values that a caller has by name, such as who is asking. A graph
gets them wherever it may look for them: in ``config["configurable"]``, as the runtime's
context, and in its input as far as its state names them.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, SupportsFloat, SupportsIndex, TypeVar

from langchain_core.messages import BaseMessage

from refengine.messages import Json
from refengine.testing.clock import Clock, VirtualLoop
from refengine.testing.json_values import is_mapping
from refengine.testing.subjects import Way

_ONE_WAY: Final = {
    "sync": re.compile(
        r"No synchronous function provided"
        r"|Synchronous implementation of \w+ is not available"
        r"|does not support sync invocation"
        r"|does not support synchronous invocation"
    ),
    "async": re.compile(
        r"Asynchronous implementation of \w+ is not available"
        r"|does not support async"
        r"|No asynchronous function provided"
    ),
}
"""What the frameworks say; tests hold it against the installed ones."""


def cannot_run(way: Way, error: BaseException) -> bool:
    """Tell whether a graph failed only because of the way in which it was run."""
    if not isinstance(error, (TypeError, NotImplementedError)):
        return False
    return _ONE_WAY[way].search(str(error)) is not None


T = TypeVar("T")


def run_on(clock: Clock, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a virtual loop, whose time is that of the session."""

    def loop() -> VirtualLoop:
        clock.loop = VirtualLoop()
        return clock.loop

    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(main)
    finally:
        clock.loop = None


@contextmanager
def no_waiting(clock: Clock) -> Generator[None, None, None]:
    """Have ``time.sleep`` move the clock: what retries with a pause costs no time."""
    slept = time.sleep

    def sleep(seconds: SupportsFloat | SupportsIndex) -> None:
        clock.sleep(float(seconds))

    time.sleep = sleep
    try:
        yield
    finally:
        time.sleep = slept


_BY_TYPE: Final[Mapping[str, Json]] = MappingProxyType(
    {"string": "a", "integer": 1, "number": 1.0, "boolean": True}
)
"""What a field of a context is that a run has no value for, and that must be there."""
MESSAGES: Final = "messages"


class Given(dict[str, Any]):
    """Named values; also none of them are something, or a graph is given no context."""

    def __bool__(self) -> bool:
        return True


class GivenTo:
    """What one graph is given; its schemas are read once, if a run has options."""

    def __init__(self, graph: Any) -> None:  # noqa: ANN401  # a graph of any framework
        self._graph = graph

    @cached_property
    def _context(self) -> Mapping[str, Any]:
        return _schema(self._graph, "get_context_jsonschema")

    @cached_property
    def _input(self) -> Mapping[str, Any]:
        return _schema(self._graph, "get_input_jsonschema")

    def input(
        self, messages: Sequence[BaseMessage], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the input of a run."""
        known: Mapping[str, Any] = self._input.get("properties", {}) if options else {}
        more = {key: value for key, value in options.items() if key in known}
        return {**more, MESSAGES: list(messages)}

    def context(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the context of a run; all options where no schema names its fields."""
        if getattr(self._graph, "context_schema", None) is None:
            return Given(options)
        fields = self._context.get("properties")
        if fields is None:
            return dict(options)
        found = {key: value for key, value in options.items() if key in fields}
        for key in self._context.get("required", ()):
            found.setdefault(key, _value(fields.get(key, {})))
        return found


def _value(field: Mapping[str, Any]) -> Json:
    if field.get("enum"):
        first: Json = field["enum"][0]
        return first
    return _BY_TYPE.get(str(field.get("type")))


def _schema(graph: Any, method: str) -> Mapping[str, Any]:  # noqa: ANN401  # a graph of any framework
    """Return a schema of the graph, empty where JSON cannot say it."""
    try:
        found = getattr(graph, method)()
    except Exception:  # noqa: BLE001  # types without a schema are the subject's right
        return {}
    return found if is_mapping(found) else {}

"""How a graph is called: in which way, on virtual time, and with what.

A hook that is only async fails in ``invoke``, and one that is only plain may fail in
``ainvoke``. That is how a graph is called, not what it does, so a session is played
again the other way (verdicts, channel k).

A caller gives values by name, such as who is asking: as ``config["configurable"]``, as
the runtime's context, as metadata, or in the input as far as the state names them. Each
is a door of its own, and ``RunSpec.doors`` says what comes by which, as OLD's caller
gives it; ``RunSpec.options`` come by every one that the graph has for them. A graph
whose ``context_schema`` names a value says by this that its caller gives it there; a
subject may say the same of any door by ``world.as_langchain().takes``.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from langchain_core.messages import BaseMessage

from refengine.messages import Json
from refengine.testing.json_values import is_mapping
from refengine.testing.points import is_foreign, steps_of
from refengine.testing.scenario import RunSpec, ValueDoor
from refengine.testing.subject_worlds.named_values import (
    CONFIGURABLE,
    CONTEXT,
    METADATA,
    STATE,
)
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


_BY_TYPE: Final[Mapping[str, Json]] = MappingProxyType(
    {"string": "a", "integer": 1, "number": 1.0, "boolean": True}
)
"""What a field of a context is that a run has no value for, and that must be there."""
MESSAGES: Final = "messages"
INSTALLED: Final = "site-packages"

Doors: TypeAlias = "Mapping[str, frozenset[str]]"
"""Through which doors a subject's source looks for each name."""


NOT_MOVED: Final[Mapping[str, ValueDoor]] = MappingProxyType({})


class Given(dict[str, Any]):
    """Named values; also none of them are something, or a graph is given no context."""

    def __bool__(self) -> bool:
        return True


class GivenTo:
    """What one graph is given; its schemas are read once, if a run has values."""

    def __init__(
        self,
        graph: Any,  # noqa: ANN401  # a graph of any framework
        doors: Doors,
        moved: Mapping[str, ValueDoor] = NOT_MOVED,
        *,
        looks: bool = False,
    ) -> None:
        """Give values to ``graph``, whose source looks for them through ``doors``.

        Those that ``moved`` names its caller gives by that door, whatever OLD's does.
        Where the source ``looks`` whether there is a context, one of nothing is none.
        """
        self._graph = graph
        self._looks = looks
        self._doors = doors
        self._moved = moved

    @cached_property
    def _context(self) -> Mapping[str, Any]:
        return _schema(self._graph, "get_context_jsonschema")

    @cached_property
    def _input(self) -> frozenset[str]:
        """The keys of its input, as its schema has them or as they are declared.

        Before Python 3.12 there is no schema of a state that is a ``TypedDict`` of
        ``typing``, as states written by hand often are.
        """
        found = _schema(self._graph, "get_input_jsonschema").get("properties")
        builder = getattr(self._graph, "builder", None)
        declared = getattr(builder, "input_schema", None)
        return frozenset(found or ()) | _declared_by(declared)

    @property
    def _declares(self) -> bool:
        return getattr(self._graph, "context_schema", None) is not None

    def input(
        self, messages: Sequence[BaseMessage], left: Mapping[str, Any], run: RunSpec
    ) -> dict[str, Any]:
        """Return the input of a run; ``left`` are values that an earlier one left."""
        values = {**left, **self._by(STATE, run)}
        known = self._input if values else frozenset[str]()
        more = {key: value for key, value in values.items() if key in known}
        return {**more, MESSAGES: list(messages)}

    def configurable(self, run: RunSpec) -> dict[str, Any]:
        """Return what is given as configurable."""
        return self._by(CONFIGURABLE, run)

    def context(self, run: RunSpec) -> dict[str, Any] | None:
        """Return the context of a run; all of it where no schema names its fields."""
        given = self._context_of(run)
        return None if self._looks and not [*given] else given

    def _context_of(self, run: RunSpec) -> dict[str, Any]:
        values = self._by(CONTEXT, run)
        if not self._declares:
            return Given(values)
        fields = self._context.get("properties")
        if fields is None:
            return values
        found = {key: value for key, value in values.items() if key in fields}
        if getattr(self._graph.context_schema, "__total__", None) is not None:
            return found
        for key in self._context.get("required", ()):
            found.setdefault(key, _value(fields.get(key, {})))
        return found

    def metadata(self, run: RunSpec) -> dict[str, Any]:
        """Return what is given as metadata: what the source looks for there."""
        return self._by(METADATA, run)

    def _by(self, door: str, run: RunSpec) -> dict[str, Any]:
        """Return the values that come by one door of this graph's."""
        found = {k: v for k, v in run.options.items() if self._may_come(k, door)}
        own = sorted(run.doors.items(), key=lambda each: each[0] == door)  # goes last
        for given, values in own:
            found |= {k: v for k, v in values.items() if self._door(k, given) == door}
        return found

    def _door(self, name: str, given: str) -> str:
        """Return by which door this graph's caller gives what OLD's gives by that."""
        return self._moved.get(name) or (
            CONTEXT if self._by_context_alone(name) else given
        )

    def _may_come(self, name: str, door: str) -> bool:
        """Tell whether a value that nobody says the door of comes by this one."""
        if name in self._moved:
            return self._moved[name] == door
        if door == METADATA:
            return METADATA in self._doors.get(name, ())
        return door != CONFIGURABLE or not self._by_context_alone(name)

    def _by_context_alone(self, name: str) -> bool:
        """Tell whether a caller of this graph gives the value as its context only."""
        doors = self._doors.get(name, frozenset())
        if CONTEXT in doors and CONFIGURABLE in doors:
            return False
        fields: Mapping[str, Any] = self._context.get("properties") or {}
        return self._declares and name in fields


def _declared_by(state: object) -> frozenset[str]:
    """Return the keys that a ``TypedDict`` declares, with those of its bases."""
    keys = ("__required_keys__", "__optional_keys__")
    return frozenset[str]().union(*(getattr(state, key, ()) for key in keys))


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


def is_of_own_schema(error: BaseException, graph: Any) -> bool:  # noqa: ANN401  # a graph of any framework
    """Tell whether a state or a context was refused by a class of the subject's own.

    What such a class takes is what its author says, and no rule of a framework's.
    """
    last = [*steps_of(error.__traceback__)][-1:]
    # Of pydantic's ``__init__``, which makes an object of what it is given.
    kinds: list[type] = [type(at.tb_frame.f_locals.get("self")) for at in last]
    own = [each for each in kinds if _is_own(each)]
    if not own:  # as mostly; and a graph makes a class when its schema is asked for
        return False
    builder = getattr(graph, "builder", None)
    names = ("state_schema", "input_schema", "context_schema")
    known = [getattr(of, each, None) for of in (graph, builder) for each in names]
    return any(each in known for each in own)


def _is_own(kind: type) -> bool:
    """Tell whether a class is defined in a file that is not an installed one."""
    file: object = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return isinstance(file, str) and not is_foreign(file)


def sources_of(subject: Callable[..., object]) -> tuple[str, ...]:
    """Return the texts of a subject's own modules, none where there are no files.

    Its own are that which defines it and those loaded from the same folder.
    """
    code = getattr(inspect.unwrap(subject), "__code__", None)
    return () if code is None else _texts(code.co_filename, len(sys.modules))


@lru_cache(maxsize=8)
def _texts(first: str, _modules: int) -> tuple[str, ...]:
    """Return the text of a file and of the modules beside it, of so many loaded."""
    folder = f"{Path(first).parent}{os.sep}"  # a Path for each module takes too long
    files = {first: None}
    for module in list(sys.modules.values()):
        file: object = getattr(module, "__file__", None)
        own = isinstance(file, str) and INSTALLED not in file
        if own and str(file).startswith(folder):
            files[str(file)] = None
    return tuple(text for text in map(_text, files) if text is not None)


def _text(file: str) -> str | None:
    try:
        return Path(file).read_text("utf-8", "replace")
    except OSError:
        return None

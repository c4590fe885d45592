"""A subject's extensions in another order: each list, with one of its entries moved.

    ordering = Ordering([Move("handlers", "redact", "log", behind=True)])
    ordering.watch()                                # before the subject is imported
    got = ordering.applied(subject(world), world)
    ordering.lists["handlers"]                      # [("redact", "log")], as given

Struct middlewares, handlers and wrappers of tools stand in what a subject returns. The
list that ``create_agent`` of LangChain takes can be reached only where it is called, so
that function is replaced; what unwinds or wraps follows from the list. Plugins of ADK
stand in its runner, and its agents have lists of callbacks.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, TypeVar, cast

from refengine.agent import ChatModelAgentConfig
from refengine.extensions import numbered
from refengine.struct_middleware import AgentMiddleware
from refengine.testing.json_values import is_list
from refengine.testing.subjects import ADK, is_of
from refengine.testing.world import World
from refengine.tools import ToolMiddleware

T = TypeVar("T")

STRUCTS: Final = "middlewares"
HANDLERS: Final = "handlers"
WRAPS: Final = "tool_call_middlewares"
OF_LANGCHAIN: Final = "middleware of create_agent"
FACTORY: Final = "langchain.agents.factory"
"""The module in which LangChain builds an agent of a list."""
HOOKS: Final = ("before_chat_model", "after_chat_model", "wrap_tool_call")
KINDS: Final = ("invokable", "streamable")
UNNAMED: Final = "struct"


@dataclass(frozen=True, slots=True)
class Move:
    """One entry of a list is put ``behind`` another one, or before it.

    Where it stands there already, or one of both is missing, nothing is moved.
    """

    place: str
    name: str
    other: str
    behind: bool

    def applied(self, names: Sequence[str]) -> list[int]:
        """Return the places of the entries in their new order."""
        order = [*range(len(names))]
        if self.name not in names or self.other not in names:
            return order
        at, to = names.index(self.name), names.index(self.other)
        if (at < to) is self.behind:
            order.insert(to, order.pop(at))
        return order


class Ordering:
    """What lists a subject gave, and the moves that are made in them."""

    def __init__(self, moves: Iterable[Move]) -> None:
        self._moves = tuple(moves)
        self._agents = 0
        self._told = 0
        self.lists: dict[str, list[tuple[str, ...]]] = {}
        """The names in each list, as given, each way in which it was seen."""

    @property
    def reply(self) -> dict[str, Any]:
        """What a reply says of lists that are new."""
        every = [(place, seen) for place, some in self.lists.items() for seen in some]
        if len(every) == self._told:
            return {}
        self._told = len(every)
        return {"lists": every}

    def watch(self) -> None:
        """Stand before ``create_agent``, now or once it is imported."""
        module = sys.modules.get(FACTORY)
        if module is None:
            sys.meta_path.insert(0, cast("Any", self))
        else:
            self._stand_before(module)

    def begin(self) -> None:
        """Hear that a session begins, which counts its agents anew."""
        self._agents = 0

    def applied(self, got: object, world: World) -> object:
        """Return what a subject returned with its entries moved."""
        if isinstance(got, ChatModelAgentConfig):
            return self._configured(got, world)
        if is_of(ADK, got):
            from refengine.testing.adk.lists import with_lists_moved  # noqa: PLC0415  # an extra

            return with_lists_moved(got, self._moved)
        if not is_list(got):
            return got
        structs = [each for each in got if isinstance(each, AgentMiddleware)]
        others = [each for each in got if not isinstance(each, AgentMiddleware)]
        return [*self._moved(STRUCTS, structs), *self._moved(HANDLERS, others)]

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return what the other finders find of LangChain's factory, replaced then."""
        if fullname != FACTORY:
            return None
        finders = (each for each in [*sys.meta_path] if each is not cast("Any", self))
        found = (each.find_spec(fullname, path, target) for each in finders)
        spec = next((each for each in found if each is not None), None)
        loader: Any = None if spec is None else spec.loader
        if loader is None:
            return spec
        executes = loader.exec_module

        def execute(module: ModuleType) -> None:
            executes(module)
            self._stand_before(module)

        with suppress(AttributeError):  # it has slots
            loader.exec_module = execute
        return spec

    def _stand_before(self, module: ModuleType) -> None:
        plain: Callable[..., object] = module.create_agent

        @functools.wraps(plain)
        def create_agent(*given: object, **named: Any) -> object:  # noqa: ANN401  # LangChain's
            self._agents += 1
            many = f" {self._agents}" if self._agents > 1 else ""
            middleware = self._moved(f"{OF_LANGCHAIN}{many}", named.get("middleware"))
            return plain(*given, **{**named, "middleware": middleware})

        for each in (module, sys.modules.get(FACTORY.rpartition(".")[0])):
            if getattr(each, "create_agent", None) is plain:
                setattr(each, "create_agent", create_agent)  # noqa: B010  # of a module

    def _configured(
        self, config: ChatModelAgentConfig, world: World
    ) -> ChatModelAgentConfig:
        """Return a configuration whose own entries are moved, each list's."""

        def moved(place: str, entries: Sequence[T]) -> list[T]:
            own = [each for each in entries if not world.owns(each)]
            left = iter(self._moved(place, own))
            return [each if world.owns(each) else next(left) for each in entries]

        tools = config.tools_config
        wraps = moved(WRAPS, tools.tool_call_middlewares)
        return replace(
            config,
            middlewares=tuple(moved(STRUCTS, config.middlewares)),
            handlers=tuple(moved(HANDLERS, config.handlers)),
            tools_config=replace(tools, tool_call_middlewares=wraps),
        )

    def _moved(self, place: str, given: Iterable[T] | None) -> list[T]:
        entries = [*(given or ())]
        names = tuple(numbered([*map(name_of, entries)]))
        seen = self.lists.setdefault(place, [])
        if names not in seen:
            seen.append(names)
        for move in self._moves:
            if move.place == place:
                order = move.applied(names)
                entries, names = (
                    [entries[at] for at in order],
                    tuple(names[at] for at in order),
                )
        return entries


def name_of(entry: object) -> str:
    """Return what a report calls an entry: its name, or that of its first callback."""
    name = getattr(entry, "name", None)
    if isinstance(name, str) and name:
        return name
    for hook in _callbacks(entry):
        named = str(getattr(hook, "__qualname__", "<"))
        named = named.replace(".<locals>", "").removeprefix("subject.")
        if "<" not in named:
            return named
    return UNNAMED if isinstance(entry, AgentMiddleware) else type(entry).__name__


def _callbacks(entry: object) -> Iterable[object]:
    """Yield what a struct middleware, or a pair of wrappers, calls, or the callback."""
    if isinstance(entry, ToolMiddleware):
        yield from (made for kind in KINDS if (made := getattr(entry, kind)))
    elif inspect.isroutine(entry):
        yield entry
    elif isinstance(entry, AgentMiddleware):
        for field in HOOKS:
            hook: object = getattr(entry, field)
            if isinstance(hook, ToolMiddleware):
                yield from _callbacks(hook)
            elif hook is not None:
                yield hook


def moves_of(request: Mapping[str, Any]) -> list[Move] | None:
    """Return the moves that a call of ``load`` has; None where no list is told."""
    asked = request.get("order")
    return None if asked is None else [Move(**each) for each in asked]

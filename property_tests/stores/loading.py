"""Loading a store by the text that names it: what can be judged, or why not.

A store is any object with ``async`` methods ``append``, ``read``, ``delete`` and
``keys`` (``refengine.state.CheckpointStore``). What the text names is a class or a
function. It is called for every store that is needed:

- with one argument, if it takes one: a ``Path`` in a folder of its own. Nothing stands
  there the first time; make a file or a folder of that name, or take its text for the
  name of a table. The same path later, perhaps in another process, is the same place.
- without, if it takes none: then it gives an empty store, in memory.

Beside its methods a store may have

- ``capabilities``: those of ``STORE_CAPABILITIES`` that it has,
- ``name`` and ``version``: texts for reports,
- ``aclose`` or ``close``: called where it is no longer needed,
- ``files``: a method that returns the files to which it appends.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from compat.engines.importing import EngineFactory, apart, find
from compat.engines.load_errors import LoadError, NotAReferenceError, NotCallableError
from property_tests.stores.errors import (
    BrokenStoreFactoryError,
    NotAStoreError,
    NotAStoreReferenceError,
    StoreArgumentsError,
    UnknownStoreCapabilityError,
    UselessStoreCapabilityError,
)

STORE_CAPABILITIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "threads": "event loops, one after the other and of several threads, share it",
        "lasting": "what is kept outlives the object and the process",
        "processes": "several objects and processes use one place at the same time",
        "files": "files() names the files to which it appends",
    }
)
"""What a store may decline, and in what a judgement then leaves it alone.

One that says nothing has all that its factory lets it have: ``threads`` always,
``lasting`` and ``processes`` if the factory takes a path, ``files`` if it has a method
of that name.
"""
PLACED: Final = ("lasting", "processes", "files")
"""Those that need a place."""
METHODS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "append": ("key", "seq", "record"),
        "read": ("key",),
        "delete": ("key",),
        "keys": (),
    }
)
"""What a store has, and what each is called with, by position."""


@dataclass(frozen=True, slots=True)
class StoreDoor:
    """A store that can be judged: what makes one, and what it says of itself."""

    text: str
    name: str
    version: str
    capabilities: frozenset[str]
    takes_path: bool
    found: EngineFactory

    def make(self, place: Path) -> Any:  # noqa: ANN401  # a stranger's object
        """Return a store at that place; raises LoadError."""
        return _made(self.found, self.takes_path, place)


def load_store(text: str, place: Path) -> StoreDoor:
    """Return the store that a text names, looked at in one made at ``place``.

    Raises LoadError.
    """
    found = _found(text)
    takes_path = _takes_path(found)
    store = _made(found, takes_path, place)
    for method, arguments in METHODS.items():
        _check_method(text, store, method, arguments)
    name = getattr(store, "name", None)
    version = getattr(store, "version", None)
    return StoreDoor(
        text,
        name if isinstance(name, str) and name else text.rpartition(":")[2],
        version if isinstance(version, str) else "",
        _capabilities(text, store, takes_path=takes_path),
        takes_path,
        found,
    )


def _found(text: str) -> EngineFactory:
    if ":" not in text:
        raise NotAStoreReferenceError(text, "it does not say which class or function")
    try:
        return find(text)
    except NotCallableError as error:
        why = "what it names is neither a class nor a function"
        if all(hasattr(error.got, each) for each in METHODS):
            why = "what it names is a store already, and every world needs its own"
        raise NotAStoreReferenceError(text, why) from error
    except NotAReferenceError as error:
        why = "it is not a module, or no name in one"
        raise NotAStoreReferenceError(text, why) from error


def _takes_path(found: EngineFactory) -> bool:
    """Tell whether the factory is given a path; raises StoreArgumentsError."""
    try:
        signature = inspect.signature(found.factory)
    except (TypeError, ValueError):  # one that does not tell is given none
        return False
    for given in ((Path(),), ()):
        try:
            signature.bind(*given)
        except TypeError:
            continue
        return bool(given)
    raise StoreArgumentsError(found.text, str(signature))


def _made(found: EngineFactory, takes_path: bool, place: Path) -> Any:  # noqa: ANN401  # as above
    factory = cast("Callable[..., Any]", found.factory)
    try:
        with apart(found.folder):
            store = factory(place) if takes_path else factory()
    except (Exception, SystemExit) as error:
        raise BrokenStoreFactoryError(found.text, found.error_line(error)) from error
    if inspect.iscoroutine(store):
        store.close()
        why = "the factory is async: make it a plain function, and connect when used"
        raise NotAStoreError(found.text, store, why)
    if isinstance(store, type):
        why = "the factory returned a class: return an object of it"
        raise NotAStoreError(found.text, store, why)
    return store


def _check_method(
    text: str, store: object, method: str, arguments: tuple[str, ...]
) -> None:
    """Raise NotAStoreError unless the method can be awaited with those positions."""
    shown = f"async def {method}({', '.join(('self', *arguments))})"
    call = getattr(store, method, None)
    if not callable(call):
        raise NotAStoreError(text, store, f"it has no method {method}: {shown}")
    if not inspect.iscoroutinefunction(call):
        why = f"its {method} is not async: {shown}"
        raise NotAStoreError(text, store, why)
    try:
        inspect.signature(call).bind(*arguments)
    except TypeError:
        why = f"its {method} takes {inspect.signature(call)}: {shown}"
        raise NotAStoreError(text, store, why) from None


def _capabilities(text: str, store: object, *, takes_path: bool) -> frozenset[str]:
    declared: object = getattr(store, "capabilities", None)
    if declared is None:
        found = {"threads", *(("lasting", "processes") if takes_path else ())}
        return frozenset({*found, *(("files",) if hasattr(store, "files") else ())})
    if isinstance(declared, str | Mapping) or not isinstance(declared, Iterable):
        why = f"its capabilities are {declared!r}: give a set of names"
        raise NotAStoreError(text, store, why)
    names = [str(each) for each in cast("Iterable[object]", declared)]
    for each in names:
        if each not in STORE_CAPABILITIES:
            raise UnknownStoreCapabilityError(text, each, [*STORE_CAPABILITIES])
        _check_capability(text, store, each, names, takes_path=takes_path)
    return frozenset(names)


def _check_capability(
    text: str, store: object, name: str, names: list[str], *, takes_path: bool
) -> None:
    why = ""
    if name in PLACED and not takes_path:
        why = "the factory takes no path, so no other object can find what it keeps"
    elif name == "files" and not callable(getattr(store, "files", None)):
        why = "it has no method files()"
    elif name in {"processes", "files"} and "lasting" not in names:
        why = "that needs 'lasting' as well"
    if why:
        raise UselessStoreCapabilityError(text, name, why)


__all__ = [
    "METHODS",
    "STORE_CAPABILITIES",
    "LoadError",
    "StoreDoor",
    "load_store",
]

"""What a subject's code did to the process that it shares with the harness.

    whole = Wholeness.now()
    ...                     # own code is imported, and sessions are played
    whole.mend()            # "it replaces json.dumps", and json.dumps is as it was
    whole.damage(error)     # "it removes the folder that it runs in"

A harness that was taken apart breaks down in code of its own, so it looks for the
cause before it is blamed. To be able to say it, it first puts back what it needs.
"""

from __future__ import annotations

import asyncio
import builtins
import copy
import errno
import io
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Self

LIMITS: Final = ("AS", "CPU", "DATA", "FSIZE", "NOFILE", "NPROC", "STACK")
STOPPED: Final = MappingProxyType(
    {
        "Event loop stopped before Future completed.": "stops",
        "no running event loop": "unsets",
    }
)
"""How asyncio puts it, in a RuntimeError of no class of its own, and what was done."""
NEEDED: Final = (builtins, os, os.path, io, json, time, copy, asyncio)
"""Modules whose functions the harness calls wherever it runs."""
DESCRIPTORS: Final = "/dev/fd"
MOST: Final = 1 << 16
"""Descriptors that are asked for, at most."""
LEFT_OPEN: Final = 32
"""So many descriptors more than before are no few that a session may leave."""

_zip: Final = zip
_callable: Final = callable
_getattr: Final = getattr
_str: Final = str
"""As they were when this was imported: user code may have others in their place."""


@dataclass(frozen=True, slots=True)
class Wholeness:
    """A process as it was before a subject's code ran in it."""

    pid: int
    folder: str
    modules: frozenset[str]
    limits: Mapping[str, int]
    recursion: int
    opened: int
    finders: tuple[Any, ...]
    names: tuple[Mapping[str, Any], ...]

    @classmethod
    def now(cls) -> Self:
        """Return this process as it is."""
        return cls(
            os.getpid(),
            os.getcwd(),  # noqa: PTH109  # as a text
            frozenset(sys.modules),
            _limits(),
            sys.getrecursionlimit(),
            _listed(),
            tuple(sys.meta_path),
            tuple(dict(vars(each)) for each in NEEDED),
        )

    def with_modules(self) -> Self:
        """Return it with the modules that are there now."""
        return replace(self, modules=frozenset(sys.modules))

    def mend(self) -> str:
        """Put back what no code runs without; return what was first not as it was.

        Of Python's functions none is called before its own are back.
        """
        found = ""
        if self.recursion > sys.getrecursionlimit():
            limit = sys.getrecursionlimit()
            sys.setrecursionlimit(self.recursion)
            found = f"it sets the recursion limit of its process to {limit}"
        for module, names in _zip(NEEDED, self.names):
            for name, value in names.items():
                there = module.__dict__
                now = there.get(name)
                if _callable(value) and now is not value and not _is_ours(now):
                    lost = "replaces" if name in there else "removes"
                    found = found or f"it {lost} {module.__name__}.{name}"
                    there[name] = value
        for finder in self.finders:
            if finder not in sys.meta_path:
                sys.meta_path.append(finder)
                found = found or "it takes finders out of sys.meta_path"
        return found

    def damage(self, error: BaseException) -> str:
        """Return what was done to the process, "" where nothing shows."""
        return next(self._damages(error), "")

    def _damages(self, error: BaseException) -> Iterator[str]:
        if not os.path.isdir(self.folder):  # noqa: PTH112  # as a text
            yield "it removes the folder that it runs in"
        for name in sorted(self.modules - sys.modules.keys()):
            yield f"it takes {name!r} out of sys.modules"
        for name, limit in _limits().items():
            if limit != self.limits[name]:
                yield f"it sets the limit RLIMIT_{name} of its process to {limit}"
        if _has_too_many(error) and (more := _opened() - self.opened) > LEFT_OPEN:
            yield f"it leaves {more} descriptors open"
        if str(error) in STOPPED:
            yield f"it {STOPPED[str(error)]} the event loop that it runs in"
        if any(each.get_task_factory() for each in _loops(error)):
            yield "it sets a task factory for the event loop that it runs in"


def _is_ours(function: object) -> bool:
    """Tell whether it is of the harness, as what has ``time.sleep`` move a clock."""
    module: Any = _getattr(function, "__module__", None)
    return module.__class__ is _str and module.startswith("refengine.")


def _has_too_many(error: BaseException) -> bool:
    return any(
        isinstance(each, OSError) and each.errno == errno.EMFILE
        for each in _causes(error)
    )


def _loops(error: BaseException) -> Iterator[asyncio.AbstractEventLoop]:
    """Yield the event loops of the functions that an error came through."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for each in frame.f_locals.values():
            if isinstance(each, asyncio.AbstractEventLoop):
                yield each


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    inner: BaseException | None = error
    while inner is not None and inner not in seen:
        seen.append(inner)
        yield inner
        inner = inner.__cause__ or inner.__context__


def _listed() -> int:
    """Return how many descriptors are open, as the system lists them."""
    try:
        return len(os.listdir(DESCRIPTORS))  # noqa: PTH208  # many, as texts
    except OSError:  # a system without that list
        return _opened()


def _opened() -> int:
    """Return how many descriptors are open; each is asked, as none may be left."""
    limit = _limits().get("NOFILE", 0)
    return sum(map(_is_open, range(min(limit, MOST) if limit > 0 else MOST)))


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _limits() -> dict[str, int]:
    if sys.platform == "win32":
        return {}
    import resource  # noqa: PLC0415  # not on every system

    return {
        name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0]
        for name in LIMITS
    }

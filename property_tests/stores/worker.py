"""The child that has a store: it makes calls on it, tells what came, and may be killed.

The parent never imports a store. Objects are made when they are first used, and known
by their place and their name.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import sysconfig
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeAlias, TypeVar, cast

from compat.engines.load_errors import LoadError
from property_tests.stores.calls import raced, record_of, shown
from property_tests.stores.loading import StoreDoor, load_store
from refengine.state.store_errors import (
    CheckpointConflictError,
    CheckpointNotFoundError,
    StoreKeyError,
    StoreRecordError,
)
from refengine.testing import child
from refengine.testing.child import CallError, Connection, Function, Params

Reply: TypeAlias = "dict[str, Any]"
T = TypeVar("T")

SPREAD: Final = 12
"""So many lines of a call are points to be killed at, beside those after changes."""
TRIES: Final = 500
"""So often a racer is refused one after the other before it gives up."""
NAMED: Final = (
    CheckpointConflictError,
    CheckpointNotFoundError,
    StoreKeyError,
    StoreRecordError,
)
"""What the protocol of a store says that it raises."""


def answer(error: BaseException) -> Reply:
    """Return what is told of an error: its class, if the protocol knows it."""
    for kind in NAMED:
        if isinstance(error, kind):
            found: Reply = {"error": kind.__name__}
            if isinstance(error, CheckpointConflictError):
                found["fields"] = [error.key, error.seq, error.have]
            return found
    return {"error": type(error).__name__, "text": str(error)[:400]}


class StoreWorker:
    """The store, its objects by place and name, and the loop that they live in."""

    def __init__(self, text: str, connection: Callable[[], Connection]) -> None:
        self._text = text
        self._connection = connection
        self._runner = asyncio.Runner()
        self._door: StoreDoor | None = None
        self._objects: dict[tuple[str, str], Any] = {}
        self._doom = Doom()

    def door(self, params: Params) -> Reply:
        """Load the store, with one made at a place of its own; say what it is."""
        door = self._door = load_store(self._text, Path(params["place"]))
        return {
            "name": door.name,
            "version": door.version,
            "capabilities": sorted(door.capabilities),
        }

    def play(self, params: Params) -> list[Reply]:
        """Make calls one after the other; tell what came of each."""
        return [self._one(params["place"], each) for each in params["steps"]]

    def race(self, params: Params) -> list[Reply]:
        """Let several append at the same time, as tasks or as threads."""
        for by, _ in params["racers"]:
            self._object(params["place"], by)  # one for all, made before they begin
        climbs = [
            partial(self._climb, params["place"], each, params["step"])
            for each in params["racers"]
        ]
        if params["step"]["how"] == "threads":
            return _in_threads(climbs)
        return self._run(_together(climbs))

    def trace(self, _: Params) -> None:
        """Follow the store's code in every thread from here on, to be killed in it."""
        threading.settrace(self._doom.follow)
        sys.settrace(self._doom.follow)

    def sound(self, params: Params) -> Sequence[int]:
        """Make a call, and return the lines at which to be killed in it."""
        self._doom.begin(Path(params["place"]).parent)
        self._one(params["place"], {**params["step"], "do": params["step"]["call"]})
        return self._doom.points()

    def doom(self, params: Params) -> Reply:
        """Make a call, and be killed in it or, at the latest, when it is done."""
        step = params["step"]
        if step["after"]:
            self._run(self._burst(params["place"], step))
        self._doom.line = step["line"]
        self._one(params["place"], {**step, "do": step["call"]})
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    def files(self, params: Params) -> list[tuple[str, int]]:
        """Return the files that the store appends to, with their lengths."""
        store = self._object(params["place"], params["by"])
        paths = [Path(each) for each in store.files()]
        return [(str(each), each.stat().st_size) for each in paths if each.exists()]

    def forget(self, params: Params) -> None:
        """Close what was made at a place."""
        for place, by in [*self._objects]:
            if place == params["place"]:
                self._close(place, by)

    def _one(self, place: str, step: Mapping[str, Any]) -> Reply:
        do = step["do"]
        try:
            if do == "close":
                self._close(place, step["by"])
                return {"done": None}
            store = self._object(place, step["by"])
            if step["how"] == "loop":
                return asyncio.run(self._call(store, step))
            return self._run(self._call(store, step))
        except LoadError as error:
            return {"error": "LoadError", "text": str(error)}
        except Exception as error:  # noqa: BLE001  # of the store: what is judged
            return answer(error)

    async def _call(self, store: Any, step: Mapping[str, Any]) -> Reply:  # noqa: ANN401  # a stranger's
        key = _key(step)
        match step["do"]:
            case "append":
                await store.append(key, step["seq"], _record(step))
            case "delete":
                await store.delete(key)
            case "read":
                return _rows(await store.read(key))
            case "spoil":
                _emptied(await store.read(key))
                _emptied(await store.keys())
            case "cancel":
                return await _cancelled(store, step)
            case _:
                return _keys(await store.keys())
        return {"done": None}

    async def _climb(self, place: str, by: Sequence[str], step: Params) -> Reply:
        """Append one record after the other, however often others are quicker."""
        store = self._object(place, by[0])
        found: Reply = {"safe": [], "reads": []}
        have = refused = 0
        for at in range(step["many"]):
            record = record_of(raced(step["record"], by[0], at), step["times"])
            while True:
                try:
                    await store.append(by[1], have, record)
                    break
                except CheckpointConflictError as error:
                    have, refused = error.have, refused + 1
                except Exception as error:  # noqa: BLE001  # told, and judged there
                    return {**found, **answer(error)}
                if refused > TRIES:
                    return {**found, "error": f"was refused {TRIES} times in a row"}
                await asyncio.sleep(0)
            refused = 0
            found["safe"].append([have, shown(record)])
            have += 1
            if at % 4 == 0:
                try:
                    found["reads"].append(_rows(await store.read(by[1])))
                except Exception as error:  # noqa: BLE001  # as above
                    return {**found, **answer(error)}
        return found

    async def _burst(self, place: str, step: Params) -> None:
        """Append until killed; the kernel does it, whatever Python is at."""
        store = self._object(place, step["by"])
        seq = step["seq"]
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, step["after"] / 1000)
        while True:
            text = raced(step["record"], step["by"], seq)
            record = record_of(text, step["times"])
            self._connection().call("begun", {"seq": seq, "record": shown(record)})
            await store.append(step["key"], seq, record)
            self._connection().call("safe", {"seq": seq, "record": shown(record)})
            seq += 1

    def _object(self, place: str, by: str) -> Any:  # noqa: ANN401  # a stranger's
        if (place, by) not in self._objects:
            if self._door is None:
                self._door = load_store(self._text, Path(f"{place}.looked-at"))
            self._objects[place, by] = self._door.make(Path(place))
        return self._objects[place, by]

    def _close(self, place: str, by: str) -> None:
        store = self._objects.pop((place, by), None)
        if hasattr(store, "aclose"):
            self._run(store.aclose())
        elif hasattr(store, "close"):
            closing = store.close()
            if asyncio.iscoroutine(closing):
                self._run(closing)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)


def _key(step: Mapping[str, Any]) -> object:
    keys = {"bytes": step["key"].encode, "int": lambda: 7, "no key": lambda: None}
    kind = step["kind"]
    return keys[kind]() if kind in keys else step["key"]


def _record(step: Mapping[str, Any]) -> object:
    record = record_of(step["record"], step["times"])
    match step["kind"]:
        case "bytearray":
            return bytearray(record)
        case "memoryview":
            return memoryview(record)
        case "str":
            return step["record"]
        case "None":
            return None
        case _:
            return record


def _rows(found: object) -> Reply:
    if not isinstance(found, Sequence) or isinstance(found, str | bytes):
        return {"type": type(found).__name__}
    return {"rows": [shown(each) for each in cast("Sequence[object]", found)]}


def _keys(found: object) -> Reply:
    if not isinstance(found, Sequence) or isinstance(found, str | bytes):
        return {"type": type(found).__name__}
    keys = cast("Sequence[object]", found)
    return {"keys": [e if isinstance(e, str) else f"{e!r}, no str" for e in keys]}


def _emptied(found: object) -> None:
    """Change what was returned, where it can be changed."""
    if isinstance(found, list):
        cast("list[object]", found).clear()


async def _cancelled(store: Any, step: Mapping[str, Any]) -> Reply:  # noqa: ANN401  # a stranger's
    task = asyncio.ensure_future(store.append(step["key"], step["seq"], _record(step)))
    for _ in range(step["many"]):
        await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return {"cancelled": True}
    return {"done": None}


Climb: TypeAlias = Callable[[], Coroutine[Any, Any, Reply]]


async def _together(climbs: Sequence[Climb]) -> list[Reply]:
    return list(await asyncio.gather(*(each() for each in climbs)))


def _in_threads(climbs: Sequence[Climb]) -> list[Reply]:
    """Run each in a thread and an event loop of its own, all begun together."""
    found: list[Reply] = [{"error": "the thread did not end"} for _ in climbs]
    gate = threading.Barrier(len(climbs))

    def work(at: int, climb: Climb) -> None:
        gate.wait()
        try:
            found[at] = asyncio.run(climb())
        except Exception as error:  # noqa: BLE001  # told, and judged there
            found[at] = {"safe": [], "reads": [], **answer(error)}

    threads = [
        threading.Thread(target=work, args=(at, climb))
        for at, climb in enumerate(climbs)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


class Doom:
    """Kills this process at a line of the store's code, counted from when it is set.

    Before that it sounds a call: which lines it has, and before which of them a file
    was changed. To be killed at any other would make the same state again.
    """

    def __init__(self) -> None:
        self.line = 0
        self._folder: Path | None = None
        self._changes: list[int] = []
        self._lines = 0
        self._state: object = None
        library = sysconfig.get_paths()
        self._packages = tuple({library["purelib"], library["platlib"]})
        self._library = library["stdlib"]
        self._ours = {__file__, child.__file__}

    def follow(self, frame: FrameType, event: str, _: object) -> Any:  # noqa: ANN401  # Python's own type
        """Count a line; a tracer for ``sys.settrace``."""
        if not self._is_of_store(frame.f_code.co_filename):
            return None
        if event == "line" and self._folder is not None:
            self._look(self._folder)
        if event == "line" and self.line:
            self.line -= 1
            if not self.line:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.follow

    def begin(self, folder: Path) -> None:
        """Look from here on at the lines, and at what they change in the folder."""
        self._folder, self._state = folder, _state(folder)

    def points(self) -> Sequence[int]:
        """Return the lines to be killed at: after each change, then others, spread."""
        self._folder = None
        step = max(self._lines // SPREAD, 1)
        spread = range(1, self._lines + 2, step)  # at the last one it has come back
        return [*dict.fromkeys((*self._changes, *spread))]

    def _look(self, folder: Path) -> None:
        self._lines += 1
        state = _state(folder)
        if state != self._state:
            self._changes.append(self._lines)
            self._state = state

    def _is_of_store(self, file: str) -> bool:
        """Tell whether it is a store's own: neither Python's library nor ours."""
        if file in self._ours or file.startswith("<"):
            return False
        return file.startswith(self._packages) or not file.startswith(self._library)


def _state(folder: Path) -> object:
    """Return what stands in a folder, and how long and old it is."""
    found: list[tuple[str, int, int]] = []
    for where, _, files in os.walk(folder):
        for name in files:
            with suppress(FileNotFoundError):
                state = Path(where, name).stat()
                found.append((name, state.st_size, state.st_mtime_ns))
    return sorted(found)


def functions(worker: StoreWorker) -> Mapping[str, Function]:
    """Return what can be called."""
    named = (
        worker.door,
        worker.play,
        worker.race,
        worker.trace,
        worker.sound,
        worker.doom,
        worker.files,
        worker.forget,
    )
    return {each.__name__: _guarded(each) for each in named}


def _guarded(function: Callable[[Params], object]) -> Function:
    def guarded(params: Params) -> object:
        try:
            return function(params)
        except LoadError as error:
            raise CallError(str(error), {"kind": "usage"}) from error
        except Exception as error:  # of the store, where no call of its is judged
            raise CallError(f"{type(error).__name__}: {error}") from error

    return guarded


def main() -> None:
    """Serve; the working directory is the user's, as where Python runs a module."""
    sys.path.insert(0, "")
    table: dict[str, Function] = {}
    connection = Connection(table)

    def initialize(about: Params) -> None:
        worker = StoreWorker(about["store"], lambda: connection)
        table.update(functions(worker))

    table["initialize"] = initialize
    connection.serve()

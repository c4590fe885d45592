"""Files as a side door: what a session writes, seen from time to time.

They are looked at before each request to the model and at the end of each run. So it is
no difference how often a file is opened, or whether it is flushed; what stands in it
when the model is asked again is.
"""

from __future__ import annotations

import builtins
import hashlib
import io
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any, Final
from weakref import WeakSet

from refengine.messages import Json
from refengine.testing.isolation.folder import FileState, SessionFolder, read_held
from refengine.testing.isolation.side_doors import steady

SHOWN: Final = 20_000
"""Bytes of a file that are put down as they are; of more, their digest is."""
DATABASE: Final = b"SQLite format 3\0"
BESIDE: Final = ("-journal", "-shm", "-wal", ".pyc")
"""How names end of what is not a file of its own."""
LOG: Final = "-wal"
"""How the name ends of what a database has not yet put in its file."""
NOT_OURS: Final = ("home/.cache", "home/.config", "home/.local")
"""Where frameworks keep what is theirs."""


class Opening:
    """``open``, which remembers what was opened to be written.

    No function: one that stands in a class would become a method.
    """

    def __init__(self, plain: Callable[..., IO[Any]], files: WeakSet[IO[Any]]) -> None:
        self._plain = plain
        self._files = files

    def __call__(self, file: Any, mode: str = "r", *more: Any, **named: Any) -> IO[Any]:  # noqa: ANN401  # as open
        """Open a file."""
        made = self._plain(file, mode, *more, **named)
        if mode not in {"r", "rb", "rt"}:
            self._files.add(made)
        return made


class SessionFiles:
    """What stands in the files of a session, as far as it has changed."""

    def __init__(self, folder: SessionFolder) -> None:
        self._folder = folder
        self._looked: Mapping[str, FileState | None] | None = None
        self._seen: dict[str, bytes] = {}
        self._empty: set[str] = set()
        self._open: WeakSet[IO[Any]] = WeakSet()

    def watch(self) -> None:
        """Hear of what is opened, so that nothing waits in a buffer."""
        opening = Opening(open, self._open)
        for module in (builtins, io):
            vars(module)["open"] = opening

    def changes(
        self, *, ended: bool, kept: Collection[str] = ()
    ) -> Iterator[Mapping[str, Json]]:
        """Yield what was written or removed since this was asked for the last time.

        Not of files in which a framework has ``kept`` runs: those have ids and times.

        A file that is new and empty counts when a run has ``ended``: when a log is
        opened, before there is anything to write, is nothing that anybody can see.
        """
        if not self._folder.is_touched:
            return
        self._flush()
        before = self._folder.first if self._looked is None else self._looked
        now = self._folder.state()
        self._looked = now
        own = {each.removeprefix(f"{self._folder.top}/") for each in kept}
        names = (before.keys() | now.keys()) - own
        for name in sorted(names, key=self._folder.named):
            if before.get(name) != now.get(name) and self._counts(name):
                yield from self._change(name, now.get(name), is_new=name not in before)
        self._empty &= now.keys()
        if ended:
            for name in sorted(self._empty, key=self._folder.named):
                yield {"path": self._folder.shown(name), "added": ""}
            self._empty.clear()

    def left(self) -> dict[str, bytes]:
        """Return what stands in the files that were written since the session began."""
        if not self._folder.is_touched:
            return {}
        self._flush()
        before = self._folder.first
        return {
            name: self._read(name)
            for name, state in self._folder.state().items()
            if state is not None and state != before.get(name) and self._goes(name)
        }

    def bring(self, files: Mapping[str, bytes]) -> None:
        """Have a session begin with what another process left in these files."""
        for name, data in files.items():
            path = Path(self._folder.top, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        if files:
            self._looked = self._folder.state()
            self._seen |= files

    def _goes(self, name: str) -> bool:
        """Tell whether a file goes along: a log of a database does, and no cache."""
        return self._counts(name.removesuffix(LOG))

    def restore(self) -> None:
        """End a session: put back what it wrote."""
        if self._folder.is_touched:
            self._flush()
        self._folder.restore()
        self._looked = None
        self._empty.clear()
        self._seen = {name: self._read(name) for name in self._folder.held}

    def _change(
        self, name: str, state: FileState | None, *, is_new: bool
    ) -> Iterator[Mapping[str, Json]]:
        shown = self._folder.shown(name)
        if state is None:
            self._seen.pop(name, None)
            yield {"path": shown, "removed": True}
            return
        if name not in self._seen:
            self._seen[name] = self._folder.begun_with(name) or b""
        old, new = self._seen[name], self._read(name)
        self._seen[name] = new
        if is_new and not new:
            self._empty.add(name)
        if new == old:
            return  # it was written as it was
        self._empty.discard(name)
        if new.startswith(old) and not new.startswith(
            DATABASE
        ):  # what is new of it; a file held open has no beginning
            yield {"path": shown, "added": _text(new[len(old) :].lstrip(b"\0"))}
        else:
            yield {"path": shown, "content": _text(new)}

    def _counts(self, name: str) -> bool:
        """Tell whether a file is an effect: no temporary name is, nor a cache."""
        if self._folder.is_temporary(name) or name.startswith(NOT_OURS):
            return False
        return not name.endswith(BESIDE)

    def _read(self, name: str) -> bytes:
        try:
            return read_held(Path(self._folder.top, name))
        except OSError:  # it may be gone by now
            return b""

    def _flush(self) -> None:
        for each in list(self._open):
            with suppress(Exception):  # it may be closed, or of another kind
                if self._folder.inside(str(each.name)):
                    each.flush()


def _text(data: bytes) -> Json:
    """Return what stands in a file, as far as somebody would read it."""
    if data.startswith(DATABASE):
        return _rows(data)
    if len(data) <= SHOWN:
        with suppress(UnicodeDecodeError):
            return steady(data.decode())
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _rows(data: bytes) -> Json:
    """Return what a database says; how it lies on its pages is nobody's doing."""
    import sqlite3  # noqa: PLC0415  # few subjects have one

    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.deserialize(data)
            return [steady(each) for each in database.iterdump()]
        except sqlite3.Error as error:
            return {"bytes": len(data), "error": str(error)}

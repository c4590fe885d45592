"""The files of a session: put back to what they were when the session before began.

Thousands of sessions last a millisecond each, and most write nothing. So what is
written is heard of before it is (``audit``): only then is a second copy made, and only
after such a session are the files looked through.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from refengine.testing.isolation.audit import Hear

WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {
        "os.chmod": (0,),
        "os.link": (1,),
        "os.mkdir": (0,),
        "os.remove": (0,),
        "os.rename": (0, 1),
        "os.rmdir": (0,),
        "os.symlink": (1,),
        "os.truncate": (0,),
        "os.utime": (0,),
    }
)
"""Events, and which of their arguments are paths that are about to be changed."""
PROGRAMS: Final = (
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "subprocess.Popen",
)
"""Events after which anything may be done that no event tells of."""
DATABASE: Final = "sqlite3.connect"
"""An event after which a file is written that no event tells of."""
DEVICES: Final = ("/dev/", "/proc/")


class FileState(NamedTuple):
    """What shows that a file is another one, without reading it."""

    size: int
    changed: int
    inode: int


class SessionFolder:
    """The temporary folder of a process' sessions.

    ``outside`` are files that were written elsewhere, where nothing is put back, and
    ``programs`` whether one was started. If it is ``closed``, both are refused.
    """

    def __init__(self, top: str, cwd: str, *, closed: bool = False) -> None:
        self.top = top
        self.cwd = cwd
        self.closed = closed
        self.programs = False
        self.outside: dict[str, None] = {}
        self.written = False
        self._kept: str | None = None
        self._files: dict[str, FileState | None] = {}
        self._busy = False
        self._ready = False

    @property
    def table(self) -> Mapping[str, Hear]:
        """Who hears of which event."""
        return {
            "open": self._opens,
            **{name: partial(self._changes, at) for name, at in CHANGES.items()},
            **dict.fromkeys(PROGRAMS, self._starts),
            DATABASE: self._writes,
        }

    def ready(self) -> None:
        """Take what is there now for what every session begins with."""
        self._files = self._state()
        self._ready = True

    def inside(self, path: str) -> bool:
        """Tell whether a path is in the temporary folder."""
        return os.path.abspath(path).startswith(self.top + os.sep)  # noqa: PTH100  # many, as texts

    def restore(self) -> None:
        """Put back what was written since the last time, and go to the folder."""
        os.chdir(self.cwd)
        if not self.written:
            return
        self._busy = True
        try:
            self._put_back()
        finally:
            self._busy = self.written = False

    def _opens(self, arguments: tuple[Any, ...]) -> None:
        path, _, flags = arguments
        if flags & WRITES:
            self._touches(path)

    def _changes(self, paths: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
        for at in paths:
            self._touches(arguments[at])

    def _writes(self, _arguments: tuple[Any, ...]) -> None:
        self._keep()

    def _starts(self, _arguments: tuple[Any, ...]) -> None:
        self.programs = self._ready
        if self.closed:
            raise PermissionError(errno.EACCES, "no program is started here")
        self._keep()

    def _touches(self, path: object) -> None:
        """Hear of a path that is about to be written."""
        if self._busy or not isinstance(path, (str, bytes, os.PathLike)):
            return  # by a descriptor, whose file was opened to be written before
        name = os.fsdecode(path)
        if self.inside(name):
            self._keep()
        elif not name.startswith(DEVICES):
            if self.closed:
                raise PermissionError(errno.EACCES, "nothing is written here", name)
            self.outside.setdefault(os.path.abspath(name))  # noqa: PTH100  # as above

    def _keep(self) -> None:
        """Make a second copy before anything is written, the first time."""
        if not self._ready or self._busy:
            return
        self.written = True
        if self._kept is None:
            self._busy = True
            try:
                self._kept = str(Path(self.top).with_name("kept"))
                shutil.copytree(self.top, self._kept, symlinks=True)
            finally:
                self._busy = False

    def _put_back(self) -> None:
        now = self._state()
        for name in sorted(now.keys() - self._files.keys(), reverse=True):
            self._remove(name)
        for name, state in self._files.items():
            if now.get(name, state) != state or name not in now:
                self._bring(name, is_folder=state is None)
        self._files = self._state()

    def _remove(self, name: str) -> None:
        path = Path(self.top, name)
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink()

    def _bring(self, name: str, *, is_folder: bool) -> None:
        path = Path(self.top, name)
        if is_folder:
            path.mkdir(exist_ok=True)
        elif self._kept is not None:
            shutil.copy2(Path(self._kept, name), path)

    def _state(self) -> dict[str, FileState | None]:
        """Return each file with what shows its changes, each folder before its own."""
        found: dict[str, FileState | None] = {}
        pending = [""]
        while pending:
            inside = pending.pop()
            with os.scandir(f"{self.top}/{inside}") as entries:
                for each in entries:
                    name = f"{inside}{each.name}"
                    if each.is_dir(follow_symlinks=False):
                        found[name] = None
                        pending.append(f"{name}/")
                    else:
                        of = each.stat(follow_symlinks=False)
                        state = FileState(of.st_size, of.st_mtime_ns, of.st_ino)
                        found[name] = state
        return found

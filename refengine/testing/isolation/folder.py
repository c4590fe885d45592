"""The files of a session: put back to what they were when the session before began.

Thousands of sessions last a millisecond each, and most write nothing. So what is
written is heard of before it is (``audit``): only then is a second copy made, and only
after such a session are the files looked through.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from refengine.testing.isolation.side_doors import Hear

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
DRAWN: Final = ("tempfile.mkdtemp", "tempfile.mkstemp")
"""Events with a path whose name is another one each time."""
DEVICES: Final = ("/dev/", "/proc/")


class FileState(NamedTuple):
    """What shows that a file is another one, without reading it."""

    size: int
    changed: int
    inode: int


ABSENT: Final = FileState(-1, -1, -1)


class SessionFolder:
    """The temporary folder of a process' sessions.

    ``outside`` are files that were written elsewhere, where nothing is put back, and
    ``held`` those in it that the process keeps open from session to session.
    ``programs`` tells whether one was started. If it is ``closed``, nothing is written
    outside, and no program started.
    """

    def __init__(
        self, top: str, cwd: str, subject: str, *, closed: bool = False
    ) -> None:
        self.top = top
        self.cwd = cwd
        self.subject = subject
        self.closed = closed
        self.programs = False
        self.outside: dict[str, None] = {}
        self.written = False
        self.held: dict[str, None] = {}
        self._drawn: set[str] = set()
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
            **dict.fromkeys(DRAWN, self._draws),
        }

    def ready(self) -> None:
        """Take what is there now for what every session begins with."""
        self._files = self.state()
        self._ready = True
        self._hold(self._files)

    @property
    def first(self) -> Mapping[str, FileState | None]:
        """Each file as it was when the session began."""
        return self._files

    @property
    def is_touched(self) -> bool:
        """Whether a file may be another one than when the session began."""
        return self.written or bool(self.held)

    def shown(self, name: str) -> str:
        """Return a file's name relative to the subject's folder, as far as it is."""
        path = f"{self.top}/{name}"
        for folder in (self.subject, self.cwd):
            if path.startswith(f"{folder}/"):
                return path[len(folder) + 1 :]
        return name.replace("home/", "~/", 1) if name.startswith("home/") else name

    def is_temporary(self, name: str) -> bool:
        """Tell whether a file has, or is in, a name that was drawn for it."""
        return any(each in self._drawn for each in (name, *_parents(name)))

    def begun_with(self, name: str) -> bytes | None:
        """Return what stood in a file when the session began, None without a file."""
        if self._files.get(name) is None or self._kept is None:
            return None
        return Path(self._kept, name).read_bytes()

    def inside(self, path: str) -> bool:
        """Tell whether a path is in the temporary folder."""
        return os.path.abspath(path).startswith(self.top + os.sep)  # noqa: PTH100  # many, as texts

    def restore(self) -> None:
        """Put back what was written since the last time, and go to the folder."""
        os.chdir(self.cwd)
        self.put_back()

    def keep_all(self) -> None:
        """Make a second copy now: who writes here is another process, and not heard."""
        self._keep()

    def put_back(self) -> None:
        """Put back what was written since the last time."""
        if not self.is_touched:
            return
        self._busy = True
        try:
            self._put_back()
        finally:
            self._busy = self.written = False
            self._drawn.clear()

    def _opens(self, arguments: tuple[Any, ...]) -> None:
        path, _, flags = arguments
        if flags & WRITES:
            self._touches(path)

    def _changes(self, paths: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
        for at in paths:
            self._touches(arguments[at])

    def _draws(self, arguments: tuple[Any, ...]) -> None:
        name = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100  # as texts
        if self.inside(name):
            self._drawn.add(name[len(self.top) + 1 :])

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
        name = os.fsdecode(cast("str | bytes | os.PathLike[str]", path))
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
        """Put back all but what is still open, which would be written in vain.

        What a module keeps open for all its sessions is one file to it: there, each
        session begins with what the one before left.
        """
        now = self.state()
        changed = [each for each in now if now[each] != self._files.get(each, ABSENT)]
        self._hold(changed)
        around = {parent for name in self.held for parent in _parents(name)}
        for name in sorted(changed, reverse=True):
            if name not in self._files and name not in {*self.held, *around}:
                self._remove(name)
        for name, state in self._files.items():
            if now.get(name, ABSENT) != state and name not in self.held:
                self._bring(name, is_folder=state is None)
        self._files = self.state()

    def _hold(self, names: Iterable[str]) -> None:
        """Remember which of these files this process has open."""
        opened = _opened()
        self.held = {
            name: None
            for name in {*names, *self.held}
            if f"{self.top}/{name}" in opened
        }

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

    def state(self) -> dict[str, FileState | None]:
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


def _parents(name: str) -> Iterator[str]:
    return (each.as_posix() for each in Path(name).parents)


def _opened() -> set[str]:
    """Return the files that this process has open, where the system tells."""
    found: set[str] = set()
    with suppress(OSError), os.scandir("/proc/self/fd") as entries:
        for each in entries:
            with suppress(OSError):
                found.add(os.readlink(each.path))  # noqa: PTH115  # many, as texts
    return found

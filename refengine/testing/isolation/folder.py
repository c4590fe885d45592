"""The files of a session: put back to what they were when the session before began.

Thousands of sessions last a millisecond each, and most write nothing. So what is
written is heard of before it is (``audit``): only then is a second copy made, and only
after such a session are the files looked through.
"""

from __future__ import annotations

import errno
import gc
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias, cast

from refengine.messages import Json
from refengine.testing.isolation.side_doors import Hear, SideDoor, steady

Reached: TypeAlias = Callable[[SideDoor, Mapping[str, Json]], None]

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
PROGRAMS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "os.exec": 1,
        "os.posix_spawn": 1,
        "os.spawn": 2,
        "os.system": 0,
        "subprocess.Popen": 1,
    }
)
"""Events after which anything may be done that no event tells of, and which of their
arguments are a program's words."""
DATABASE: Final = "sqlite3.connect"
"""An event after which a file is written that no event tells of."""
NO_FILES: Final = ("", ":memory:")
"""Names of databases that are in memory."""
DRAWN_FILE: Final = "tempfile.mkstemp"
DRAWN_FOLDER: Final = "tempfile.mkdtemp"
"""Events with a path whose name is another one each time."""
DEVICES: Final = ("/dev/", "/proc/")
LONGEST: Final = 1 << 26
"""Bytes of a file that is read, at most."""


class FileState(NamedTuple):
    """What shows that a file is another one, without reading it."""

    size: int
    changed: int
    inode: int


ABSENT: Final = FileState(-1, -1, -1)


def unheard(_name: SideDoor, _data: Mapping[str, Json]) -> None:
    """Tell nobody."""


def read_held(path: Path) -> bytes:
    """Return what a name holds, without following where it leads; raises OSError.

    Of what is no file, or one that nobody would read, what it is.
    """
    state = path.lstat()
    if stat.S_ISLNK(state.st_mode):
        return f"link to {path.readlink()}".encode()
    if not stat.S_ISREG(state.st_mode):
        return b"no file"  # a pipe would never end
    return path.read_bytes() if state.st_size < LONGEST else b"%d bytes" % state.st_size


class SessionFolder:
    """The temporary folder of a process' sessions.

    ``outside`` are files that were written elsewhere, where nothing is put back, and
    ``held`` those in it that the process keeps open from session to session.
    ``programs`` tells whether one was started. If it is ``closed``, nothing is written
    outside, and no program started. ``reached`` is told of both, as of side doors.
    """

    def __init__(
        self,
        top: str,
        cwd: str,
        subject: str,
        *,
        closed: bool = False,
        reached: Reached = unheard,
    ) -> None:
        self.top = top
        self.cwd = cwd
        self.subject = subject
        self.closed = closed
        self._reached = reached
        self.programs: bool = False
        self.outside: dict[str, None] = {}
        self.written: bool = False
        self.held: dict[str, None] = {}
        self._drawn: set[str] = set()
        self._folders: dict[str, str] = {}
        self._kept: str | None = None
        self._files: dict[str, FileState | None] = {}
        self._busy = False
        self._ready = False
        self._began = self.state()
        self._imports_wrote = False

    @property
    def table(self) -> Mapping[str, Hear]:
        """Who hears of which event."""
        return {
            "open": self._opens,
            **{name: partial(self._changes, at) for name, at in CHANGES.items()},
            **{name: partial(self._starts, at) for name, at in PROGRAMS.items()},
            DATABASE: self._writes,
            DRAWN_FILE: self._draws,
            DRAWN_FOLDER: self._draws_folder,
        }

    def ready(self) -> None:
        """Take what is there now for what every session begins with."""
        self._files = self.state()
        self._imports_wrote = self._files != self._began
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

    @property
    def was_written(self) -> bool:
        """Whether anything was written there at all."""
        return self._kept is not None or bool(self.held) or self._imports_wrote

    def shown(self, name: str) -> str:
        """Return a file's name relative to the subject's folder, as far as it is."""
        name = self.named(name)
        path = f"{self.top}/{name}"
        for folder in (self.subject, self.cwd):
            if path.startswith(f"{folder}/"):
                return path[len(folder) + 1 :]
        return name.replace("home/", "~/", 1) if name.startswith("home/") else name

    def named(self, name: str) -> str:
        """Return a name in which drawn ones of folders are numbered instead."""
        found = (each for each in self._folders if f"{name}/".startswith(f"{each}/"))
        drawn = max(found, key=len, default="")
        return self._folders[drawn] + name[len(drawn) :] if drawn else name

    def is_temporary(self, name: str) -> bool:
        """Tell whether a file has, or is in, a name that was drawn for it."""
        return any(each in self._drawn for each in (name, *_parents(name)))

    def begun_with(self, name: str) -> bytes | None:
        """Return what stood in a file when the session began, None without a file."""
        if self._files.get(name) is None or self._kept is None:
            return None
        return read_held(Path(self._kept, name))

    def inside(self, path: str) -> bool:
        """Tell whether a path is in the temporary folder, whatever leads there."""
        return os.path.realpath(path).startswith(self.top + os.sep)

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
            self._folders.clear()

    def _opens(self, arguments: tuple[Any, ...]) -> None:
        path, _, flags = arguments
        if flags & WRITES and isinstance(path, (str, bytes, os.PathLike)):
            self._touches(os.path.realpath(cast("str | os.PathLike[str]", path)))

    def _changes(self, paths: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
        for at in paths:
            self._touches(arguments[at])

    def _draws(self, arguments: tuple[Any, ...]) -> None:
        name = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100  # as texts
        if self.inside(name):
            self._drawn.add(name[len(self.top) + 1 :])

    def _draws_folder(self, arguments: tuple[Any, ...]) -> None:
        """Hear of a new folder: what is put into one of the subject's own, stays."""
        path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100  # as texts
        around = os.path.dirname(path)  # noqa: PTH120  # as above
        if not any(f"{around}/".startswith(f"{e}/") for e in (self.subject, self.cwd)):
            self._draws(arguments)
            return
        above = self.named(around[len(self.top) + 1 :])
        number = f"<temporary {len(self._folders) + 1}>"
        self._folders[path[len(self.top) + 1 :]] = f"{above}/{number}"

    def _writes(self, arguments: tuple[Any, ...]) -> None:
        self._keep()
        if arguments[0] not in NO_FILES:
            self._touches(arguments[0])

    def _starts(self, words: int, arguments: tuple[Any, ...]) -> None:
        self.programs = self._ready
        self._reached("program", {"words": _words(arguments[words])})
        if self.closed:
            raise PermissionError(errno.EACCES, "no program is started here")
        self._keep()

    def _touches(self, path: object) -> None:
        """Hear of a path that is about to be written."""
        if self._busy or not isinstance(path, (str, bytes, os.PathLike)):
            return  # by a descriptor, whose file was opened to be written before
        folder, name = os.path.split(os.fsdecode(cast("str | os.PathLike[str]", path)))
        name = os.path.join(os.path.realpath(folder), name)  # noqa: PTH118  # as texts
        if name.startswith(self.top + os.sep):  # a link itself is changed, and removed
            self._keep()
        elif not name.startswith(DEVICES):
            if self.closed:
                raise PermissionError(errno.EACCES, "nothing is written here", name)
            self.outside.setdefault(name)
            self._reached("file", {"path": name, "outside": True})

    def _keep(self) -> None:
        """Make a second copy before anything is written, the first time."""
        if not self._ready or self._busy:
            return
        self.written = True
        if self._kept is None:
            self._busy = True
            try:
                self._kept = str(Path(self.top).with_name("kept"))
                shutil.copytree(self.top, self._kept, symlinks=True, ignore=_specials)
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
        """Remember which of these files this process has open.

        What only the objects of a session have open, which hold each other, is not.
        """
        names = {*names, *self.held}
        if self._held_of(names):
            gc.collect()
        self.held = dict.fromkeys(self._held_of(names))

    def _held_of(self, names: Iterable[str]) -> Sequence[str]:
        opened = _opened() if names else ()
        return [name for name in names if f"{self.top}/{name}" in opened]

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
            with suppress(OSError):  # what is no file was not kept
                path.unlink(missing_ok=True)
                shutil.copy2(Path(self._kept, name), path, follow_symlinks=False)

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


def _words(given: object) -> list[Json]:
    """Return what a program is called with; where it stands is the machine's affair."""
    if isinstance(given, (str, bytes, os.PathLike)):
        return [steady(os.fsdecode(cast("str", given)))]
    words = [os.fsdecode(each) for each in cast("Iterable[str]", given)]
    return [*(Path(each).name for each in words[:1]), *map(steady, words[1:])]


def _specials(folder: str, names: Iterable[str]) -> list[str]:
    """Return which of these are pipes, sockets or devices, which nobody can copy."""
    modes = {name: os.lstat(f"{folder}/{name}").st_mode for name in names}
    kinds = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
    return [name for name, mode in modes.items() if not any(is_(mode) for is_ in kinds)]


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

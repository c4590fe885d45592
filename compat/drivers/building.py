"""Drivers that come with this package as source: built on first use, and kept.

A build is kept in the user's cache, under a name that is the hash of all that it is
made of: sources, modules and their sums, the version of Go and the platform. So another
version of this package, or of Go, builds anew, and nothing is ever replaced. Two
processes that need one at the same time wait for each other, and who is killed in the
middle leaves nothing behind that is taken for a build.

Modules are those of the sums and no others (``-mod=readonly``), by the Go that is there
(``GOTOOLCHAIN=local``).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from compat.engines.capabilities import MissingExtraError
from refengine.errors import RefengineError
from refengine.testing.owned import run, unmarked

SOURCES: Final = Path(__file__).parent / "go"
"""A folder for each package in Go, and ``mods``: what each version is built with."""
EXTRA: Final = "go"
"""The extra that brings a Go toolchain."""
SETTINGS: Final[Mapping[str, str]] = {
    "GOTOOLCHAIN": "local",
    "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
    "GOWORK": "off",
}


DOWNLOADS: Final = (
    "modules are downloaded when it is built for the first time: make sure that"
)


class DriverBuildError(RefengineError):
    """A driver could not be built; ``log`` is what the compiler said.

    ``why`` is what may be done about it.
    """

    def __init__(
        self, name: str, log: str, why: str = f"{DOWNLOADS} GOPROXY can be reached"
    ) -> None:
        self.log = log
        lines = [each for each in log.strip().splitlines() if each]
        last = "\n  ".join(lines[-5:]) or "nothing was said"
        super().__init__(f"the driver of {name} could not be built: {why}\n  {last}")


class MissingToolchainError(MissingExtraError):
    """What an engine in another language is built and run with is not installed.

    It ``needs`` a toolchain; ``programs`` have to be on the path. What was ``found``
    is too old.
    """

    def __init__(self, engine: str, needs: str, programs: str, found: str = "") -> None:
        self.engine = engine
        self.extra = ""
        there = f" ({found} is)" if found else ""
        ImportError.__init__(
            self,
            f"engine {engine!r} needs {needs}, which is not installed{there}: put"
            f" {programs} on the path, from your system's packages for example",
        )


def said_by(
    command: Sequence[str],
    name: str,
    why: str = "",
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Return what a tool says that a driver is built with.

    Raises DriverBuildError, with ``why``, if it fails or cannot be started.
    """
    why = why or f"{command[0]} does not work: put one that does on the path"
    try:
        done = run(command, cwd=cwd, env=env)
    except OSError as error:
        raise DriverBuildError(name, str(error), why) from error
    if done.returncode:
        raise DriverBuildError(name, done.stderr + done.stdout, why)
    return done.stdout


LANGUAGE: Final = re.compile(r"go(\d+\.\d+)")
PROGRAM: Final = "main/main.go"
"""The program, which has all but its own few lines from packages that Go keeps built:
what a user's package changes is compiled alone."""


def program_source(
    package: str, paths: Sequence[str] = (), entries: str = "nil"
) -> bytes:
    """Return the source of a program: a driver with a user's functions, if any."""
    imports = [f'\town{at} "driver/{path}"' for at, path in enumerate(paths)]
    lines = ("package main", "import (", f'\t"driver/{package}"', *imports, ")")
    main = f"func main() {{ {package}.Main({entries}) }}"
    return "\n".join((*lines, main, "")).encode()


class OwnPackage(Protocol):
    """A user's own package, built into a driver."""

    @property
    def text(self) -> str:
        """How the user named it."""
        ...

    def joined(self, files: Mapping[str, bytes], package: str) -> Mapping[str, bytes]:
        """Return the files of a driver with those of the package among them."""
        ...

    def refuse(self, log: str) -> None:
        """Raise an error if it is the package that a compiler complains of."""
        ...


@dataclass(frozen=True, slots=True)
class GoDriver:
    """A driver in Go: its package, the version of its engine, tags to build it with.

    The engine is called as the package, unless it has a name of its own.
    """

    package: str
    version: str
    tags: str
    engine: str = ""
    subject: OwnPackage | None = None
    """A user's own package that is built into it."""

    @property
    def name(self) -> str:
        """What the engine is called."""
        return f"{self.engine or self.package}@{self.version}"

    def built(self) -> Path:
        """Return the program, which is built if it never was.

        Raises MissingExtraError without Go, or DriverBuildError.
        """
        go = find_go(self.name)
        folder = self._place(go)
        once(folder, lambda: self._build(go, folder))
        return folder / self.package

    def files(self) -> Mapping[str, bytes]:
        """Return all that it is made of, by where it stands when it is built."""
        mods = SOURCES / "mods"
        found = {
            f"go.{kind}": (mods / f"{self.package}-{self.version}.{kind}").read_bytes()
            for kind in ("mod", "sum")
        }
        for package in ("peer", self.package):
            for path in sorted((SOURCES / package).glob("*.go")):
                found[f"{package}/{path.name}"] = path.read_bytes()
        found[PROGRAM] = program_source(self.package)
        return (
            found if self.subject is None else self.subject.joined(found, self.package)
        )

    def _place(self, go: str) -> Path:
        folder = cache()
        if self.subject is not None:
            folder /= "subjects"
            folder.mkdir(exist_ok=True)
        return folder / f"{self.name}-{self._key(go)}"

    def _key(self, go: str) -> str:
        asked = [go, "env", "GOVERSION", "GOOS", "GOARCH"]
        said = said_by(asked, self.name, env=_environment())
        return key_of(said + self.tags, self.files())

    def _build(self, go: str, folder: Path) -> None:
        """Build it beside where it belongs, and move it there."""
        what = f"the driver of {self.name}"
        if self.subject is not None:
            what += f" for {self.subject.text}"
        print(  # noqa: T201  # it takes a minute, and somebody waits
            f"building {what} with {go}, once; what it needs and is"
            " not there is downloaded:",
            file=sys.stderr,
        )
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            work = Path(made)
            for name, data in self.files().items():
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                (work / name).write_bytes(data)
            if self.subject is not None:
                self._speak(go, work)
            built = work / "built"
            built.mkdir()
            self._compile(go, work, built / self.package)
            built.replace(folder)

    def _speak(self, go: str, work: Path) -> None:
        """Have a user's package be in the language of the Go that compiles it.

        Ours is older than what it may say, and has to build with older ones, too.
        """
        said = said_by([go, "env", "GOVERSION"], self.name, env=_environment())
        found = LANGUAGE.match(said)
        if found is not None:  # one that was built from sources has no number
            command = [go, "mod", "edit", f"-go={found[1]}"]
            said_by(command, self.name, cwd=work, env=_environment())

    def _compile(self, go: str, work: Path, built: Path) -> None:
        tags = ["-tags", self.tags + (",subject" if self.subject else "")]
        command = [go, "build", *tags, "-o", str(built), "./main"]
        said: list[str] = []
        with unmarked():
            compiling = subprocess.Popen(  # noqa: S603  # the Go that was found, no shell
                command, cwd=work, env=_environment(), stderr=subprocess.PIPE, text=True
            )
        with compiling:
            for line in compiling.stderr or ():
                said.append(line)
                if self.subject is None or line.startswith("go: "):
                    print("  " + line, end="", file=sys.stderr)  # noqa: T201  # as above
        if compiling.returncode:
            if self.subject is not None:
                self.subject.refuse("".join(said))
            raise DriverBuildError(self.name, "".join(said))


def find_go(engine: str) -> str:
    """Return the path of Go: that of the extra, or one on the path.

    Raises MissingExtraError if there is none.
    """
    own = shutil.which("go", path=str(Path(sys.executable).parent))
    found = own or shutil.which("go")
    if found is None:
        raise MissingExtraError(engine, EXTRA, "a Go toolchain")
    return found


def key_of(said: str, files: Mapping[str, bytes | Path]) -> str:
    """Return what a build is named by: what is said of its tools, and all its files."""
    digest = hashlib.sha256(said.encode())
    for name, each in files.items():
        data = each if isinstance(each, bytes) else each.read_bytes()
        digest.update(f"\0{name}\0".encode() + data)
    return digest.hexdigest()[:16]


def cache() -> Path:
    """Return the folder of the user's in which builds are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "refengine" / "drivers"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _environment() -> Mapping[str, str]:
    return {**os.environ, **SETTINGS}


def once(folder: Path, build: Callable[[], None]) -> None:
    """Have a folder built if it is not there, by one process of all that want it.

    ``build`` makes it elsewhere, and moves it there when it is whole.
    """
    if not folder.is_dir():
        with locked(folder):
            if not folder.is_dir():
                build()


@contextmanager
def locked(folder: Path) -> Generator[None, None, None]:
    """Hold the lock of what is built in a folder, which goes with the process."""
    # Not with_suffix: versions have dots, and builds of two of them would wait.
    with folder.with_name(f"{folder.name}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

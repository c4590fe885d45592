"""Drivers in Java that come with this package: built on first use, and kept.

As those in Go and TypeScript (``compat.drivers.building``), under a name that is the
hash of sources, packages, the version of Java and the platform. Maven downloads what
``pom.xml`` asks for, by the settings of whoever runs it; the jars have to be those of
``pinned.sha256``, each with its sum. The compiler is that of the JDK.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat.drivers.building import (
    DOWNLOADS,
    DriverBuildError,
    MissingToolchainError,
    cache,
    key_of,
    once,
    said_by,
)

SOURCES: Final = Path(__file__).parent / "java"
"""A folder for each driver; ``peer`` is in all of them."""
OLDEST: Final = 17
"""The first version of Java that drivers are built for."""
PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
DOWNLOAD: Final = ("-q", "-B", f"{PLUGIN}:copy-dependencies", "-DoutputDirectory=lib")
"""What Maven is asked for."""
OPTIONS: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""How a driver is started: it lives for seconds, and is one thread."""
ENTRY: Final = "driver.Main"


NEEDS: Final = (
    f"a JDK of Java {OLDEST} or newer with Maven",
    "java, javac and mvn",
)
"""What an engine needs that is a program for the JVM."""


@dataclass(frozen=True, slots=True)
class JavaDriver:
    """A driver in Java: what its engine is called, its folder, the engine's version."""

    name: str
    folder: str
    version: str

    def command(self) -> Sequence[str]:
        """Return what starts it, which is built if it never was.

        Raises MissingToolchainError, or DriverBuildError.
        """
        java, javac, mvn = find_java(self.name)
        folder = cache() / f"{self.name}-{self._key(java)}"
        once(folder, lambda: self._build(mvn, javac, folder))
        path = f"{folder / 'built'}:{folder / 'lib'}/*"
        version = f"-Dengine.version={self.version}"
        return [java, *OPTIONS, version, "-cp", path, ENTRY]

    def files(self) -> Mapping[str, Path]:
        """Return all that it is made of, by where it stands when it is built."""
        own = SOURCES / self.folder
        found = {each: own / each for each in ("pom.xml", "pinned.sha256")}
        for folder in (SOURCES / "peer", own):
            found |= {path.name: path for path in sorted(folder.glob("*.java"))}
        return found

    def _key(self, java: str) -> str:
        said = f"{_version(java, self.name)} {sys.platform} {self.version}"
        return key_of(said, self.files())

    def _build(self, mvn: str, javac: str, folder: Path) -> None:
        """Build it beside where it belongs, and move it there."""
        print(  # noqa: T201  # it takes a while, and somebody waits
            f"building the driver of {self.name} with {javac}, once; Maven downloads"
            f" {self.folder} {self.version}, and what it needs",
            file=sys.stderr,
        )
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            work = Path(made) / "driver"
            work.mkdir()
            for name, path in self.files().items():
                shutil.copyfile(path, work / name)
            why = f"{DOWNLOADS} Maven can reach its repository"
            said_by([mvn, *DOWNLOAD], self.name, why, cwd=work)
            self._see_that_jars_are_pinned(work)
            sources = [name for name in self.files() if name.endswith(".java")]
            compiling = [javac, "-d", "built", "-cp", "lib/*", *sources]
            said_by(compiling, self.name, cwd=work)
            work.replace(folder)

    def _see_that_jars_are_pinned(self, work: Path) -> None:
        """Raise DriverBuildError for a jar that is another one, missing or new."""
        lines = (work / "pinned.sha256").read_text("utf-8").splitlines()
        pinned = {tuple(line.split()) for line in lines}
        found = {
            (hashlib.sha256(path.read_bytes()).hexdigest(), path.name)
            for path in (work / "lib").iterdir()
        }
        if others := {name for _, name in pinned ^ found}:
            why = "what was downloaded is not what is pinned in pinned.sha256"
            raise DriverBuildError(self.name, ", ".join(sorted(others)), why)


def find_java(engine: str) -> tuple[str, str, str]:
    """Return the paths of java, javac and mvn; raises MissingToolchainError."""
    java, javac, mvn = (shutil.which(each) for each in ("java", "javac", "mvn"))
    if java is None or javac is None or mvn is None:
        raise MissingToolchainError(engine, *NEEDS)
    version = _version(javac, engine)
    found = re.match(r"javac (\d+)", version)
    if found is None or int(found[1]) < OLDEST:
        raise MissingToolchainError(engine, *NEEDS, version)
    return java, javac, mvn


def _version(command: str, engine: str) -> str:
    return said_by([command, "--version"], engine).strip()

"""Drivers in TypeScript that come with this package: built on first use, and kept.

As those in Go (``compat.drivers.building``), under a name that is the hash of sources,
packages, the version of Node and the platform. Packages are those of ``pinned.json``,
npm's lock file with the sum of each package and without the address of a registry, and
none of them runs a script (``npm ci --ignore-scripts``). The compiler is one of them.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat.drivers.building import DOWNLOADS, cache, locked, said_by
from compat.drivers.kept import KeptDriver
from compat.engines.capabilities import MissingExtraError

SOURCES: Final = Path(__file__).parent / "typescript"
"""A folder for each driver; ``peer`` and ``world`` are in all of them."""
WORLD: Final[Mapping[str, str]] = {
    "package.json": '{"type": "module", "exports": {"./world": "./world.js"}}\n',
    "world.js": 'export * from "../../built/world/world.js";\n',
}
"""The package ``refengine``, by which a subject has the world of its driver."""
OLDEST: Final = 20
"""The first major version of Node that drivers are built for."""
INSTALL: Final = ("ci", "--ignore-scripts", "--no-audit", "--no-fund")
"""What npm is asked for."""


class MissingNodeError(MissingExtraError):
    """There is no Node, or an old one, and an engine is a program for it."""

    def __init__(self, engine: str, found: str = "") -> None:
        self.engine = engine
        self.extra = ""
        there = f" ({found} is)" if found else ""
        ImportError.__init__(
            self,
            f"engine {engine!r} needs Node.js {OLDEST} or newer with npm, which is not"
            f" installed{there}: put both on the path, from your system's packages for"
            " example",
        )


@dataclass(frozen=True, slots=True)
class NodeDriver:
    """A driver in TypeScript: its engine, its folder, and where its packages are.

    ``packages`` is the folder of ``package.json`` and ``pinned.json``, and of sources
    that are of these packages' versions alone; ``entry`` is the module that is run.
    """

    name: str
    folder: str
    packages: str
    entry: str = "main"

    def command(self) -> Sequence[str]:
        """Return what starts it, which is built if it never was.

        Raises MissingNodeError, or DriverBuildError.
        """
        node, npm = find_node(self.name)
        folder = cache() / f"{self.name}-{self._key(node)}"
        program = folder / "built" / self.folder / f"{self.entry}.js"
        if not program.is_file():
            with locked(folder):
                if not program.is_file():
                    self._build(npm, node, folder)
        return [node, str(program)]

    def files(self) -> Mapping[str, Path]:
        """Return all that it is made of, by where it stands when it is built."""
        found = {
            "package.json": SOURCES / self.packages / "package.json",
            "package-lock.json": SOURCES / self.packages / "pinned.json",
            "tsconfig.json": SOURCES / "tsconfig.json",
        }
        places = {each: each for each in ("peer", "world", self.folder)}
        # Not those of every folder of packages: one dialect has those of another.
        if self.packages.startswith(f"{self.folder}/"):
            places[self.packages] = self.folder
        for folder, place in places.items():
            for path in sorted((SOURCES / folder).glob("*.ts")):
                found[f"{place}/{path.name}"] = path
        return found

    def unpack(self, work: Path) -> None:
        """Put all that it is made of into a folder."""
        for name, path in self.files().items():
            (work / name).parent.mkdir(exist_ok=True, parents=True)
            shutil.copyfile(path, work / name)

    def _key(self, node: str) -> str:
        digest = hashlib.sha256(f"{_version(node, self.name)} {sys.platform}".encode())
        for name, path in self.files().items():
            digest.update(f"\0{name}\0".encode() + path.read_bytes())
        for name, text in WORLD.items():
            digest.update(f"\0{name}\0{text}".encode())
        return digest.hexdigest()[:16]

    def _build(self, npm: str, node: str, folder: Path) -> None:
        """Build it beside where it belongs, and move it there."""
        needed = json.loads(self.files()["package.json"].read_text("utf-8"))
        packages = [f"{n} {v}" for n, v in sorted(needed["dependencies"].items())]
        print(  # noqa: T201  # it takes a while, and somebody waits
            f"building the driver of {self.name} with {node}, once; npm downloads"
            f" {', '.join(packages)}, and what they need",
            file=sys.stderr,
        )
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            work = Path(made) / "driver"
            self.unpack(work)
            self._said([npm, *INSTALL], work)
            self._said([node, *COMPILE], work)
            ours = work / "node_modules" / "refengine"
            ours.mkdir(exist_ok=True)
            for name, text in WORLD.items():
                (ours / name).write_text(text, "utf-8")
            work.replace(folder)

    def _said(self, command: Sequence[str], work: Path) -> None:
        why = f"{DOWNLOADS} npm can reach its registry"
        said_by(command, self.name, why, cwd=work)


TSC: Final = "node_modules/typescript/bin/tsc"
COMPILE: Final = (TSC, "-p", ".", "--rootDir", ".", "--outDir", "built", "--noCheck")
"""How the sources become JavaScript; their types are looked at by a test."""


OWN_PACKAGES: Final = "loop"
"""Where the packages are of drivers that need nothing but the compiler."""


def own_driver(folder: str, entry: str) -> KeptDriver:
    """Return the driver of a dialect that was written here; started when it is asked.

    Raises MissingNodeError, or DriverBuildError.
    """
    driver = NodeDriver(f"typescript-{folder}", folder, OWN_PACKAGES, entry)
    return KeptDriver(driver.command)


def find_node(engine: str) -> tuple[str, str]:
    """Return the paths of node and npm; raises MissingNodeError."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise MissingNodeError(engine)
    version = _version(node, engine)
    major = re.match(r"v(\d+)\.", version)
    if major is None or int(major[1]) < OLDEST:
        raise MissingNodeError(engine, f"Node.js {version}")
    return node, npm


@functools.cache
def _version(node: str, engine: str) -> str:
    """Return the version of a Node, with its architecture: started once for it."""
    asked = [node, "-p", "process.version + ' ' + process.arch"]
    return said_by(asked, engine).strip()

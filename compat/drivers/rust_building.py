"""Drivers in Rust that come with this package: built on first use, and kept.

As those in Go, TypeScript and Java (``compat.drivers.building``), under a name that is
the hash of sources, crates, the version of Rust and the platform. Cargo downloads what
``pinned.toml`` has, each crate by its sum, and nothing else (``--locked``).
"""

from __future__ import annotations

import os
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
    MissingToolchainError,
    cache,
    key_of,
    once,
    said_by,
)

SOURCES: Final = Path(__file__).parent / "rust"
"""A crate for each driver, and ``peer``, which all of them are built on."""
OLDEST: Final = (1, 95)
"""The first version of Rust that drivers are built with."""
PINNED: Final = "pinned.toml"
"""What Cargo calls its lock: every crate with its version and sum."""
PROGRAM: Final = "driver"
"""What the program of each driver is called."""
BUILD: Final = ("build", "--locked", "--target-dir", "target")
"""What Cargo is asked for."""

NEEDS: Final = (f"Rust {OLDEST[0]}.{OLDEST[1]} or newer", "cargo and rustc")
"""What an engine needs that is a crate."""


@dataclass(frozen=True, slots=True)
class RustDriver:
    """A driver in Rust: what its engine is called, its folder, the engine's version."""

    name: str
    folder: str
    version: str

    def command(self) -> Sequence[str]:
        """Return what starts it, which is built if it never was.

        Raises MissingToolchainError, or DriverBuildError.
        """
        cargo, version = find_rust(self.name)
        folder = cache() / f"{self.name}-{self._key(version)}"
        once(folder, lambda: self._build(cargo, folder))
        return [str(folder / PROGRAM)]

    def files(self) -> Mapping[str, Path]:
        """Return all that it is made of, by where it stands when it is built."""
        found = {f"{self.folder}/Cargo.lock": SOURCES / self.folder / PINNED}
        for crate in ("peer", self.folder):
            paths = [SOURCES / crate / "Cargo.toml", *(SOURCES / crate).rglob("*.rs")]
            found |= {str(path.relative_to(SOURCES)): path for path in sorted(paths)}
        return found

    def _key(self, version: str) -> str:
        said = f"{version} {sys.platform} {self.version}"
        return key_of(said, self.files())

    def _build(self, cargo: str, folder: Path) -> None:
        """Build it beside where it belongs, and move it there."""
        print(  # noqa: T201  # it takes minutes, and somebody waits
            f"building the driver of {self.name} with {cargo}, once; Cargo downloads"
            f" {self.folder} {self.version}, and what it needs",
            file=sys.stderr,
        )
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            work = Path(made)
            for name, path in self.files().items():
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, work / name)
            why = f"{DOWNLOADS} Cargo can reach its registry"
            env = {**os.environ, "ENGINE_VERSION": self.version}
            crate = work / self.folder
            said_by([cargo, *BUILD], self.name, why, cwd=crate, env=env)
            built = work / "built"
            built.mkdir()
            (crate / "target" / "debug" / PROGRAM).replace(built / PROGRAM)
            built.replace(folder)


def find_rust(engine: str) -> tuple[str, str]:
    """Return the path of Cargo, and what its compiler says that it is.

    Raises MissingToolchainError.
    """
    cargo, rustc = shutil.which("cargo"), shutil.which("rustc")
    if cargo is None or rustc is None:
        raise MissingToolchainError(engine, *NEEDS)
    version = said_by([rustc, "--version"], engine).strip()
    found = re.match(r"rustc (\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        raise MissingToolchainError(engine, *NEEDS, version)
    return cargo, version

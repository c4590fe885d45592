"""Setups of sides in TypeScript: modules that Node runs before anything of the side.

    variables(Path("tracing.mjs"))          # with what a driver is started
    packages_of_setup(Path("tracing.mjs"), told)    # what it imports, with versions

The driver's own part of it is ``typescript/peer/setup.ts``. A setup has the packages of
its own folder, but for those that it has in common with the side: these are the
driver's, which ``told`` says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

SUFFIXES: Final = frozenset((".mjs", ".cjs", ".js"))
"""Of modules that Node runs as they are."""
VARIABLE: Final = "REFENGINE_SETUP"
"""Names the module to a driver; an empty name is of a side beside one that has it."""
IMPORTED: Final = re.compile(
    r"""\b(?:from|import|require)\s*\(?\s*["']((?:@[\w.-]+/)?[\w-][\w.-]*)[/"']"""
)
"""What a module says of a package that it imports."""


def variables(setup: Path | None) -> Mapping[str, str]:
    """Return what a driver's environment says of a side's setup, if it has one."""
    return {VARIABLE: "" if setup is None else str(setup)}


def packages_of_setup(setup: Path, told: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the versions of the packages that a setup imports, by name."""
    names = set(IMPORTED.findall(setup.read_text("utf-8", "replace")))
    own = [setup.parent, *setup.parent.parents]
    shared = {*told["shared"]} & names
    found = [*_found(names - shared, own), *_found(shared, [Path(told["home"]), *own])]
    return dict(sorted(found))


def _found(names: Iterable[str], folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for name in names:
        places = (each / "node_modules" / name for each in folders)
        described = (each / "package.json" for each in places)
        there = next((each for each in described if each.is_file()), None)
        if there is not None:
            said: Any = json.loads(there.read_text("utf-8"))
            yield name, str(said.get("version", ""))

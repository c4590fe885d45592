"""The one function that is sent to workers, from bytes to bytes, and what it plays.

dask pickles what it ships. So exactly one top-level function goes out, by its name, and
its payload is JSON: a worker runs what stands in the table here, and nothing that is
named in data (ARCHITECTURE, Security).
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module, resources
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, Final

from compat.spreading import RefusedUnitError, UnitData

KINDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "piece": ("compat.migration.folder", "judged_piece"),
        "subject": ("compat.migration.branches", "branches_in"),
        "rows": ("compat.observe.judging", "judged"),
        "requests": ("property_tests.judging.spread_pool", "answered"),
        "mutants": ("property_tests.spread_matrix", "killed"),
    }
)
"""What a unit can be: the module that plays it, and its function.

A worker imports only what it is asked for. All of them took each process of a cluster
two seconds, the one that asks among them.
"""

_PACKAGES: Final = ("refengine", "compat", "property_tests")


@cache
def own_version() -> str:
    """Return what two ends must have in common to give one answer to a unit.

    The release, the minor version of Python and the sources: a checkout changes without
    a new release.
    """
    digest = hashlib.sha256()
    for package in _PACKAGES:
        with resources.as_file(resources.files(package)) as folder:
            for file in sorted(folder.rglob("*.py")):
                digest.update(file.relative_to(folder).as_posix().encode())
                digest.update(file.read_bytes())
    minor = ".".join(platform.python_version_tuple()[:2])
    return f"{version('refengine')} ({digest.hexdigest()[:12]}) on Python {minor}"


def packed(data: Mapping[str, Any]) -> bytes:
    """Return JSON as bytes; a lone surrogate is written as JSON escapes it."""
    return json.dumps(data).encode("ascii")


def run_unit(payload: bytes) -> bytes:
    """Play a unit and return its answer, both as JSON; this is what workers run."""
    asked = json.loads(payload)
    try:
        own = own_version()
        if asked["version"] != own:
            return packed({"other": own, "worker": _worker()})
        return packed({"answer": _player(asked["kind"])(asked["unit"])})
    except RefusedUnitError as error:
        return packed({"refused": str(error)})


def _player(kind: str) -> Callable[[UnitData], UnitData]:
    """Return what plays units of that kind; only what stands in the table is."""
    module, function = KINDS[kind]
    player: Callable[[UnitData], UnitData] = getattr(import_module(module), function)
    return player


def _worker() -> str:
    """Return the name of the worker that this runs on, for an error."""
    from distributed import get_worker  # noqa: PLC0415  # an extra

    return str(get_worker().address)

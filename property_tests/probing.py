"""What an engine can do, found by trying: declared is not yet shown.

Each capability has a small world, or several where different extensions can show it
(``probe_worlds``). A door that refuses has it not; one that takes the extension and
forgets it has it not, either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compat.engines.capabilities import CAPABILITIES, Refusing
from compat.engines.loading import LoadedEngine
from property_tests.playing import StructsAdapted
from property_tests.probe_worlds import UNDER, WORLDS, ProbeWorld
from refengine.profile import Profile
from refengine.testing.doors import Engine


def probe(loaded: LoadedEngine) -> tuple[frozenset[str], frozenset[str]]:
    """Return what is declared and not found, and what is found and not declared."""
    engine = loaded.engine.engine if isinstance(loaded.engine, Refusing) else None
    tried = [each for each in CAPABILITIES if _is_cheap(each, loaded)]
    found = frozenset(_found(engine or loaded.engine, loaded.profile, tried))
    return loaded.capabilities - found, found - loaded.capabilities


def _is_cheap(capability: str, loaded: LoadedEngine) -> bool:
    """Tell whether to look: an engine not made for crowds may take minutes with one."""
    return capability != "many_extensions" or capability in loaded.capabilities


def _found(
    engine: Engine, profile: Profile, capabilities: Iterable[str]
) -> Iterator[str]:
    for capability in capabilities:
        adapted = capability == "adapted_structs"
        tried = StructsAdapted(engine, profile) if adapted else engine
        worlds = _worlds_of(capability, profile)
        if any(_shown(each, tried) for each in worlds):
            yield capability


def _worlds_of(capability: str, profile: Profile) -> tuple[ProbeWorld, ...]:
    if capability in UNDER:
        posture, option, world = UNDER[capability]
        if getattr(profile, posture) == option:
            return (world,)
    return WORLDS[capability]


def _shown(world: ProbeWorld, engine: Engine) -> bool:
    try:
        return world.shows(world.trace(engine))
    except Exception:  # noqa: BLE001  # what breaks down shows nothing
        return False

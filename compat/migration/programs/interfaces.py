"""Two interfaces beside each other: what of a request has no counterpart in the other.

What only one interface has is not compared where the sides speak two of them. It is
never dropped without a word: a report lists it, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from compat.migration.differences import Mask
from compat.wire.interfaces.counterparts import BETWEEN_VENDORS, lacking, reason_for
from compat.wire.interfaces.request import VendorRequest

OWN: Final = Mask("requests", "[*].options.own")
"""Where settings stand that only the interface of a side has."""
STRICT: Final = "strict"
"""What tools say, and not a whole request."""


@dataclass(slots=True)
class SpokenInterfaces:
    """Which interfaces a side speaks, its settings, and what of theirs no other has."""

    names: dict[str, None] = field(default_factory=dict[str, None])
    settings: dict[str, None] = field(default_factory=dict[str, None])
    own: dict[str, None] = field(default_factory=dict[str, None])

    def hear(self, request: VendorRequest) -> None:
        """Take in a request."""
        self.names.setdefault(request.interface)
        for name in request.settings:
            self.settings.setdefault(name)
        for name in request.own:
            self.own.setdefault(name)
        if any(each.strict for each in request.tools):
            self.settings.setdefault(STRICT)


@dataclass(frozen=True, slots=True)
class Uncompared:
    """Settings that were not compared: whose they are, of which interfaces."""

    side: str
    interfaces: tuple[str, ...]
    name: str

    @property
    def reason(self) -> str:
        """Why it has no counterpart."""
        return reason_for(self.name, self.interfaces)


def masks_between(names: Sequence[Iterable[str]]) -> tuple[Mask, ...]:
    """Return what is not compared of sides that speak these interfaces."""
    old, new = ({*each} for each in names)
    if old == new:
        return ()
    apart = [*lacking(old, new), *_between_vendors(old, new)]
    return (OWN, *(Mask("requests", _path(name)) for name in apart))


def _between_vendors(old: set[str], new: set[str]) -> Sequence[str]:
    """Return what two vendors have alike and mean otherwise."""
    vendors = [{name.partition(" ")[0] for name in each} for each in (old, new)]
    return () if vendors[0] == vendors[1] else tuple(BETWEEN_VENDORS)


def _path(name: str) -> str:
    return f"[*].tools[*].{name}" if name == STRICT else f"[*].options.{name}"


def uncompared(sides: Mapping[str, SpokenInterfaces]) -> Iterator[Uncompared]:
    """Yield what was not compared, if the sides speak different interfaces."""
    old, new = ({*each.names} for each in sides.values())
    if old == new:
        return
    for name in _between_vendors(old, new):
        said = [side for side, spoken in sides.items() if name in spoken.settings]
        if said:
            whose = "both sides" if len(said) > 1 else said[0]
            yield Uncompared(whose, (), name)
    for side, spoken in sides.items():
        interfaces = tuple(spoken.names)
        for name in (*_alone(spoken, old, new), *spoken.own):
            yield Uncompared(side, interfaces, name)


def _alone(spoken: SpokenInterfaces, old: set[str], new: set[str]) -> Iterator[str]:
    """Yield the settings that a side says and the other's interface does not have."""
    apart = {*lacking(old, new)} - {*_between_vendors(old, new)}
    return (name for name in spoken.settings if name in apart)

"""Relations: how alike two sides are, as sets of channels that must be equal.

Source: verdicts, Migration. Apart from the other verdict types, since a command line
names them in its help and has to be there before anything that judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Final

_ADDED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "same-answer": ("answer",),
        "same-state": (
            "state",
            "second_turn",
            "stored_events",
            "scope_state",
            "artifacts",
            "saved",
            "parts",
            "pairing",
            "caller_objects",
        ),
        "same-effects": (
            "requests",
            "model_calls",
            "tool_executions",
            "events",
            "errors",
            "effects",
            "ways",
            "nodes",
            "deliveries",
            "part_events",
        ),
        "same-up-to-volatile": (
            "observed",
            "chunks",
            "interleaving",
            "wrapping",
            "waits",
            "checkpoints",
            "handed_over",
        ),
        "identical": (),
    }
)
"""The channels that each relation adds to the one before it."""

RELATIONS: Final = tuple(_ADDED)
"""From the weakest to the strongest."""

DEFAULT_RELATION: Final = "same-effects"
"""Everything that leaves the agent is equal."""


def channels_of(relation: str) -> tuple[str, ...]:
    """Return the channels that must be equal; raises KeyError for an unknown name."""
    found: list[str] = []
    for name, added in _ADDED.items():
        found += added
        if name == relation:
            return tuple(found)
    raise KeyError(relation)


def strength(relation: str) -> int:
    """Return how strong a relation is; raises ValueError for an unknown name."""
    return RELATIONS.index(relation)


def strongest(broken: AbstractSet[str], *, masked: bool = False) -> str | None:
    """Return the strongest relation that no broken channel belongs to, None if none.

    ``masked`` says that something differs that is declared to: then the last relation,
    which masks nothing, does not hold.
    """
    fit = [each for each in RELATIONS if broken.isdisjoint(channels_of(each))]
    if masked and RELATIONS[-1] in fit:
        fit.remove(RELATIONS[-1])
    return fit[-1] if fit else None

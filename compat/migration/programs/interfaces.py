"""Two interfaces beside each other: what of a request has no counterpart in the other.

What only one interface has is not compared where the sides speak two of them. It is
never dropped without a word: a report lists it, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from compat.migration.differing import Mask
from compat.wire.interfaces.request import VendorRequest

OWN: Final = Mask("requests", "[*].options.own")
"""Where settings stand that only the interface of a side has."""
BETWEEN_VENDORS: Final = (
    Mask("requests", "[*].options.model"),
    Mask("requests", "[*].options.max_tokens"),
    Mask("requests", "[*].tools[*].strict"),
)
"""What is each vendor's own, though all of them have it."""
REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "store": "only OpenAI keeps what it is asked, and each interface by default"
        " or not",
        "include": "it names parts of an answer that only Responses has",
        "stream_options": "only chat completions leave usage out of a stream",
        "reasoning": "only Responses tell a summary of what a model thought",
        "truncation": "only Responses cut a history themselves",
        "n": "only chat completions give several answers",
        "logit_bias": "only chat completions take it",
        "logprobs": "only chat completions name it so",
        "stop": "Responses have no stop sequences",
        "seed": "Responses have no seed",
        "frequency_penalty": "Responses have no penalties",
        "presence_penalty": "Responses have no penalties",
        "model": "each vendor has models of its own",
        "max_tokens": "Anthropic asks for it, and vendors count otherwise",
        "strict": "each vendor has its own schemas that it can be held to",
        "is_error": "only Anthropic marks a result of a tool that failed",
        "thinking": "each vendor bounds what a model thinks in a way of its own",
        "safetySettings": "only Gemini has them",
    }
)
"""Why a setting has no counterpart, by its name where it is had."""


@dataclass(slots=True)
class SpokenInterfaces:
    """Which interfaces a side speaks, and what of theirs nothing else has."""

    names: dict[str, None] = field(default_factory=dict[str, None])
    own: dict[str, None] = field(default_factory=dict[str, None])

    def hear(self, request: VendorRequest) -> None:
        """Take in a request."""
        self.names.setdefault(request.interface)
        for name in request.own:
            self.own.setdefault(name)


@dataclass(frozen=True, slots=True)
class Uncompared:
    """Settings that were not compared: whose they are, of which interface, why."""

    side: str
    interface: str
    name: str

    @property
    def reason(self) -> str:
        """Why it has no counterpart."""
        return REASONS.get(self.name, f"only {self.interface} has it")


def masks_between(names: Sequence[Iterable[str]]) -> tuple[Mask, ...]:
    """Return what is not compared of sides that speak these interfaces."""
    old, new = ({*each} for each in names)
    if old == new:
        return ()
    vendors = [{name.partition(" ")[0] for name in each} for each in (old, new)]
    return (OWN,) if vendors[0] == vendors[1] else (OWN, *BETWEEN_VENDORS)


def uncompared(
    sides: Mapping[str, SpokenInterfaces],
) -> Iterator[Uncompared]:
    """Yield what was not compared, if the sides speak different interfaces."""
    masks = masks_between([each.names for each in sides.values()])
    if not masks:
        return
    for mask in masks[1:]:
        yield Uncompared("both sides", "", mask.path.rpartition(".")[2])
    for side, spoken in sides.items():
        interface = ", ".join(spoken.names)
        yield from (Uncompared(side, interface, name) for name in spoken.own)

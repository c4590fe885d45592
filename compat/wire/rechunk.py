"""How a body comes over the wire: in which pieces, and how far.

A recording keeps a stream as one body, so where its pieces were cut is lost, and with
it what a client does about a cut inside a character or an event, or about an end that
comes too soon. Both are said here instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from compat.wire.errors import DeliveryError


@dataclass(frozen=True, slots=True)
class Delivery:
    """How one body is delivered; as it is made, in one piece and to its end.

    ``cuts`` are places between bytes at which it is cut, in any order. ``every`` cuts
    it after each so many bytes. After ``breaks_at`` bytes the connection breaks.
    """

    cuts: tuple[int, ...] = ()
    every: int = 0
    breaks_at: int | None = None

    def __post_init__(self) -> None:
        """Raise DeliveryError for places that no body has."""
        if self.every < 0 or min([*self.cuts, self.breaks_at or 0]) < 0:
            raise DeliveryError(f"{self} has a place before the body")


def rechunked(body: bytes, delivery: Delivery) -> tuple[bytes, ...]:
    """Return the pieces that arrive, none of them empty; together they are the body.

    Of a body that breaks off, together they are its beginning. Raises DeliveryError if
    a place lies behind the body.
    """
    end = len(body) if delivery.breaks_at is None else delivery.breaks_at
    if max([*delivery.cuts, end]) > len(body):
        raise DeliveryError(f"{delivery} has a place behind the {len(body)} bytes")
    steps = range(0, end, delivery.every) if delivery.every else ()
    places = sorted({0, end, *steps, *(cut for cut in delivery.cuts if cut < end)})
    return tuple(body[start:stop] for start, stop in pairwise(places))


def check_numbers(deliveries: Mapping[int, Delivery], interactions: int) -> None:
    """Raise DeliveryError if one is for an interaction that is not there."""
    unknown = sorted(set(deliveries) - set(range(1, interactions + 1)))
    if unknown:
        raise DeliveryError(f"there is no interaction {unknown[0]} of {interactions}")

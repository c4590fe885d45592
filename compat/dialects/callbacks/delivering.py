"""One delivery: a fact on its way to one receiver, through the middleware."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from compat.dialects.callbacks.table import Callback, Owner
from refengine.awaiting import settled


@dataclass(frozen=True, slots=True)
class Delivery:
    """A fact for one receiver; ``number`` counts the receivers of one owner from 0."""

    owner: Owner
    number: int
    name: str
    data: tuple[Any, ...]

    @property
    def where(self) -> str:
        """How ``on_error`` is told of it."""
        return f"{self.owner}.{self.name}"


Deliver: TypeAlias = Callable[[Delivery], Awaitable[Any]]
CallbackMiddleware: TypeAlias = Callable[[Delivery, Deliver], Awaitable[Any]]
"""Is given a delivery and what delivers it; the first in the list is outermost."""


async def delivered(
    delivery: Delivery, callback: Callback, middleware: Sequence[CallbackMiddleware]
) -> Any:  # noqa: ANN401  # a callback's
    """Call a callback inside the middleware and return what comes out."""
    deliver: Deliver = partial(_called, callback)
    for each in reversed(middleware):
        deliver = partial(_through, each, deliver)
    return await deliver(delivery)


async def _called(callback: Callback, delivery: Delivery) -> Any:  # noqa: ANN401  # a callback's
    return await settled(callback(*delivery.data))


async def _through(
    middleware: CallbackMiddleware, inner: Deliver, delivery: Delivery
) -> Any:  # noqa: ANN401  # a callback's
    return await settled(middleware(delivery, inner))

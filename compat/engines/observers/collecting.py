"""Collecting the spans that a setup's observers begin, in the process that has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from compat.engines.observers.spans import SeenSpan
from refengine.testing.isolation.setups import SpanCounter, instances

QUEUES: Final = (("langsmith.client", "Client"),)
"""Clients that make spans of what they queued, in threads of their own and later."""
LONGEST: Final = 10.0
"""Real seconds that one may take for that."""


class SpanCollector(SpanCounter):
    """A processor of OpenTelemetry's providers that keeps the spans of one world.

    A span is looked at when the world is over: one that ended has a time for that.
    """

    def __init__(self) -> None:
        super().__init__()
        self._begun: list[Any] = []

    def on_start(self, span: object, *_: object, **__: object) -> None:
        """Keep a span."""
        super().on_start(span)
        self._begun.append(span)

    def forget(self) -> None:
        """Forget the spans of the world before."""
        self._begun = []

    def taken(self) -> Sequence[SeenSpan]:
        """Return the spans as they stand, in the order in which they began.

        What makes them later is asked to make them all, or how many there are is luck.
        """
        for _, each in instances(QUEUES):
            each.flush(LONGEST)
        return [*map(_seen, self._begun)]


def _seen(span: Any) -> SeenSpan:  # noqa: ANN401  # of a package that need not be here
    return SeenSpan(
        id=span.context.span_id,
        parent=None if span.parent is None else span.parent.span_id,
        attributes=dict(span.attributes or {}),
        failed=span.status.status_code.name == "ERROR",
        ended=span.end_time is not None and span.end_time >= span.start_time,
        trace=span.context.trace_id,
        name=span.name,
    )

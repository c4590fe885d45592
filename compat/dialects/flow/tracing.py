"""Spans of a run: an agent, a model call, a tool call, each under the one around it.

They go to OpenTelemetry if it is installed, or to a tracer that the runner is given.
"""

from __future__ import annotations

import importlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeAlias, cast

from compat.dialects.flow.contexts import InvocationContext

SCOPE: Final = "refengine.flow"
"""The name under which OpenTelemetry has these spans."""

Attributes: TypeAlias = Mapping[str, "str | int | bool"]


class FlowSpan(Protocol):
    """One span, as OpenTelemetry has it."""

    def record_exception(self, exception: Exception) -> None:
        """Note what ended it."""
        ...

    def end(self) -> None:
        """Close it."""
        ...


class FlowTracer(Protocol):
    """Starts spans; ``parent`` is one that it started before."""

    def start(
        self, name: str, attributes: Attributes, parent: FlowSpan | None
    ) -> FlowSpan:
        """Start a span of that name."""
        ...


class _OpenTelemetry:
    """The tracer of OpenTelemetry's own interface."""

    def __init__(self, trace: Any) -> None:  # noqa: ANN401  # a module that may not be there
        self._trace = trace

    def start(
        self, name: str, attributes: Attributes, parent: FlowSpan | None
    ) -> FlowSpan:
        """Start a span; without a parent it is under the caller's own."""
        trace = self._trace
        around = None if parent is None else trace.set_span_in_context(parent)
        tracer = trace.get_tracer(SCOPE)
        started = tracer.start_span(name, context=around, attributes=dict(attributes))
        return cast("FlowSpan", started)


def installed_tracer() -> FlowTracer | None:
    """Return OpenTelemetry as a tracer, None if it is not installed."""
    try:
        return _OpenTelemetry(importlib.import_module("opentelemetry.trace"))
    except ImportError:
        return None


@contextmanager
def span(
    ctx: InvocationContext, name: str, **attributes: str
) -> Generator[object, None, None]:
    """Have a span around what is done in it, under the context's own span."""
    tracer = cast("FlowTracer | None", ctx.invocation.tracer)
    if tracer is None:
        yield None
        return
    known = {"agent": ctx.agent.name, "invocation": ctx.invocation.id}
    started = tracer.start(name, known | attributes, cast("FlowSpan | None", ctx.span))
    try:
        yield started
    except Exception as error:
        started.record_exception(error)
        raise
    finally:
        started.end()

"""Mutants of request processors that are a user's own, and of hooks that abstain."""

from __future__ import annotations

from collections.abc import AsyncIterator
from copy import copy
from dataclasses import replace
from typing import Final

from compat.dialects.flow.content import text_content
from compat.dialects.flow.processors import DEFAULT_REQUEST_PROCESSORS
from property_tests.dialects.dialect import DialectMutant
from property_tests.flow.mutants.runs import one
from property_tests.flow.mutants.steps import broken
from property_tests.mutants.patching import Given, Right


def _is_own(processor: Given) -> bool:
    return processor not in DEFAULT_REQUEST_PROCESSORS


def _entered_twice(right: Right) -> Given:
    def wrong(agent: Given) -> Given:
        flow = right(agent)
        listed = [
            each
            for known in flow.request_processors
            for each in ([known, known] if _is_own(known) else [known])
        ]
        return replace(flow, request_processors=listed)

    return wrong


def _events_lost(right: Right) -> Given:
    async def wrong(ctx: Given, processor: Given, *args: Given) -> AsyncIterator[Given]:
        async for event in right(ctx, processor, *args):
            if not _is_own(processor):
                yield event

    return wrong


def _exceptions_lost(right: Right) -> Given:
    async def wrong(*args: Given) -> AsyncIterator[Given]:
        try:
            async for event in right(*args):
                yield event
        except Exception:  # noqa: BLE001  # which is what is wrong with it
            return

    return wrong


def _works_on_a_copy(right: Right) -> Given:
    async def wrong(
        ctx: Given, processor: Given, index: Given, request: Given, flow: Given
    ) -> AsyncIterator[Given]:
        given = copy(request) if _is_own(processor) else request
        async for event in right(ctx, processor, index, given, flow):
            yield event

    return wrong


def _silence_is_content(right: Right) -> Given:
    async def wrong(ctx: Given, hook: str, *args: Given) -> Given:
        found = await right(ctx, hook, *args)
        heard = any(True for _ in ctx.invocation.plugins.having(hook))
        if found is None and heard and hook == "after_agent":
            return text_content("model", "")
        return found

    return wrong


PROCESSORS: Final[tuple[DialectMutant, ...]] = (
    broken(
        "flow-processor-twice",
        "A user's own processor is entered twice.",
        "FLOW-160",
        one("agent.flow", _entered_twice),
    ),
    broken(
        "flow-processor-events-lost",
        "What a user's own processor gives is told to nobody.",
        "FLOW-161",
        one("flow.processor", _events_lost),
    ),
    broken(
        "flow-processor-errors-lost",
        "A processor's exception is passed over.",
        "FLOW-162",
        one("flow.processor", _exceptions_lost),
    ),
    broken(
        "flow-processor-copy",
        "A user's own processor is given a copy of the request.",
        "FLOW-163",
        one("flow.processor", _works_on_a_copy),
    ),
    broken(
        "flow-silence-is-content",
        "Plugins that give nothing behind an agent are told as an empty event.",
        "FLOW-013",
        one("agent.plugin_value", _silence_is_content),
    ),
)
"""All of them."""

"""ORD: in which order hooks of several extensions act (contract §2 ORD)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from property_tests.check import Case, Check, Decision
from property_tests.view import Hook
from refengine.testing.scenario import AgentSpec


def before_model_order(case: Case) -> Iterator[Decision]:
    """Middlewares before handlers, each list forward."""
    for run in case.played.runs:
        wanted = _before(run.agent)
        for now in run.iterations:
            got = _names(now.before)
            if wanted and got:
                # A pass that an error stopped is a beginning of the whole one.
                yield Decision(
                    "before-model hooks: middlewares, then handlers, in list order",
                    wanted[: len(got)],
                    got,
                    now.before[0].enter,
                )


def _before(agent: AgentSpec) -> list[str]:
    structs = [
        each.id or f"middleware-{at}"
        for at, each in enumerate(agent.middlewares)
        if each.before_chat_model
    ]
    handlers = [
        each.id or f"handler-{at}"
        for at, each in enumerate(agent.handlers)
        if each.before_model is not None
    ]
    return structs + handlers


def _names(hooks: Sequence[Hook]) -> list[str]:
    return [hook.extension for hook in hooks]


CHECKS: Final = (
    Check(
        clause="ORD-001",
        decide=before_model_order,
        any_of=frozenset(("before_model", "struct_model_hooks")),
    ),
)

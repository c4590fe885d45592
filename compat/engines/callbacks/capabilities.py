"""What sessions with callbacks can be asked for, and what of it a scenario needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from compat.engines.callbacks.doors import CallbacksEngine
from compat.engines.callbacks.scenario import CallbacksScenario, HappensSpec
from compat.engines.capabilities import refuse_lacking

CALLBACKS_CAPABILITIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "clients": "clients are connected",
        "listener": "an external listener is set",
        "middleware": "something stands around each delivery",
        "types": "types of callbacks are added",
        "stream": "the facts of a session are a stream, too",
        "file": "sessions are kept in a file",
        "restart": "agent and manager are made anew over what is stored",
        "versions": "the first version is there, too",
        "managers": "a second manager asks for an agent",
        "cancellation": "a session is cancelled from outside",
    }
)
"""Every capability of sessions with callbacks, and what it is."""

OF_HAPPENING: Final[Mapping[str, str]] = MappingProxyType(
    {
        "connect": "clients",
        "connect_by_client": "clients",
        "remove": "clients",
        "set": "clients",
        "listen": "listener",
        "manage": "managers",
        "restart": "restart",
    }
)


def refuse_callbacks(engine: CallbacksEngine, scenario: CallbacksScenario) -> None:
    """Raise CapabilityError for the first thing of a scenario that an engine lacks."""
    refuse_lacking(engine, callbacks_needs(scenario), CALLBACKS_CAPABILITIES)


def callbacks_needs(scenario: CallbacksScenario) -> Iterator[tuple[str, str]]:
    """Yield each capability that a scenario needs, and what needs it."""
    of_all: tuple[tuple[str, object, str], ...] = (
        ("types", scenario.rows, "a row"),
        ("middleware", scenario.middleware, "the middleware"),
        ("file", scenario.file or scenario.compares == "stores", "the file"),
        ("versions", scenario.compares == "versions", "the comparison"),
    )
    yield from ((each, where) for each, needed, where in of_all if needed)
    for at, turn in enumerate(scenario.turns):
        for each in turn.before:
            if not _of_old_client(scenario, each):
                yield OF_HAPPENING[each.do], f"turn {at}"
        if turn.stream:
            yield "stream", f"turn {at}"
        if turn.cancel_after is not None:
            yield "cancellation", f"turn {at}"


def _of_old_client(scenario: CallbacksScenario, each: HappensSpec) -> bool:
    """Tell whether it happens to a client of v1, which the first version can wire."""
    return each.do == "connect" and scenario.client(each.client).old

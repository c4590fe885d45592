"""The dialects in a table: a new one is a line here, and every command knows it.

Nothing is imported for it, so that help, names of clauses and mistakes stay light.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectPlace:
    """Where all of a dialect stands.

    ``family`` is that of its clauses. ``judged`` names its ``Dialect`` and ``profiles``
    its kind of profile, both as ``module:name``. ``doors`` are the packages that have
    our own doors to it; none where a setup on an engine is judged.
    """

    name: str
    family: str
    judged: str
    profiles: str
    doors: tuple[str, ...]


DIALECTS: Final = (
    DialectPlace(
        name="flow",
        family="FLOW",
        judged="property_tests.flow.flow_dialect:FLOW",
        profiles="compat.dialects.flow.profile:FlowProfile",
        doors=("compat.engines.flow", "compat.drivers.flow"),
    ),
    DialectPlace(
        name="stream-loop",
        family="LOOP",
        judged="property_tests.stream_loop.loop_dialect:STREAM_LOOP",
        profiles="compat.dialects.stream_loop.profile:LoopProfile",
        doors=("compat.engines.stream_loop", "compat.drivers.loops"),
    ),
    DialectPlace(
        name="callbacks",
        family="CB",
        judged="property_tests.callbacks.callbacks_dialect:CALLBACKS",
        profiles="compat.dialects.callbacks.profile:CallbacksProfile",
        doors=("compat.engines.callbacks", "compat.drivers.sessions"),
    ),
    DialectPlace(
        name="observers",
        family="OBS",
        judged="property_tests.observers.observers_dialect:OBSERVERS",
        profiles="refengine.profile:Profile",
        doors=(),
    ),
)
"""All of them, in the order in which their clauses are shown."""

"""The child in which a setup has turned an observer on: it plays worlds on an engine.

What is right says another child, which has the same engine, plain: it was started
before the setup ran, so nothing that this does can reach it.
"""

from __future__ import annotations

import errno
import os
import sys
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from compat.engines.importing import GENERIC
from compat.engines.load_errors import LoadError
from compat.engines.loading import load_engine
from compat.engines.observers.collecting import SpanCollector
from compat.engines.observers.playing import (
    CALL_IDS,
    CONTENTS,
    SPANS,
    SpansPlayer,
    observed_by,
)
from compat.process import ChildError, ChildProcess, python
from compat.report.conform_text import counted
from property_tests.dialects.compared import Oracle
from property_tests.dialects.decision import scenario_json
from property_tests.dialects.dialect import Dialect, RefusedWorldError
from property_tests.dialects.worker import ComparedDoor, ReferenceOpening, serve
from refengine.testing.child import CallError, Params
from refengine.testing.isolation.setups import SideSetup
from refengine.testing.isolation.side_doors import hear
from refengine.testing.loading import Fault
from refengine.testing.scenario import Scenario
from refengine.testing.trace import Trace

NETWORK: Final = (
    "socket.connect",
    "socket.sendto",
    "socket.sendmsg",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.gethostbyaddr",
)
"""What Python tells of where a process reaches another, or looks one up."""
LONG: Final = 60.0
"""Seconds to start a child and import what it needs."""


class SetupError(LoadError):
    """A setup cannot be run; says what is wrong with it."""


class PlainEngine:
    """The same engine in a child of its own, in which no setup ran."""

    def __init__(self, about: Params) -> None:
        self._timeout: float = about["timeout"]
        self._child = ChildProcess(
            python(
                "property_tests.dialects.worker", *GENERIC, executable=sys.executable
            ),
            cwd=Path.cwd(),
            env=dict(os.environ),
            marked=False,
            frameworks=(),
        )
        weakref.finalize(self, self._child.kill)
        self._child.initialize(LONG, **{**about, "setup": None})
        self._loading = self._child.start("load", {}, LONG)

    def wait(self) -> None:
        """Wait until it is loaded; raises LoadError."""
        try:
            self._child.wait(self._loading)
            self._loading.result  # noqa: B018  # it raises
        except CallError as error:
            raise SetupError(error.message) from error

    def play(self, scenario: Scenario, *_: object) -> Trace:
        """Return what is right in a world; raises RefusedWorldError."""
        given = {"scenario": scenario_json(scenario)}
        try:
            reply: dict[str, str] = self._child.call("play", given, self._timeout)
        except (CallError, ChildError) as error:
            why = f"the engine breaks off where nobody observes it: {error}"
            raise RefusedWorldError(why) from error
        if "refused" in reply:
            raise RefusedWorldError(reply["refused"])
        return Trace.from_jsonl(reply["trace"])


class ObservedOpening:
    """An engine that a setup observes, beside the same one, plain."""

    def __init__(self) -> None:
        self._spans = SpanCollector()
        self._ran: tuple[SideSetup, PlainEngine] | None = None

    def setup(self, about: Params) -> None:
        """Start the plain engine, and then run the setup; raises LoadError."""
        plain = PlainEngine(about)
        hear(dict.fromkeys(NETWORK, _refuse_network))
        setup = SideSetup(about["setup"]["name"], about["setup"]["file"], self._spans)
        try:
            setup.run()
        except Fault as error:
            raise SetupError(str(error)) from error
        self._ran = setup, plain

    def open(self, dialect: Dialect, about: Params) -> ComparedDoor:
        """Load the engine; raises LoadError."""
        if self._ran is None:
            return ReferenceOpening().open(dialect, about)
        setup, plain = self._ran
        engine = load_engine(about["door"], about["profile"])
        name = f"{engine.name}, with {setup.name}"
        player = observed_by(self._spans.taken, engine, name, self._spans.forget)
        rows = _probed(dialect, player)
        player = replace(player, records=_records(rows))
        plain.wait()
        return ComparedDoor(
            dialect.door(player),
            Oracle(plain.play, dialect.entries),
            "" if rows or setup.runs else _idle(setup),
        )


def _refuse_network(_: tuple[Any, ...]) -> None:
    """Raise what a machine without a network raises."""
    why = "an observer that is judged reaches no network"
    raise ConnectionRefusedError(errno.ECONNREFUSED, why)


def _probed(dialect: Dialect, player: SpansPlayer) -> Sequence[Mapping[str, Any]]:
    """Return what spans say in the fixed worlds up to the first with one of a tool."""
    found: list[Mapping[str, Any]] = []
    for each in dialect.fixed():
        trace = player.play(cast("Scenario", each.scenario))
        found += [x.data for x in trace.of("span")]
        if any(x["of"] == "tool" for x in found):
            break
    return found


def _records(rows: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return what an observer records of calls: contents only if of both kinds.

    One that tells those of tools alone, as some are told to, says nothing of models.
    """
    calls = [each for each in rows if each["of"] in {"model", "tool"}]
    telling = {x["of"] for x in calls if x["asked"] or x["answered"]}
    contents = bool(calls) and telling == {each["of"] for each in calls}
    found = {
        SPANS: bool(rows),
        CONTENTS: contents,
        CALL_IDS: any("call" in each for each in calls),
    }
    return frozenset(each for each, has in found.items() if has)


def _idle(setup: SideSetup) -> str:
    """Return why no clause applies: nothing was seen of any world."""
    patches = counted(setup.changed, "patch") if setup.changed else "no patch"
    return f"{setup.name}: no span, {patches}: is it on?"


def main() -> None:
    """Serve."""
    serve(ObservedOpening())

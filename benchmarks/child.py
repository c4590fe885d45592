"""The child that measures: it sets sides up, tries them, and lets them take turns.

What can be called, by the protocol of ``refengine.testing.child``:

    load    {"subject": "file.py:name", "against": null}
                                {"names": [...], "waits": false}
    turns   {"sides": [...], "effort": {...}}
                                {"positions": [...], "series": [...], "refused": {...}}
    memory  {"side": {...}}     {"peak": 1, "left": 0, "blocks": 2}
    bar     {"at": 0, "rounds": 20}
                                {"name": "…", "ratio": 1.0, "limit": 1.5}
    probe   {"side": {...}, "effort": {...}}
                    {"hooks": [[where, hook, like, [[calls, own], ...]], ...], ...}

What the user got wrong is an error whose message says it.

A process of its own, because a user's handlers may print, hang or end it, and because
nothing that the parent imports for its report shall stand in the caches beside what is
measured.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

from benchmarks.bars import BARS
from benchmarks.making import Maker, NotDoneError, is_waiting, memory, set_ups
from benchmarks.measure import measured as bar_measured
from benchmarks.parts import SharedParts
from benchmarks.probes import probed
from benchmarks.specs import Effort, Setting, SideSpec
from benchmarks.subject import (
    NO_HOOK,
    NotMeasurableError,
    SubjectFunction,
    Subjects,
)
from compat.engines.importing import EngineFactory, find
from compat.engines.load_errors import LoadError
from refengine import build_agent
from refengine.errors import ConfigurationError, RefengineError
from refengine.testing.child import CallError, Connection, Function, Params

Reply: TypeAlias = "dict[str, Any]"
Value = TypeVar("Value")
Named: TypeAlias = Literal["subject", "against"]
REFUSED: Final = "wrong"
"""What the user got wrong, in a reply as its readers have it."""


class SubjectRaisedError(RefengineError):
    """A subject raised, or returned what no agent can be made of."""

    def __init__(self, text: str, why: str) -> None:
        self.text = text
        super().__init__(f"{text}: {why}")


class Server:
    """Answers requests; keeps the subjects, and no side once it is measured."""

    def __init__(self) -> None:
        self._maker = Maker(Subjects({}))

    @property
    def functions(self) -> Mapping[str, Function]:
        """What can be called; what the user got wrong is an error."""
        named = {
            "load": self._load,
            "turns": self._turns,
            "memory": self._memory,
            "bar": self._bar,
            "probe": self._probe,
        }
        return {name: _guarded(function) for name, function in named.items()}

    async def _turns(self, request: Params) -> Reply:
        sides = [SideSpec.of(each) for each in request["sides"]]
        return await _turned(self._maker, sides, Effort.of(request["effort"]))

    async def _bar(self, request: Params) -> Reply:
        at: int = request["at"]
        found = await bar_measured(BARS[at], request["rounds"])
        return {"name": found.name, "ratio": found.ratio, "limit": found.limit}

    async def _memory(self, request: Params) -> Reply:
        return dict(await memory(self._maker, await self._admitted(request)))

    async def _probe(self, request: Params) -> Reply:
        side = await self._admitted(request)
        return await probed(self._maker.subjects, side, Effort.of(request["effort"]))

    async def _admitted(self, request: Params) -> SideSpec:
        side = SideSpec.of(request["side"])
        await self._maker.admit(side)
        return side

    async def _load(self, request: Params) -> Reply:
        here = Path.cwd()
        named: tuple[Named, ...] = ("subject", "against")
        found: dict[Named, EngineFactory] = {
            each: find(request[each], here) for each in named if request[each]
        }
        functions: dict[str, tuple[str, SubjectFunction]] = {
            each: (got.text, got.factory) for each, got in found.items()
        }
        maker = Maker(Subjects(functions))
        sides: dict[Named, SideSpec] = {
            each: SideSpec(each, Setting(NO_HOOK)) for each in found
        }
        names = {
            each: await _names(maker.subjects, side, found[each])
            for each, side in sides.items()
        }
        waits = [await _waits(maker, side) for side in sides.values()]
        self._maker = Maker(replace(maker.subjects, waits=any(waits)))
        return {"names": names["subject"], "waits": any(waits)}


async def _names(subjects: Subjects, side: SideSpec, found: EngineFactory) -> list[str]:
    """Set a subject up once; raises what no row of it could do without."""
    try:
        extensions = subjects.extensions(side, SharedParts())
        names = extensions.names  # which may be properties that raise
    except NotMeasurableError:
        raise
    except Exception as error:
        raise SubjectRaisedError(found.text, found.error_line(error)) from error
    try:
        await build_agent(extensions.built())
    except ConfigurationError as error:
        raise SubjectRaisedError(found.text, str(error)) from error
    except Exception:  # noqa: BLE001  # a hook of it raised: the rows say so
        return names
    return names


async def _waits(maker: Maker, side: SideSpec) -> bool:
    """Tell whether a subject waits; one that cannot be run is reported in its rows."""
    try:
        return is_waiting(await maker.admit(side))
    except Exception:  # noqa: BLE001  # as said
        return False


async def _turned(maker: Maker, sides: list[SideSpec], effort: Effort) -> Reply:
    """Try all sides, then measure those that did their work, set up anew each time."""
    refused: dict[int, tuple[str | None, str]] = {}
    for position, side in enumerate(sides):
        try:
            await maker.admit(side)
        except NotDoneError as error:
            refused[position] = error.clause, error.why
        except Exception as error:  # noqa: BLE001  # the row says it, the others go on
            reported = str(error) if isinstance(error, RefengineError) else _line(error)
            refused[position] = None, reported
    positions = [position for position in range(len(sides)) if position not in refused]
    chosen = [sides[position] for position in positions]
    waits = maker.subjects.waits and _users(sides)
    series = await set_ups(maker, chosen, effort, waits=waits) if positions else []
    return {"positions": positions, "series": series, "refused": refused}


def _users(sides: list[SideSpec]) -> bool:
    return any(side.maker in {"subject", "against"} for side in sides)


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _guarded(function: Callable[[Params], Coroutine[None, None, Reply]]) -> Function:
    def guarded(params: Params) -> object:
        try:
            return _unicode(asyncio.run(function(params)))
        except (LoadError, RefengineError) as error:
            raise CallError(_unicode(str(error))) from error
        except Exception as error:  # the user's own code raised
            raise CallError(_unicode(_line(error))) from error

    return guarded


def _unicode(reply: Value) -> Value:
    """Make text of the user's that is not Unicode so, since no report could hold it."""
    text = json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")
    found: Value = json.loads(text)
    return found


def main() -> None:
    """Serve; the working directory is the user's, as where Python runs a module."""
    sys.path.insert(0, "")
    Connection(Server().functions).serve()

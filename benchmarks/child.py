"""The child that measures: it sets sides up, tries them, and lets them take turns.

Requests come one a line, as JSON, on standard input; replies go to a pipe of their own:

    {"do": "load", "subject": "file.py:name", "against": null}
                                {"handlers": [...], "hooks": {...}} or {"wrong": "…"}
    {"do": "turns", "sides": [...], "effort": {...}}
                                {"places": [...], "series": [...], "refused": {...}}
    {"do": "memory", "side": {...}}      {"peak": 1, "left": 0, "blocks": 2}
    {"do": "bar", "at": 0, "rounds": 20}
                                {"name": "…", "ratio": 1.0, "limit": 1.5}
    {"do": "probe", "side": {...}, "effort": {...}}
                                {"hooks": [[where, hook, [[calls, own], ...]], ...]}

A process of its own, because a user's handlers may print, hang or end it, and because
nothing that the parent imports for its report shall stand in the caches beside what is
measured.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchmarks.bars import BARS
from benchmarks.gate import measured as bar_measured
from benchmarks.making import Maker, NotDoneError
from benchmarks.measure import Ratio, turns
from benchmarks.memory import memory
from benchmarks.parts import Kit
from benchmarks.probing import probed
from benchmarks.settings import Setting
from benchmarks.specs import Effort, SideSpec
from benchmarks.subject import NO_HOOK, SubjectFunction, Subjects
from compat.engines.importing import find
from compat.engines.load_errors import LoadError
from refengine.errors import RefengineError

Reply: TypeAlias = "dict[str, Any]"
Request: TypeAlias = "Mapping[str, Any]"
REFUSED: Final = "wrong"


class Server:
    """Answers requests; keeps the subjects, and no side once it is measured."""

    def __init__(self) -> None:
        self._maker = Maker(Subjects({}))

    def answer(self, request: Request) -> Reply:
        """Return the reply to a request; what the user got wrong is one, too."""
        try:
            return asyncio.run(self._answer(request))
        except (LoadError, RefengineError) as error:
            return {REFUSED: str(error)}
        except Exception as error:  # noqa: BLE001  # the user's own code raised
            return {REFUSED: f"{type(error).__name__}: {error}"}

    async def _answer(self, request: Request) -> Reply:
        do = request["do"]
        if do == "load":
            return await self._load(request)
        if do == "turns":
            sides = [SideSpec.of(each) for each in request["sides"]]
            return await _turned(self._maker, sides, Effort.of(request["effort"]))
        if do == "bar":
            return _told(await bar_measured(BARS[request["at"]], request["rounds"]))
        side = SideSpec.of(request["side"])
        if do == "memory":
            await self._maker.admit(side)
            return dict(await memory(self._maker, side))
        return await probed(self._maker.subjects, side, Effort.of(request["effort"]))

    async def _load(self, request: Request) -> Reply:
        here = Path.cwd()
        functions: dict[str, tuple[str, SubjectFunction]] = {}
        for maker in ("subject", "against"):
            if (text := request[maker]) is not None:
                functions[maker] = text, find(text, here).factory
        self._maker = Maker(Subjects(functions))
        side = SideSpec("subject", Setting(NO_HOOK))
        return {"names": self._maker.subjects.extensions(side, Kit()).names}


def _told(found: Ratio) -> Reply:
    return {"name": found.name, "ratio": found.ratio, "limit": found.limit}


async def _turned(maker: Maker, sides: list[SideSpec], effort: Effort) -> Reply:
    """Try all sides, then measure those that did their work, set up anew each time."""
    refused: dict[int, tuple[str | None, str]] = {}
    for place, side in enumerate(sides):
        try:
            await maker.admit(side)
        except NotDoneError as error:
            refused[place] = error.clause, error.why
        except Exception as error:  # noqa: BLE001  # the row says it, the others go on
            told = str(error) if isinstance(error, RefengineError) else repr(error)
            refused[place] = None, told
    places = [place for place in range(len(sides)) if place not in refused]
    series: list[list[tuple[float, ...]]] = []
    for _ in range(effort.sets if places else 0):
        made = [await maker.made(sides[place], Kit()) for place in places]
        series.append(await turns(made, effort.rounds, effort.seconds))
    return {"places": places, "series": series, "refused": refused}


def main(descriptor: int) -> None:
    """Serve until the parent closes the pipe."""
    server = Server()
    with os.fdopen(descriptor, "w", encoding="utf-8") as replies:
        for line in sys.stdin:
            replies.write(json.dumps(server.answer(json.loads(line))) + "\n")
            replies.flush()

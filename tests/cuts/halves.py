"""A world that is cut in one process and goes on in another; nothing but JSON passes.

    python -m tests.cuts.halves first|second FILE

Each reads one JSON object from its standard input and writes one. The run itself is in
the SQLite store FILE; what passes otherwise is the world's: where its model's script
stands, how often its tools ran, what was seen so far.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from refengine.interrupts import Address, Pending
from refengine.profile import profile
from refengine.state import Checkpoints, SqliteStore
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.trace import Trace
from tests.cuts.play import CutsPlayer
from tests.cuts.points import CutError, Cutter, How

KEY: Final = "halves "
_SECONDS: Final = 60.0
"""So long one half may take."""


def in_two_processes(scenario: Scenario, how: How, cut: int, file: Path) -> Trace:
    """Play a world up to a cut in one child, and on in another; return what was seen.

    Raises CutError if a child fails, or if the cut was never met.
    """
    given: dict[str, Any] = {
        "scenario": scenario.model_dump(mode="json", exclude_defaults=True),
        "profile": how.profile.name,
        "way": how.way,
        "answering": how.answering,
        "cut": cut,
    }
    left = _child("first", file, given)
    if not left["pending"]:
        raise CutError(f"cut {cut} was not met in another process")
    return Trace.from_jsonl(_child("second", file, {**given, **left})["trace"])


def _child(half: str, file: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.cuts.halves", half, str(file)]
    done = subprocess.run(
        command,
        input=json.dumps(given),
        capture_output=True,
        encoding="utf-8",
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise CutError(f"the {half} half failed:\n{done.stderr[-2000:]}")
    return cast("dict[str, Any]", json.loads(done.stdout))


async def first(given: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Play up to the cut; return what is left of the world."""
    async with SqliteStore(file) as store:
        cutter = Cutter([given["cut"]])
        player = _player(given, cutter, store)
        number = 0
        pending: Sequence[Pending] = ()
        if await player.build():
            for number in range(1, len(read(given).runs) + 1):
                outcome = await player.start(number)
                pending = outcome.interrupts
                if pending:
                    break
                await player.finish(number, outcome)
        return {
            "run": number,
            "pending": [_reported(each) for each in pending],
            "trace": player.recorder.trace().to_jsonl(),
            "cutter": cutter.written(),
            "worlds": [_counters(player, at) for at in range(len(player.worlds))],
        }


async def second(given: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Go on from where the first half stopped; return all that was seen."""
    async with SqliteStore(file) as store:
        cutter = Cutter([given["cut"]])
        player = _player(given, cutter, store)
        await player.build()
        cutter.read(given["cutter"])
        for at, counters in enumerate(given["worlds"]):
            _set(player, at, counters)
        for each in Trace.from_jsonl(given["trace"]):
            player.recorder.run = each.run
            player.recorder.add(each.kind, each.data, each.call_id)
        number = given["run"]
        player.recorder.run = number
        pending = [_questions(each) for each in given["pending"]]
        await player.finish(number, await player.go_on(number, pending))
        await player.from_run(number + 1)
        if cutter.heard != cutter.cuts:
            raise CutError(f"cut {given['cut']} never heard its answer")
        return {"trace": player.over().trace.to_jsonl()}


def _player(given: Mapping[str, Any], cutter: Cutter, store: SqliteStore) -> CutsPlayer:
    how = How(profile(given["profile"]), given["way"], given["answering"])
    return CutsPlayer(read(given), how, cutter, Checkpoints(store), KEY)


def read(given: Mapping[str, Any]) -> Scenario:
    """Return the scenario that a half is given; raises ScenarioError."""
    return read_scenario(given["scenario"], "a cut world")


def _reported(pending: Pending) -> dict[str, Any]:
    at = pending.address
    names = ("run_path", "iteration", "hook", "owner", "tool", "call_id", "ordinal")
    return {
        "payload": pending.payload,
        "address": [getattr(at, name) for name in names],
    }


def _questions(data: Mapping[str, Any]) -> Pending:
    path, *rest = data["address"]
    return Pending(Address(tuple(path), *rest), data["payload"])


def _counters(player: CutsPlayer, at: int) -> dict[str, Any]:
    """Return what the objects of a world have counted."""
    world = player.worlds[at]
    tools = [each.executions for each in world.made]
    return {"calls": world.model.calls, "run": world.run, "tools": tools}


def _set(player: CutsPlayer, at: int, counters: Mapping[str, Any]) -> None:
    """Let the objects of a world go on counting where the others stopped."""
    world = player.worlds[at]
    world.model.calls = counters["calls"]
    world.run = counters["run"]
    if len(world.made) > len(counters["tools"]):
        raise CutError("the second half has made more tools than the first one")
    for tool, count in zip(world.made, counters["tools"], strict=False):
        tool.executions = count


def main() -> None:
    """Play one half."""
    half, file = sys.argv[1:]
    play = {"first": first, "second": second}[half]
    given = json.loads(sys.stdin.read())
    sys.stdout.write(json.dumps(asyncio.run(play(given, Path(file)))))


if __name__ == "__main__":
    main()

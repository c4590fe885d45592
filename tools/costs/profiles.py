"""Where the time of a hot path goes: ``python -m tools.costs.profiles``.

Prints, for each path, the functions with the most time of their own, as Markdown. The
profiler charges every call, so small functions look dearer than they are: read shares
as a map of where to look, and ratios of ``refengine bench`` as what it costs.
"""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

import refengine
from benchmarks.kinds import engine_side, kind_of
from benchmarks.measure import Work
from benchmarks.parts import SharedParts
from benchmarks.specs import Setting
from refengine.testing.machine import facts

RUNS: Final = 2_000
SHOWN: Final = 8
ROOT: Final = Path(refengine.__file__).parent.parent


def _paths() -> Mapping[str, Setting]:
    before = kind_of("before_model_rewrite_history").setting(100)
    return MappingProxyType(
        {
            "a run without handlers": replace(before, n=0),
            "a streamed run without handlers": replace(before, n=0, stream=True),
            "a pipeline of 100": before,
            "100 adapted model hooks": replace(before, form="adapted"),
            "an onion of 100 around the model": Setting("wrap_model_call"),
            "an onion of 100 around the tool": Setting("wrap_invokable_tool_call"),
            "a build with 100 handlers": Setting("before_agent"),
        }
    )


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One function: its calls in a run, and its share of the own time of all."""

    name: str
    calls: float
    share: float


def main() -> None:
    """Profile every path and print."""
    sys.stdout.write(profiles())


def profiles() -> str:
    """Return a table for every path, and on what machine it was made."""
    tables = [
        "\n".join(_table(name, asyncio.run(_profiled(setting))))
        for name, setting in _paths().items()
    ]
    lines = ", ".join(f"{name}: {value}" for name, value in facts().items())
    return "\n\n".join([*tables, lines]) + "\n"


async def _profiled(setting: Setting) -> list[ProfileLine]:
    """Return the lines of a path, the most of own time first."""
    side = await engine_side(setting, SharedParts())
    runs = RUNS if setting.hook != "before_agent" else RUNS // 10
    await _repeat(side.work, runs // 10)
    profile = cProfile.Profile()
    profile.enable()
    await _repeat(side.work, runs)
    profile.disable()
    return list(_lines(profile, runs))


async def _repeat(work: Work, times: int) -> None:
    for _ in range(times):
        await work()


def _lines(profile: cProfile.Profile, runs: int) -> Iterator[ProfileLine]:
    stats = cast(
        "dict[tuple[str, int, str], Any]", vars(pstats.Stats(profile))["stats"]
    )
    total = sum(own for _, _, own, _, _ in stats.values())
    largest = sorted(stats.items(), key=lambda each: -each[1][2])[:SHOWN]
    for (file, line, function), (_, calls, own, _, _) in largest:
        yield ProfileLine(_name(file, line, function), calls / runs, own / total)


def _name(file: str, line: int, function: str) -> str:
    path = Path(file)
    if path.is_relative_to(ROOT):
        return f"{path.relative_to(ROOT).as_posix()}:{line} {function}"
    return function if file == "~" else f"{path.name} {function}"


def _table(name: str, lines: list[ProfileLine]) -> Iterator[str]:
    yield f"**{name}**\n"
    yield "| function | calls a run | own time |"
    yield "|---|--:|--:|"
    for each in lines:
        yield f"| `{each.name}` | {each.calls:,.0f} | {each.share:.0%} |"


if __name__ == "__main__":
    main()

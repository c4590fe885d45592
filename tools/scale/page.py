"""The figures of docs/scale.md, as they are kept beside those of costs, and its tables.

With the plan on paper, from the figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

from pydantic import BaseModel, ConfigDict

from compat.corpora.operations import Stratum, clean_bound
from property_tests.exercised import AT_ONCE

ROOT: Final = Path(__file__).parents[2]
NUMBERS: Final = ROOT / "benchmarks" / "results" / "scale.json"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CorpusStep(_Frozen):
    """A step over a large corpus: the command, what it took, how many it left."""

    command: str
    seconds: float
    megabytes: float
    said: str


class LargeCorpus(_Frozen):
    """So many sessions on their way from chats to a report."""

    machine: dict[str, str]
    sessions: int
    bytes: int
    steps: tuple[CorpusStep, ...]


class Throughput(_Frozen):
    """What so many workers did; 0 is this process alone, without any cluster.

    ``tasks`` are units with nothing in them that were answered in a second, None
    without workers.
    """

    workers: int
    start: float
    sessions: float
    tasks: float | None


class WorkerFigures(_Frozen):
    """What workers do on one machine; ``sessions`` were judged by each number of them.

    ``efficiency`` is of each round: the seconds of two single commands side by side,
    by those of one that has two workers for the same sessions. The bytes are those of
    one session on its way to a worker, and of the answer.
    """

    machine: dict[str, str]
    sessions: int
    throughput: tuple[Throughput, ...]
    efficiency: tuple[float, ...]
    large_tasks: float
    asked_bytes: float
    answered_bytes: float


class ScaleFigures(_Frozen):
    """All figures; a part that has not been measured here is None."""

    corpus: LargeCorpus | None = None
    workers: WorkerFigures | None = None


def kept() -> ScaleFigures:
    """Return the figures that are kept, empty ones if there are none."""
    if not NUMBERS.is_file():
        return ScaleFigures()
    return ScaleFigures.model_validate_json(NUMBERS.read_bytes())


LARGE: Final = 100_000
"""Bytes of a unit that is measured beside one with nothing in it."""
SESSIONS: Final = 10**6
ENGINES: Final = 50
SAMPLE: Final = 3000
CORES: Final = (2, 64, 1024)
HOUR: Final = 3600


def corpus_text(found: LargeCorpus) -> str:
    """Return what became of a large corpus, step by step."""
    most = max(each.megabytes for each in found.steps)
    rows = "\n".join(
        f"| `{each.command}` | {each.seconds:.0f} s | {each.megabytes:.0f} MB"
        f" | {each.said} |"
        for each in found.steps
    )
    return f"""\
{found.sessions:,} chats, {found.bytes / 1e6:.0f} MB of JSON lines, one in ten of which was there before.
Both halves are imported side by side.
No process held more than {most:.0f} MB at any time.

| step | took | most memory of a process | it says |
|---|---|---|---|
{rows}

{_machine(found.machine)}"""  # noqa: E501  # lines of a page


def workers_text(found: WorkerFigures) -> str:
    """Return throughput, what a unit costs, and efficiency."""
    alone = found.throughput[0].sessions
    rows = "\n".join(_row(each, alone) for each in found.throughput)
    low, high = min(found.efficiency), max(found.efficiency)
    return f"""\
| workers | sessions a second | by one process alone | until workers are there | a unit with nothing in it | such units a second |
|---|---|---|---|---|---|
{rows}

Each row wrote the same {found.sessions:,} sessions, byte for byte.
Efficiency of `local:2`: **{median(found.efficiency):.0%}** of two single commands side by side, the middle of {len(found.efficiency)} rounds ({low:.0%} to {high:.0%}), with all that starting workers takes.
Of units that carry {LARGE // 1000} kB there and nothing back, {found.large_tasks:.0f} were answered in a second.
A session is {found.asked_bytes:.0f} bytes on its way to a worker, and its answer {found.answered_bytes:.0f}.

{_machine(found.machine)}"""  # noqa: E501  # lines of a page


def _row(each: Throughput, alone: float) -> str:
    ratio = f"{each.sessions / alone:.2f}"
    if each.tasks is None:
        return f"| none | {each.sessions:.0f} | {ratio} | | | |"
    return (
        f"| {each.workers} | {each.sessions:.0f} | {ratio} | {each.start:.1f} s"
        f" | {1000 / each.tasks:.1f} ms | {each.tasks:.0f} |"
    )


def plan_text(found: WorkerFigures) -> str:
    """Return what 10^6 sessions on 50 engines come to, by these figures."""
    # Of so many workers as there are cores: more would only share them.
    cores = int(found.machine["cores"])
    busy = max(e.sessions for e in found.throughput if e.workers <= cores) / cores
    tasks = max(each.tasks or 0 for each in found.throughput)
    plays = SESSIONS * ENGINES
    hours = plays / busy / HOUR
    feeds = tasks * AT_ONCE / busy
    bound = clean_bound({"all": Stratum("all", SESSIONS, SAMPLE)})
    rows = "\n".join(_planned(found, busy, plays))
    answers = SESSIONS * found.answered_bytes / 1e9
    sampled = SAMPLE * ENGINES
    return f"""\
{SESSIONS:,} sessions on {ENGINES} engines are {plays:,} judged sessions, or {hours:,.0f} hours of a core at {busy:.0f} a second: {plays // AT_ONCE:,} units of {AT_ONCE}, which take {AT_ONCE / busy:.1f} s each.

| cores | all of it takes | units a second | through the scheduler |
|---|---|---|---|
{rows}

1. What breaks first is who asks: a judgement gathers the answers of an engine before it reports, {answers:.1f} GB here and several times that as Python holds them. `refengine corpus split --into 100` makes {SESSIONS // 100:,} sessions a command, each with a report of its own, and `refengine timeline add` puts the reports together.
2. Then the scheduler: it answers {tasks:.0f} units a second, which is what {feeds:,.0f} workers ask of it. A larger unit takes less of it, and a part of the corpus, or an engine, can have a scheduler of its own, since parts have nothing in common.
3. Then the line to it, the last column: sessions and answers go through the scheduler. {_large(found, busy)}
4. Or less is played: a sample of {SAMPLE:,} sessions is {sampled:,} judged ones for all engines, {sampled / busy / cores / HOUR:.1f} hours on the {cores} cores here, and a clean report says at 95 % that at most {bound:.2%} of all sessions diverge."""  # noqa: E501  # lines of a page


def _large(found: WorkerFigures, busy: float) -> str:
    """Return how many cores sessions reach, by how many large units were answered."""
    unit = AT_ONCE * (found.asked_bytes + found.answered_bytes)
    rate = found.large_tasks * LARGE / unit
    return (
        f"At {found.large_tasks * LARGE / 1e6:.0f} MB a second, as measured, that is"
        f" enough for {rate * AT_ONCE / busy:,.0f} cores."
    )


def _planned(found: WorkerFigures, busy: float, plays: int) -> Iterator[str]:
    for cores in CORES:
        rate = busy * cores
        mega = rate * (found.asked_bytes + found.answered_bytes) / 1e6
        yield (
            f"| {cores:,} | {plays / rate / HOUR:,.1f} h | {rate / AT_ONCE:.1f}"
            f" | {mega:.1f} MB a second |"
        )


def _machine(facts: dict[str, str]) -> str:
    return (
        f"Measured on {facts['cpu']}, {facts['cores']} cores, {facts['os']},"
        f" {facts['python']}."
    )

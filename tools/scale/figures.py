"""The figures of docs/scale.md, as they are kept beside those of costs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

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

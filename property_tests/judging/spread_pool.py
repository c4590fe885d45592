"""The workers of one engine on a cluster: what they are asked goes out in units.

A unit has its requests and the worlds that they name; a worker of the cluster opens a
pool of its own for it, so an engine runs in a child there as it does here.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from compat.spreading import Spread, UnitData
from property_tests.judging.inputs import CorpusFiles
from property_tests.judging.pool import (
    LONG,
    LOST,
    EngineLostError,
    Pool,
    Reply,
    Request,
)
from refengine.testing.owned import folder_prefix

KIND: Final = "requests"
AT_ONCE: Final[Mapping[str, int]] = {"judge": 200, "reference": 200}
"""So many requests make a unit that takes seconds; of what takes long itself, few."""
FEW: Final = 4

_Queued: TypeAlias = "tuple[int, Request, float]"


class SpreadPool:
    """Asks the workers of a cluster what a pool asks its own."""

    def __init__(
        self, about: Request, files: CorpusFiles, spread: Spread, timeout: float
    ) -> None:
        self._about = about
        self._files = files
        self._spread = spread
        self._timeout = timeout
        self._queued: list[_Queued] = []
        self._lost = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._queued.clear()

    @property
    def waits(self) -> bool:
        """Whether an answer is to come."""
        return bool(self._queued)

    def one(self, request: Request, timeout: float = LONG) -> Reply:
        """Return the answer to one request, which may take long."""
        ((_, reply),) = self.each([request], timeout)
        return reply

    def each(
        self, requests: Iterable[Request], timeout: float | None = None
    ) -> Iterator[tuple[int, Reply]]:
        """Yield each request's place and its answer, as they come; as a pool does."""
        self.send(requests, timeout)
        yield from self.answers()

    def send(
        self,
        requests: Iterable[Request],
        timeout: float | None = None,
        first: int = 0,
    ) -> None:
        """Put requests behind those that wait; the first has the place ``first``."""
        limit = timeout or self._timeout
        self._queued += [(at, each, limit) for at, each in enumerate(requests, first)]

    def answers(self, patience: float = LONG) -> Iterator[tuple[int, Reply]]:
        """Yield the answers to all that waits; nothing where there is no patience.

        Raises EngineLostError, and what a spread raises.
        """
        if not patience or not self._queued:
            return
        queued, self._queued = self._queued, []
        units = list(_cut(queued))
        asked = [self._unit(each) for each in units]
        for at, answer in self._spread.each(KIND, asked):
            for here, reply in answer["replies"]:
                yield units[at][here][0], reply
            self._count(answer["lost"])

    def _count(self, lost: Sequence[str]) -> None:
        """Give an engine up that ended too many workers, of whatever units."""
        self._lost += len(lost)
        if self._lost >= LOST:
            raise EngineLostError(str(self._about["engine"]), self._lost, lost[-1])

    @cached_property
    def _corpus(self) -> Mapping[str, Any]:
        data: Mapping[str, Any] = json.loads(self._files.whole.read_text("utf-8"))
        return data

    def _unit(self, queued: Sequence[_Queued]) -> UnitData:
        """Return requests as a unit; each names its world by a place in the unit."""
        requests = [dict(each) for _, each, _ in queued]
        places = sorted({each["world"] for each in requests if "world" in each})
        local = {at: here for here, at in enumerate(places)}
        for each in requests:
            if "world" in each:
                each["world"] = local[each["world"]]
        corpus: Mapping[str, Any] = self._corpus if places else {"seed": 0}
        worlds: list[Any] = [corpus["worlds"][at] for at in places]
        return {
            "about": {**self._about, "first": "", "corpus": ""},
            "corpus": {**corpus, "worlds": worlds},
            "requests": requests,
            "limit": max(limit for _, _, limit in queued),
            "cwd": str(Path.cwd()),
        }


def _cut(queued: Sequence[_Queued]) -> Iterator[Sequence[_Queued]]:
    """Yield what goes out together: requests of one kind, so many as take seconds."""
    for op, some in groupby(queued, lambda each: str(each[1]["op"])):
        left, size = list(some), AT_ONCE.get(op, FEW)
        yield from (left[at : at + size] for at in range(0, len(left), size))


def answered(unit: UnitData) -> UnitData:
    """Return the replies to the requests of a unit; this is what a worker plays."""
    with tempfile.TemporaryDirectory(prefix=folder_prefix()) as folder:
        path = Path(folder) / "corpus.json"
        path.write_text(json.dumps(unit["corpus"]), "utf-8")
        about = {**unit["about"], "first": str(path), "corpus": str(path)}
        replies: list[tuple[int, Reply]] = []
        with Pool(about, 1, unit["limit"], Path(unit["cwd"])) as pool:
            try:
                for each in pool.each(unit["requests"]):
                    replies.append(each)  # noqa: PERF402  # some, where it is given up
            except EngineLostError as error:
                return {"replies": replies, "lost": [error.last] * error.times}
            return {"replies": replies, "lost": pool.lost}

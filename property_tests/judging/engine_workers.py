"""What the workers of one engine are asked, from the door to the smallest failures."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, cast

from compat.drivers.installed import prepare
from compat.verdicts.conformance import ClauseFailure
from property_tests.corpus import CorpusWorld
from property_tests.defaults import EXAMPLES
from property_tests.judging.inputs import ConformRequest, CorpusFiles
from property_tests.judging.pool import LONG, EngineLostError, Pool, Reply, Request
from property_tests.judging.spread_pool import SpreadPool
from property_tests.registry import Clause

SMOKE: Final = 3
"""Smoke and probes are small worlds; all together get the time of so many."""
DOOR: Final = -1
"""The place of that among what workers are asked, before the first world."""


class UnusableEngineError(Exception):
    """There is no such engine, or it cannot be made; its message is the user's."""


@dataclass(slots=True)
class BegunWorlds:
    """So many worlds that workers were given, what came of them, and whether it ended.

    ``lost`` is why an engine was given up meanwhile.
    """

    worlds: int = 0
    replies: list[tuple[int, Reply]] = field(default_factory=list[tuple[int, Reply]])
    lost: EngineLostError | None = None


class EngineWorkers:
    """The workers that have one engine, and the worlds that it is judged in."""

    def __init__(
        self,
        text: str,
        request: ConformRequest,
        clauses: Sequence[Clause],
        files: CorpusFiles,
        stack: ExitStack,
    ) -> None:
        """Start them; they end with ``stack``."""
        self.text = text
        self._asked = request
        self._worlds: Sequence[CorpusWorld] = ()
        self._begun: BegunWorlds | None = None
        about = {
            "engine": text,
            "profile": request.profile,
            "first": str(files.first),
            "corpus": str(files.whole),
            "clauses": [each.id for each in clauses],
        }
        self.pool: Pool | SpreadPool = _pool(about, request, files)
        stack.enter_context(self.pool)
        self._sizes: dict[int, int] = {}

    @cached_property
    def loaded(self) -> Reply:
        """What the engine says of itself; raises UnusableEngineError."""
        return _usable(self.text, self.pool.one({"op": "load"}))

    @property
    def name(self) -> str:
        """What reports call it."""
        return str(self.loaded["name"])

    @property
    def version(self) -> str:
        """The engine's own, "" if it tells none."""
        return str(self.loaded["version"])

    def begin(self, worlds: int) -> None:
        """Let its workers look at the door and judge so many worlds, from the first on.

        What becomes of it is seen when it is judged; until then, call ``go_on`` now and
        then. Raises UnusableEngineError.
        """
        _ = self.loaded
        limit = SMOKE * self._asked.timeout
        self._begun = BegunWorlds(worlds)
        self.pool.send([{"op": "smoke"}], limit, DOOR)
        self.pool.send({"op": "judge", "world": at} for at in range(worlds))

    def go_on(self, patience: float = 0) -> None:
        """Take what workers have answered, and wait so many seconds for more of it."""
        begun = self._begun
        if begun is not None and begun.lost is None:
            try:
                begun.replies.extend(self.pool.answers(patience))
            except EngineLostError as error:
                begun.lost = error

    def smoked(self) -> Reply:
        """Return what was found at the door, and keep what came beside it."""
        begun = self._started()
        while True:
            for each in begun.replies:
                if each[0] == DOOR:
                    begun.replies.remove(each)
                    return each[1]
            if begun.lost is not None:
                return {"broken": str(begun.lost)}
            self.go_on(LONG)

    def judged(self, worlds: Sequence[CorpusWorld]) -> Iterator[tuple[int, Reply]]:
        """Yield what each of these worlds decides, which are the corpus from now on.

        Raises EngineLostError.
        """
        self._worlds = worlds
        begun = self._started()
        if begun.lost is None:
            more = range(begun.worlds, len(worlds))
            rest = ({"op": "judge", "world": at} for at in more)
            self.pool.send(rest, first=begun.worlds)
        yield from begun.replies
        if begun.lost is not None:
            raise begun.lost
        while self.pool.waits:
            yield from self.pool.answers()

    def _started(self) -> BegunWorlds:
        """Return what was begun, by now if it was not before."""
        if self._begun is None:
            self.begin(0)
        return cast("BegunWorlds", self._begun)

    def meant(
        self, silent: Sequence[str], refused: AbstractSet[int]
    ) -> Mapping[str, list[int]]:
        """Return in which worlds undecided clauses should have been decided.

        The reference engine is asked under the same profile, in the worlds that this
        engine did not refuse: where it lets a check decide, another engine has to.
        Where this is the reference engine there are none.
        """
        if not silent or self.loaded["right"]:
            return {}
        found: dict[str, list[int]] = {}
        worlds = [at for at in range(len(self._worlds)) if at not in refused]
        request = ({"op": "reference", "world": at, "clauses": silent} for at in worlds)
        for at, reply in self.pool.each(request, LONG):
            for clause in reply.get("decided", {}):
                found.setdefault(clause, []).append(worlds[at])
        return found

    def stops(
        self, meant: Mapping[str, Sequence[int]]
    ) -> Iterator[tuple[str, ClauseFailure]]:
        """Yield where the engine stops before each blocked clause can be decided.

        Raises EngineLostError.
        """
        for clause, reply in self._shrunk("blocked", meant):
            if "failure" in reply:
                yield clause, self._reproducible(reply, clause)

    def failures(
        self, failing: Mapping[str, Sequence[int]]
    ) -> Iterator[tuple[str, ClauseFailure | str]]:
        """Yield each failing clause's smallest failure, or why there is none.

        Raises EngineLostError.
        """
        for clause, reply in self._shrunk("failure", failing):
            if "failure" in reply:
                yield clause, self._reproducible(reply, clause)
            else:
                yield clause, str(reply.get("lost") or reply.get("broken"))

    def trace(self, failure: ClauseFailure) -> list[str]:
        """Return every observation of the world of a failure, one line each."""
        request = {"scenario": failure.scenario, "variant": failure.variant}
        reply = self.pool.one({"op": "trace", **request})
        return list(reply.get("lines", [reply.get("broken", "")]))

    def _shrunk(
        self, op: str, worlds: Mapping[str, Sequence[int]]
    ) -> Iterator[tuple[str, Reply]]:
        """Yield what a worker found of each clause, from its smallest world on."""
        clauses = sorted(worlds)
        requests = (
            {"op": op, "clause": each, "world": self._smallest(worlds[each])}
            for each in clauses
        )
        for at, reply in self.pool.each(requests, LONG):
            yield clauses[at], reply

    def _reproducible(self, reply: Reply, clause: str) -> ClauseFailure:
        failure = ClauseFailure.model_validate(reply["failure"])
        command = self._command(f"refengine conform {self.text} --clause {clause}")
        return failure.model_copy(update={"reproduce": command})

    def _command(self, command: str) -> str:
        request = self._asked
        options: dict[str, object] = {"profile": request.profile}
        options["seed"] = request.seed or None
        if request.examples != EXAMPLES:  # other numbers draw other worlds
            options["examples"] = request.examples
        for option, value in options.items():
            if value is not None:
                command += f" --{option} {value}"
        given = [f" --worlds {shlex.quote(str(each))}" for each in request.worlds]
        given += [f" --with {shlex.quote(each)}" for each in request.python.packages]
        return command + "".join(given)

    def _smallest(self, worlds: Sequence[int]) -> int:
        """Return the world to start from: the least text, and of equals the first."""
        return min(worlds, key=lambda at: (self._size(at), at))

    def _size(self, at: int) -> int:
        """Return the length of a world's text; most fail several clauses."""
        if at not in self._sizes:
            scenario = self._worlds[at].scenario
            self._sizes[at] = len(scenario.model_dump_json())
        return self._sizes[at]


def _pool(
    about: Request, asked: ConformRequest, files: CorpusFiles
) -> Pool | SpreadPool:
    """Return what asks workers: children of this process, or a cluster's."""
    if asked.spread is None:
        prepare(str(about["engine"]))
        return Pool(about, asked.workers, asked.timeout, python=asked.python)
    return SpreadPool(about, files, asked.spread, asked.timeout)


def _usable(engine: str, reply: Reply) -> Reply:
    """Return what an engine says of itself; one that breaks down is named."""
    if "usage" in reply:
        raise UnusableEngineError(str(reply["usage"]))
    if "broken" in reply:
        why = str(reply["broken"])
        raise UnusableEngineError(why if engine in why else f"{engine}: {why}")
    return reply

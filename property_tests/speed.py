"""How fast the suite judges: worlds a second a core, and where the time goes.

    python -m property_tests.speed [--examples N] [--seed N] [--rounds N] [--json FILE]

Makes and stores a corpus first, and tells how long that took apart from all else. Then
it judges every world on the reference engine in this process, by all checks, as often
as it is asked to. Times are seconds of the processor, so that other processes count
for little. Correctness first: where a world is judged wrongly no speed is reported.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

from compat.verdicts.cost import Bar
from compat.verdicts.exit_codes import DIFFERS, OK
from property_tests.checks import CHECKS
from property_tests.corpus import CorpusWorld, SuiteCorpus, read_corpus
from property_tests.defaults import EXAMPLES, SEED
from property_tests.judging.inputs import make_corpus, stored
from property_tests.judging.world import (
    decide,
    judge,
    looking,
    settle,
    sweep,
    variants_of,
)
from property_tests.playing import VariantPlayer
from property_tests.view import View
from refengine.profile import profile
from refengine.testing import Scenario, Trace
from refengine.testing.doors import ReferenceEngine
from refengine.testing.machine import facts

Now: TypeAlias = Callable[[], float]

LEAST: Final = 2_000
"""Worlds a second a core, by all checks: what is wanted."""
ROUNDS: Final = 3
PROFILE: Final = "seed-001"
PHASES: Final[tuple[str, ...]] = ("choosing", "playing", "viewing", "checks")
BAR: Final = f"judging: {LEAST:,} worlds a second a core, over what was measured"


@dataclass(frozen=True, slots=True)
class SpeedRound:
    """Seconds for the worlds that all checks look at, and for those kept for some."""

    whole: float
    kept: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """What was measured, in seconds of the processor.

    Worlds that are kept for one family are judged by its checks alone, which is less
    work. So they are counted apart, and the bar is about the ``whole`` ones.
    """

    worlds: int
    fixed: int
    whole: int
    """So many worlds are judged by all checks."""
    checks: int
    made: float
    read: float
    rounds: tuple[SpeedRound, ...]
    plays: float
    """The sessions that a whole world takes on average: itself and its variants."""
    seconds: dict[str, float]
    """Those of each phase, in one more round over the whole worlds."""
    wrong: tuple[str, ...] = ()
    """What was judged wrongly; then the figures mean nothing."""

    @property
    def rate(self) -> float:
        """Whole worlds a second a core: the median of the rounds."""
        return median(self.whole / each.whole for each in self.rounds)

    @property
    def rate_of_all(self) -> float:
        """Worlds of the corpus, as it is, a second a core."""
        return median(self.worlds / (each.whole + each.kept) for each in self.rounds)

    @property
    def bar(self) -> Bar:
        """The bar: what is wanted, over the rate."""
        if self.wrong:
            why = self.wrong[0]
            return Bar(name=BAR, ratio=None, limit=1.0, holds=None, why=why)
        told = f"{self.rate:,.0f} a second, by all checks, of {self.whole:,} worlds"
        ratio = LEAST / self.rate
        return Bar(name=BAR, ratio=ratio, limit=1.0, holds=ratio <= 1, why=told)

    def share(self, phase: str) -> float:
        """Return the part of the time that a phase takes, from 0 to 1."""
        return self.seconds[phase] / sum(self.seconds.values())


class Spent:
    """The seconds that each phase took, and how often something was played."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self.seconds: dict[str, float] = dict.fromkeys(PHASES, 0.0)
        self.plays = 0

    @contextmanager
    def on(self, phase: str) -> Generator[None, None, None]:
        """Count what is done inside to a phase."""
        began = self._now()
        try:
            yield
        finally:
            self.seconds[phase] += self._now() - began


class TimedPlayer(VariantPlayer):
    """A player that tells what playing takes, and what reading the traces."""

    def __init__(self, like: VariantPlayer, spent: Spent) -> None:
        super().__init__(like.engine, like.profile, like.capabilities)
        self._spent = spent

    def played(self, scenario: Scenario, *, adapted: bool = False) -> Trace:
        """Play a scenario, and count it."""
        self._spent.plays += 1
        with self._spent.on("playing"):
            return super().played(scenario, adapted=adapted)

    def viewed(self, scenario: Scenario, trace: Trace, variant: str) -> View:
        """Read a trace, and count the time."""
        with self._spent.on("viewing"):
            return super().viewed(scenario, trace, variant)


def measured(
    examples: int, seed: int, rounds: int, now: Now = time.process_time
) -> Speed:
    """Make and store a corpus, and judge it so often and once more, with a clock."""
    began = now()
    made = make_corpus(examples, seed).corpus
    corpus, generated, read = _read(made, began, now)
    under = profile(PROFILE)
    player = VariantPlayer(ReferenceEngine(under), under)
    whole = [each for each in corpus.worlds if not each.only]
    kept = [each for each in corpus.worlds if each.only]
    settle()
    timed = tuple(
        SpeedRound(_seconds(player, whole, now), _seconds(player, kept, now))
        for _ in range(rounds)
    )
    spent = Spent(now)
    wrong = tuple(_phases(TimedPlayer(player, spent), whole, spent))
    return Speed(
        worlds=len(corpus.worlds),
        fixed=corpus.fixed,
        whole=len(whole),
        checks=len(CHECKS),
        made=generated,
        read=read,
        rounds=timed,
        plays=spent.plays / len(whole),
        seconds=spent.seconds,
        wrong=wrong,
    )


def _read(
    made: SuiteCorpus, began: float, now: Now
) -> tuple[SuiteCorpus, float, float]:
    """Return the corpus as a file has it, and the seconds to make and to read it."""
    with stored(made) as path:
        written = now()
        corpus = read_corpus(path.read_text("utf-8"))
        return corpus, written - began, now() - written


def _seconds(player: VariantPlayer, worlds: Sequence[CorpusWorld], now: Now) -> float:
    """Judge each of these worlds once; return the seconds."""
    began = now()
    for done, each in enumerate(worlds, 1):
        judge(player, each, CHECKS)
        sweep(done)
    return now() - began


def _phases(
    player: TimedPlayer, worlds: Sequence[CorpusWorld], spent: Spent
) -> Generator[str, None, None]:
    """Judge every world with a clock on each phase; yield what is judged wrongly."""
    for at, entry in enumerate(worlds):
        with spent.on("choosing"):
            chosen = looking(CHECKS, entry)
        case = player.case(entry.scenario, variants_of(chosen, entry))
        with spent.on("checks"):
            judged = decide(case, chosen)
        for clause in (*judged.failed, *judged.errors):
            yield f"world {at}: {clause} is decided against the reference engine"


def lines(speed: Speed) -> list[str]:
    """Return what is told of a measurement, line by line."""
    worlds, fixed, whole = speed.worlds, speed.fixed, speed.whole
    told = {
        "corpus": f"{worlds} worlds ({fixed} fixed), {whole} of them judged by all"
        f" {speed.checks} checks; made in {speed.made:.1f} s,"
        f" read in {speed.read:.1f} s",
        "machine": ", ".join(f"{key} {value}" for key, value in facts().items()),
        **(_wrong(speed) if speed.wrong else _figures(speed)),
    }
    return [f"{name:8} {text}" for name, text in told.items()]


def _wrong(speed: Speed) -> dict[str, str]:
    return {"wrong": f"{speed.wrong[0]}: no speed is told"}


def _figures(speed: Speed) -> dict[str, str]:
    shares = ", ".join(f"{each} {100 * speed.share(each):.0f} %" for each in PHASES)
    rounds = ", ".join(f"{speed.whole / each.whole:.0f}" for each in speed.rounds)
    held = "held" if speed.bar.holds else "not held"
    return {
        "judged": f"{speed.rate:.0f} worlds a second a core by all checks (median of"
        f" {rounds}); {speed.rate_of_all:.0f} of the corpus as it is",
        "played": f"{speed.plays:.1f} sessions a world: itself and its variants",
        "time": shares,
        "bar": f"{LEAST:,} a second a core: {held} ({speed.rate / LEAST:.2f} of it)",
    }


def as_json(speed: Speed) -> dict[str, Any]:
    """Return a measurement as JSON values."""
    return {
        "machine": facts(),
        "corpus": {
            "worlds": speed.worlds,
            "fixed": speed.fixed,
            "whole": speed.whole,
        },
        "seconds": {"made": speed.made, "read": speed.read, **speed.seconds},
        "checks": speed.checks,
        "plays": speed.plays,
        "rate": speed.rate,
        "rate_of_all": speed.rate_of_all,
        "rounds": [asdict(each) for each in speed.rounds],
        "wrong": list(speed.wrong),
        "bars": [speed.bar.model_dump(mode="json")],
    }


def main(arguments: Sequence[str]) -> int:
    """Measure and tell; 0, but for a world that was judged wrongly."""
    parser = argparse.ArgumentParser(
        prog="python -m property_tests.speed",
        description="Measure how many worlds a second a core the suite judges.",
    )
    parser.add_argument("--examples", type=_whole, default=EXAMPLES)
    parser.add_argument("--seed", type=_whole, default=SEED)
    parser.add_argument("--rounds", type=_positive, default=ROUNDS)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    speed = measured(options.examples, options.seed, options.rounds)
    sys.stdout.write("\n".join(lines(speed)) + "\n")
    if options.json is not None:
        try:
            options.json.write_text(
                json.dumps(as_json(speed), indent=1) + "\n", "utf-8"
            )
        except OSError as error:
            parser.error(f"argument --json: {options.json} cannot be written: {error}")
    return DIFFERS if speed.wrong else OK


def _whole(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text}: give a number of at least 0")
    return number


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: give a number of at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

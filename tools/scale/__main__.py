"""The figures of docs/scale.md: ``python -m tools.scale``.

    python -m tools.scale [workers] [corpus] [--sessions N] [--show]

It measures both parts, or those named, and writes ``benchmarks/results/scale.json``
and the page. ``corpus`` takes a million sessions from chats to a report, with
``--sessions`` fewer; ``--show`` writes the page again without measuring. Needs the
extra cluster, and a machine that does nothing else: about ten minutes on two cores.

Exit code 1: a process took more memory than is promised, or two workers were less
efficient; both are written all the same.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from compat.verdicts.exit_codes import DIFFERS, OK
from tools.pages.blocks import between
from tools.scale.million import large_corpus
from tools.scale.page import (
    NUMBERS,
    ROOT,
    ScaleFigures,
    corpus_text,
    kept,
    plan_text,
    workers_text,
)
from tools.scale.workers import worker_figures

PAGE: Final = ROOT / "docs" / "scale.md"
COMMAND: Final = "tools.scale"
PARTS: Final = ("workers", "corpus")
MILLION: Final = 1_000_000
SESSIONS: Final = 4800
"""So many are judged to measure workers: long enough that their start is little."""
MEGABYTES: Final = 500
EFFICIENCY: Final = 0.85


def at_least_one(text: str) -> int:
    """Return the number that an argument is; argparse refuses it with a ValueError."""
    number = int(text)
    if number < 1:
        raise ValueError(text)  # argparse says which argument it is
    return number


def say(text: str) -> None:
    """Tell a line at once, also through a pipe."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write; return the exit code."""
    given = _options(arguments)
    found = kept() if given.show else _measured(given)
    NUMBERS.write_text(found.model_dump_json(indent=1) + "\n", "utf-8")
    PAGE.write_text(shown(PAGE.read_text("utf-8"), found), "utf-8")
    worse = list(missed(found))
    for each in worse:
        say(each)
    return DIFFERS if worse else OK


def _measured(given: Namespace) -> ScaleFigures:
    found = kept()
    for part in given.parts or PARTS:
        with TemporaryDirectory(prefix="refengine-scale-") as name:
            if part == "corpus":
                corpus = large_corpus(given.sessions, Path(name), say)
                found = found.model_copy(update={"corpus": corpus})
            else:
                workers = worker_figures(given.played, Path(name), say)
                found = found.model_copy(update={"workers": workers})
    return found


def shown(text: str, found: ScaleFigures) -> str:
    """Return the page with the figures there are; raises NoPlaceError."""
    if found.corpus is not None:
        text = between(text, "a large corpus", corpus_text(found.corpus), COMMAND)
    if found.workers is not None:
        text = between(text, "workers", workers_text(found.workers), COMMAND)
        text = between(text, "the plan", plan_text(found.workers), COMMAND)
    return text


def missed(found: ScaleFigures) -> list[str]:
    """Return what is not as it is promised."""
    worse: list[str] = []
    if found.corpus is not None:
        most = max(each.megabytes for each in found.corpus.steps)
        if most >= MEGABYTES:
            worse.append(f"a process held {most:.0f} MB, of {MEGABYTES}")
    if found.workers is not None:
        middle = median(found.workers.efficiency)
        if middle < EFFICIENCY:
            worse.append(f"local:2 had {middle:.0%}, of {EFFICIENCY:.0%}")
    return worse


def _options(arguments: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser("python -m tools.scale")
    parser.add_argument("parts", nargs="*", metavar="PART", help="workers, corpus")
    parser.add_argument("--sessions", type=at_least_one, default=MILLION)
    parser.add_argument("--played", type=at_least_one, default=SESSIONS)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args(arguments)
    for each in given.parts:
        if each not in PARTS:
            parser.error(f"there is no part {each!r}: give {' or '.join(PARTS)}")
    return given


if __name__ == "__main__":
    sys.exit(main())

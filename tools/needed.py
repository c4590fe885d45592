"""What tests are needed for: which small changes of the code they alone find.

    python -m tools.needed tests/test_stream.py --of refengine.stream
    python -m tools.needed tests/test_flow_steps.py --of compat.dialects.flow
        --beside 'tests/test_oracle.py::test_the_reference_shows_what_was_reviewed[flow'

Makes small changes of the functions of the modules ``--of`` that the tests go through,
as ``refengine mutant made`` does. What the tests find is put to those ``--beside`` them
until one of these finds it, too: by itself what the fixed worlds of agents show, beside
what was reviewed of it. Then tests are chosen that together find the rest.

A test that is not needed may be deleted, as far as changes of functions tell: the texts
of errors are not changed, nor is what stands in no function. ``--without`` names tests
that are to go, and what only they find is told.

Exit codes: 0 each test is needed, 1 some are not, 3 one fails without any change.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from itertools import groupby
from pathlib import Path
from pkgutil import iter_modules
from random import Random
from time import monotonic
from types import FrameType
from typing import Any, Final

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import Phase, settings

from compat.verdicts.exit_codes import DIFFERS, FAULT, OK
from property_tests.mutants.made import MadeChange, MadePatch, changes

WORLDS: Final = (
    "tests/test_oracle.py::test_the_reference_of_agents_shows_what_was_reviewed"
)
REWRITES: Final = "ignore::pytest.PytestAssertRewriteWarning"
"""What is changed has been imported before pytest asks for its assertions."""
SPINS, WAITS, TIMES = 2.0, 10.0, 20
"""A test that works for so much longer, or waits so long, has found a change.

Where others work beside it each takes longer: as many times as it took by itself.
"""
ENDED: Final = (pytest.ExitCode.OK, pytest.ExitCode.INTERRUPTED)
"""Whoever interrupts it is told what was found so far."""
LONGEST: Final = 300.0
"""A test takes less, while it is watched."""


class Needs:
    """Takes the place of pytest's loop over the tests that it has collected."""

    def __init__(self, made: Sequence[MadeChange], beside: str) -> None:
        self._made = made
        self._beside = beside
        self._went: dict[str, set[str]] = {}
        self._took: dict[str, float] = {}
        self._near: Counter[str] = Counter()
        self.broken: list[str] = []
        self.tests: list[str] = []
        self.found: dict[str, list[str]] = {}

    def pytest_collection(self) -> None:
        """Have Hypothesis make no smaller example: nobody reads it."""
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("needed", settings(), phases=phases, database=None)
        settings.load_profile("needed")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Play each test once as it is, and then with each change."""
        files = {str(each.code.__file__): each.module for each in self._made}
        others = [e for e in session.items if e.nodeid.startswith(self._beside)]
        cut = _test(self._beside)
        own = [e for e in session.items if not e.nodeid.startswith(cut)]
        for _, each in groupby(own, lambda item: item.path):
            self._run_once(list(each), files)
        self._run_once(others, {})  # watching them takes longer than playing them all
        self.tests = [*dict.fromkeys(_test(each.nodeid) for each in own)]
        gone = set[str]().union(*(self._went[each.nodeid] for each in own))
        some = [each for each in self._made if each.where in gone]
        for at, change in enumerate(some):
            self._play(change, own, others)
            sys.stderr.write(f"\r{at + 1} of {len(some)} ")
        return True

    def _run_once(self, items: Sequence[pytest.Item], files: dict[str, str]) -> None:
        """Learn which functions of files each test calls, and how long it takes."""

        def child(tell: Callable[[object], object]) -> None:
            for each in items:
                tell(_seen(each, files))

        told = [*_forked(child, LONGEST)]
        for item, (functions, took, failed) in zip(items, told, strict=True):
            self._went[item.nodeid] = set(functions)
            self._took[item.nodeid] = took
            self.broken += [item.nodeid] if failed else []

    def _play(
        self,
        change: MadeChange,
        own: Sequence[pytest.Item],
        others: Sequence[pytest.Item],
    ) -> None:
        own = [each for each in own if change.where in self._went[each.nodeid]]
        own, others = map(self._in_order, (own, others))
        first = next(self._failing(own, change), None)
        names: list[str] = []
        if first is not None:
            beside = next(self._failing(others, change), None)
            self._near.update([first, *filter(None, [beside])])
            after = own[[each.nodeid for each in own].index(first) + 1 :]
            names = [beside] if beside else [first, *self._failing(after, change)]
        where = f"{change.id} {change.where}: {change.change.text}"
        self.found[where] = [*dict.fromkeys(map(_test, names))]

    def _in_order(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """Return those first that found other changes."""
        return sorted(items, key=lambda each: -self._near[each.nodeid])

    def _failing(
        self, items: Sequence[pytest.Item], change: MadeChange
    ) -> Iterator[str]:
        """Yield the names of the tests that fail with a change, or come to no end."""
        left = list(items)

        def child(tell: Callable[[object], object]) -> None:
            with ExitStack() as stack:
                MadePatch(change.changed).install(stack)
                for each in left:
                    spins = SPINS + self._took[each.nodeid]
                    signal.setitimer(signal.ITIMER_PROF, spins)
                    tell(_fails(each))

        while left:
            answers = list[bool]()
            longest = max(self._took[each.nodeid] for each in left)
            for failed in _forked(child, WAITS + TIMES * longest):
                answers.append(failed)
                if failed:
                    yield left[len(answers) - 1].nodeid
            if len(answers) < len(left):
                yield left[len(answers)].nodeid
            left = left[len(answers) + 1 :]

    def only(self) -> dict[str, list[str]]:
        """Return the changes that nothing beside finds, with the tests that do."""
        of_these = self.found.items()
        return {each: e for each, e in of_these if {*e} & {*self.tests}}

    def needed(self) -> dict[str, int]:
        """Return tests that find all of them together, and how many each adds."""
        left: dict[str, list[str]] = self.only()
        chosen: dict[str, int] = {}
        while left:
            many = Counter(name for names in left.values() for name in names)
            best = max(self.tests, key=lambda each: many[each])
            chosen[best] = many[best]
            left = {each: names for each, names in left.items() if best not in names}
        return chosen

    def lost(self, without: Sequence[str]) -> list[str]:
        """Return the changes that are found by none but tests of these names."""
        return [
            each
            for each, names in self.only().items()
            if all(name.rpartition("::")[2] in without for name in names)
        ]

    def report(self, without: Sequence[str]) -> str:
        """Return what was found, as text."""
        only, needed = self.only(), self.needed()
        rows = [f"{count:5}  {name}" for name, count in needed.items()]
        rows += [f"    -  {each}" for each in self.tests if each not in needed]
        rows += [f" LOST  {each}" for each in self.lost(without)]
        found = sum(map(bool, self.found.values()))
        last = f"{found} of {len(self.found)} small changes are found by these tests,"
        return "\n".join([*rows, f"{last} {len(only)} of them by these alone"])


def _test(name: str) -> str:
    """Return a test's name without its case."""
    return name.partition("[")[0]


def _fails(item: pytest.Item) -> bool:
    return any(each.failed for each in runtestprotocol(item, log=False, nextitem=None))


def _seen(item: pytest.Item, files: dict[str, str]) -> tuple[list[str], float, bool]:
    """Return which functions of files a test calls, its time, and whether it fails."""
    codes, start = set[Any](), monotonic()

    def watch(frame: FrameType, *_: object) -> None:
        codes.add(frame.f_code)

    if files:
        threading.settrace(watch)
        sys.settrace(watch)
    failed = _fails(item)
    sys.settrace(None)
    here = (each for each in codes if each.co_filename in files)
    names = (f"{files[e.co_filename]}.{_function(e.co_qualname)}" for e in here)
    return sorted(set(names)), monotonic() - start, failed


def _function(name: str) -> str:
    """Return the name of the function in which one is defined."""
    return name.partition(".<locals>")[0]


def _forked(
    child: Callable[[Callable[[object], object]], object], seconds: float
) -> Iterator[Any]:
    """Yield what a copy of this process tells, until it ends or says nothing."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        with suppress(BaseException):
            child(lambda told: os.write(writing, f"{json.dumps(told)}\n".encode()))
        os._exit(0)
    os.close(writing)
    try:
        yield from map(json.loads, _lines(reading, seconds))
    finally:
        os.close(reading)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _lines(reading: int, seconds: float) -> Iterator[bytes]:
    kept = b""
    while select.select([reading], [], [], seconds)[0]:
        if not (more := os.read(reading, 1 << 16)):
            return
        *whole, kept = (kept + more).split(b"\n")
        yield from whole


def _changes(name: str) -> Iterator[MadeChange]:
    """Yield the changes of a module, or of those that a package has itself."""
    path = getattr(import_module(name), "__path__", None)
    if path is None:
        package, _, module = name.rpartition(".")
        yield from changes(module, package)
    for each in iter_modules(path or ()):
        if not each.ispkg and not each.name.startswith("_"):
            yield from changes(each.name, name)


def main(arguments: Sequence[str]) -> int:
    """Make the changes, and tell what finds them."""
    parser = argparse.ArgumentParser(prog="python -m tools.needed")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--of", nargs="+", required=True, metavar="MODULE")
    parser.add_argument("--beside", default=WORLDS, metavar="TESTS")
    parser.add_argument("--without", nargs="+", default=(), metavar="TEST")
    parser.add_argument("-n", type=int, default=10_000, help="so many of the changes")
    parser.add_argument("--seed", type=int, default=0, help="of the choice among them")
    parser.add_argument("--json", type=Path, help="where what finds each is written")
    asked = parser.parse_args(arguments)
    made = [each for name in asked.of for each in _changes(name)]
    some = Random(asked.seed).sample(made, min(asked.n, len(made)))  # noqa: S311  # a choice
    needs = Needs(some, asked.beside)
    how = ["-q", "-n0", "-p", "no:cacheprovider", "-W", REWRITES]
    code = pytest.main([*how, *asked.tests, _test(asked.beside)], [needs])
    if code not in ENDED or needs.broken:
        sys.stdout.write(f"fails without any change: {needs.broken or code}\n")
        return FAULT
    sys.stdout.write(f"\n{needs.report(asked.without)}\n")
    if asked.json:
        asked.json.write_text(json.dumps(needs.found, indent=1))
    return OK if needs.needed().keys() == set(needs.tests) else DIFFERS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

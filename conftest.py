"""How pytest runs here: what now and what later, and on how many cores."""

from __future__ import annotations

import gc
import os
import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import settings

TESTS: Final = Path(__file__).parent / "tests"
LONG: Final = TESTS / "long.toml"
AGAIN: Final = "again"
"""The group of what another step of .ci/run shows: it is left as another case is."""
FEW: Final = 3
"""So many files are tested sooner than workers have started."""
YOUNG, MIDDLE, OLD = 50_000, 20, 50
"""After so many new objects, and so many rounds, the collector looks at older ones."""
LEFT: Final = pytest.StashKey[int]()
"""So many tests were left for later."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let whoever has the time run what is left for later, too."""
    parser.addoption(
        "--all",
        action="store_true",
        help="run all tests, also those of tests/long.toml and all cases of one_in",
    )
    parser.addoption(
        "--later",
        action="store_true",
        help="run what tests/long.toml lists alone, but for what is shown twice",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Tell what the mark is for; no test knows what others have played, or killed."""
    os.environ |= {"REFENGINE_CHANGES": "off", "REFENGINE_SWEEP": "off"}
    if not config.getoption("--hypothesis-profile", None):
        settings.load_profile("ci")  # the same on a busy machine, where drawing is slow
    config.addinivalue_line(
        "markers",
        "one_in(n): the cases show one fact many times; one in n runs, and the others"
        " with --all alone",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave for later what ``tests/long.toml`` lists, and cases of ``one_in``.

    The first case always runs, and in few files that are named nothing is long: who
    names a test, or chooses it by ``-k`` there, waits for it.
    """
    if config.getoption("--all"):
        return
    long, again = (set[str](), set[str]()) if _are_few(config) else _long()
    seen: Counter[str] = Counter()
    now: list[pytest.Item] = []
    later: list[pytest.Item] = []
    cases: list[pytest.Item] = []
    for item in items:
        *names, case = _names(item)
        mark = item.get_closest_marker("one_in")
        is_case = mark is not None and seen[names[-1]] % mark.args[0]
        is_shown = again & {*names, case}
        seen[names[-1]] += 1
        (cases if is_case or is_shown else later if long & {*names} else now).append(
            item
        )
    kept, left = (later, now) if config.getoption("--later") else (now, later)
    if left or cases:
        items[:] = kept
        config.hook.pytest_deselected(items=[*left, *cases])
    config.stash[LEFT] = 0 if kept is later else len(left) + len(cases)


def _long() -> tuple[set[str], set[str]]:
    """Return what is listed for any reason but one, and what is shown twice."""
    groups = tomllib.loads(LONG.read_text("utf-8")) if LONG.is_file() else {}
    again = {*groups.pop(AGAIN, ())}
    return {*chain.from_iterable(groups.values())}, again


def _names(item: pytest.Item) -> list[str]:
    """Return how ``tests/long.toml`` names a test: file, class, function and case."""
    path = item.path
    if path.is_relative_to(TESTS):
        path = path.relative_to(TESTS)
    name, bracket, case = item.nodeid.partition("[")
    parts = name.split("::")[1:]
    names = list(accumulate([path.as_posix(), *parts], "{}::{}".format))
    return [*names, names[-1] + bracket + case]


def _are_few(config: pytest.Config) -> bool:
    """Tell whether a few files were named, and no folder."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    folders = any(not each.partition("::")[0].endswith(".py") for each in config.args)
    return named and not folders and len(config.args) <= FEW


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a worker tell how many it left; each of them looks at all tests."""
    if output := getattr(session.config, "workeroutput", None):
        output["left"] = session.config.stash.get(LEFT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:  # noqa: ANN401  # pytest-xdist has no types
    """Hear that from a worker of pytest-xdist; one that broke down says nothing."""
    config: pytest.Config = node.config
    output: dict[str, int] = getattr(node, "workeroutput", {})
    config.stash[LEFT] = max(output.get("left", 0), config.stash.get(LEFT, 0))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what did not run, and how it does."""
    if left := config.stash.get(LEFT, 0):
        terminalreporter.write_line(
            f"{left:,} {'tests were' if left > 1 else 'test was'} left for later:"
            " with --all they run, too, and with --later what is more than another case"
        )


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return how many workers ``-n auto`` means; None leaves that to pytest-xdist.

    What measures has one process and its machine to itself.
    """
    return (
        0 if _are_few(config) or config.pluginmanager.hasplugin("benchmark") else None
    )


def pytest_collection_finish() -> None:
    """Let the garbage collector leave alone what there is before the first test.

    Thousands of tests, all modules and their tables live to the end: to look through
    them again and again takes a good part of the time of a test that makes objects. So
    does looking at what a test makes while it makes it, with the limits that Python has
    by itself.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


@pytest.fixture
def driver_traffic() -> Iterator[set[tuple[str, str]]]:
    """Hold what drivers are told and say against the published schema.

    It is a set of who called what, as far as that was answered.
    """
    from tests.driver_traffic import watched  # noqa: PLC0415  # few tests have drivers

    with watched() as seen:
        yield seen

"""How pytest runs here: on every core, unless few files or a measurement are asked."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator

import pytest

FEW = 3
"""So many files are tested sooner than workers have started."""
YOUNG, MIDDLE, OLD = 50_000, 20, 50
"""After so many new objects, and so many rounds, the collector looks at older ones."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let whoever has the time run what ``one_in`` leaves out."""
    parser.addoption(
        "--all-cases",
        action="store_true",
        help="run all cases of the tests marked one_in, of which some run by default",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Tell what the mark is for."""
    config.addinivalue_line(
        "markers",
        "one_in(n): the cases show one fact many times; one in n runs, and all of them"
        " with --all-cases, as .ci/long does",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out cases of tests marked ``one_in``, and tell how many.

    The first case always runs, so one that is named, or chosen by ``-k``, does.
    """
    if config.getoption("--all-cases"):
        return
    seen: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        mark = item.get_closest_marker("one_in")
        test = item.nodeid.partition("[")[0]
        is_left = mark is not None and seen[test] % mark.args[0]
        (left if is_left else kept).append(item)
        seen[test] += 1
    if left:
        items[:] = kept
        config.hook.pytest_deselected(items=left)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return how many workers ``-n auto`` means; None leaves that to pytest-xdist.

    What measures has one process and its machine to itself.
    """
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    folders = any(not each.partition("::")[0].endswith(".py") for each in config.args)
    few = named and not folders and len(config.args) <= FEW
    return 0 if few or config.pluginmanager.hasplugin("benchmark") else None


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

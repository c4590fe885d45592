"""How pytest runs here: on every core, unless few files or a measurement are asked."""

from __future__ import annotations

import gc

import pytest

FEW = 3
"""So many files are tested sooner than workers have started."""


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
    them again and again takes a good part of the time of a test that makes objects.
    """
    gc.collect()
    gc.freeze()

"""What pytest hooks into: fixtures of the tests, which ``pytest_suite`` has made."""

from __future__ import annotations

from typing import Final, cast

import pytest

from property_tests.pytest_suite import EngineTests, cases

NAME: Final = "refengine-suite"


@pytest.fixture(name="suite", scope="session")
def _suite(request: pytest.FixtureRequest) -> EngineTests:
    """Return what judges the engines that were asked for."""
    return cast("EngineTests", request.config.pluginmanager.get_plugin(NAME))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test for each engine, and for each clause that is checked."""
    cases(metafunc, metafunc.config.pluginmanager.get_plugin(NAME))


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """Refuse to run without an engine, wherever the collection began."""
    if not config.pluginmanager.has_plugin(NAME):
        raise pytest.UsageError(
            "property_tests judges engines: run 'pytest --pyargs property_tests"
            " --engine NAME', or leave the folder out"
        )

"""What pytest is told about the suite; all of it is in ``property_tests.face``."""

from __future__ import annotations

from typing import Final, cast

import pytest

from property_tests.face import Face, cases

NAME: Final = "refengine-face"


@pytest.fixture(name="face", scope="session")
def _face(request: pytest.FixtureRequest) -> Face:
    """Return what judges the engines that were asked for."""
    return cast("Face", request.config.pluginmanager.get_plugin(NAME))


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

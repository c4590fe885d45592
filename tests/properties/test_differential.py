"""Real engines and the reference in drawn worlds: what is known to differ, no more."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import tests.differential.explaining
from compat.engines.load_errors import LoadError
from tests.differential.explaining import Pair, look, read_explained
from tests.differential.flow import flow_pair
from tests.differential.hooks import hooks_pair
from tests.properties.support import counted, noted, searching

HERE = Path(tests.differential.explaining.__file__).parent
PAIRS = {"flow": flow_pair, "eino": hooks_pair}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Let engines log nothing: they log each error that a world raises."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def opened(kind: str, engine: str) -> Pair:
    try:
        return PAIRS[kind](engine, None)
    except LoadError as error:
        pytest.skip(str(error))


@pytest.mark.hours
@pytest.mark.parametrize(
    "file", sorted(HERE.glob("*.toml")), ids=lambda file: file.stem
)
def test_a_real_engine_does_as_the_reference_does(file: Path) -> None:
    pair, known = opened(*file.stem.split("_", 1)), read_explained(file)
    used = {
        name
        for each in known
        if each.world
        for name in look(pair, known, pair.read(each.world)).used
    }

    @searching(40)
    @given(pair.worlds())
    def compare(world: Any) -> None:
        found = look(pair, known, world)
        noted(world)
        for each in found.used or [found.skipped or "the same"]:
            counted(str(each))
        used.update(found.used)
        assert found.found is None

    compare()
    assert {each.name for each in known} - used == set()

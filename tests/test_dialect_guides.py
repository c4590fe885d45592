"""The guides to the loop and to callbacks v2 have a row for each method, as it is."""

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

from compat.dialects.callbacks import CALLBACK_TYPES
from compat.dialects.stream_loop import LoopProcessor, ResponseCallbacks
from compat.dialects.stream_loop import loop as loop_module
from tests.test_docs import blocks, output_of

ROOT = Path(__file__).parent.parent
LOOP = "docs/migrating-to-the-loop.md"
CALLBACKS = "docs/migrating-callbacks-to-v2.md"


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """Return the cells of a section's rows by the name in the first."""
    text = (ROOT / page).read_text("utf-8")
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\| `(\w+)[^|]*\|(.*)\|$", section, re.MULTILINE)
    return {name: [x.strip() for x in rest.split("|")] for name, rest in found}


@pytest.mark.parametrize("page", [LOOP, CALLBACKS])
def test_guide_shows_what_its_program_prints(page: str) -> None:
    shown = [code for language, code in blocks(page) if not language]

    assert shown == [output_of(page)]


def test_each_step_of_a_processor_has_a_row() -> None:
    steps = inspect.getmembers(LoopProcessor, inspect.isfunction)

    assert set(rows(LOOP, "Each step")) == {
        name for name, _ in steps if not name.startswith("_")
    }


def test_each_callback_of_a_response_has_a_row() -> None:
    names = [each.name for each in fields(ResponseCallbacks)]

    assert list(rows(LOOP, "Each callback")) == names


def test_each_callback_of_a_session_has_a_row_with_its_owners() -> None:
    found = rows(CALLBACKS, "Each callback")

    assert {name: cells[0] for name, cells in found.items()} == {
        name: ", ".join(row.owners) for name, row in CALLBACK_TYPES.items()
    }


def test_the_built_way_is_as_short_as_the_guide_says() -> None:
    assert len(inspect.getsource(loop_module).splitlines()) < 100

"""Pictures of reports are those that a command takes, and pages show them."""

import struct
from pathlib import Path

from tools.screenshots import PICTURES, ROOT, SHOTS


def test_each_picture_is_one_that_is_taken_and_as_large() -> None:
    sizes = {
        each.name: struct.unpack(">II", each.read_bytes()[16:24])
        for each in PICTURES.iterdir()
    }

    assert sizes == {name: (each.width, each.height) for name, each in SHOTS.items()}


def test_each_picture_stands_on_a_page() -> None:
    pages = [ROOT / "README.md", *Path(ROOT / "docs").glob("*.md")]
    text = "\n".join(each.read_text("utf-8") for each in pages)

    assert [name for name in SHOTS if f"pictures/{name})" not in text] == []

"""What docs/cassettes.md says about the wire is so."""

import re
import tomllib

from compat.wire.manifest import Manifest
from tests.test_docs import blocks, output_of
from tests.wire_support import ROOT

PAGE = "docs/cassettes.md"
TEXT = (ROOT / PAGE).read_text("utf-8")


def test_page_shows_the_error_that_its_example_prints():
    [shown] = [code for language, code in blocks(PAGE) if language == "text"]

    assert output_of(PAGE) == shown


def test_each_pitfall_has_a_rule_and_tests_that_exist():
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", TEXT, re.MULTILINE)
    tests = "".join(
        path.read_text("utf-8") for path in (ROOT / "tests").glob("test_wire_*.py")
    )
    named = re.findall(r"`(test_\w+)`", TEXT)

    assert [int(row[0]) for row in rows] == list(range(1, 16))
    assert all(re.findall(r"`test_\w+`", row[3]) for row in rows)
    assert [name for name in named if f"def {name}(" not in tests] == []


def test_manifest_of_the_page_can_be_read():
    [shown] = [code for language, code in blocks(PAGE) if language == "toml"]

    assert Manifest.model_validate(tomllib.loads(shown)).cassette[0].interactions == 2


def test_modules_of_the_page_are_those_of_the_room():
    rows = TEXT.partition("## Modules")[2]
    named = set(re.findall(r"`([a-z_]+)`", rows)) - {"compat"}
    room = ROOT / "compat/wire"
    files = {path.stem for path in room.rglob("*.py")} - {"__init__"}

    rooms = {"interfaces", "scrubbing", "server"}
    assert named == files | rooms

"""The documentation as a site: it builds strictly and asks no other host."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import refengine
import refengine.state
from compat.cli.main import COMMANDS
from compat.cli.profile import listed, report
from compat.corpora.entries import CorpusEntry
from compat.engines.capabilities import CAPABILITIES
from compat.migration.codes import CODES
from compat.observe.judging import summary
from compat.report.conform_files import badge_json, history_lines, to_json
from compat.report.timeline import history_json
from compat.state.contents import contents
from compat.state.shown import listed as runs_listed
from compat.state.shown import run_form, verified
from compat.verdicts.exit_codes import FIRST_WINS, MEANINGS, OK
from compat.verdicts.relations import RELATIONS
from compat.verdicts.timeline import VersionHistory
from property_tests.inferring import Inferred
from property_tests.known.entries import Known
from property_tests.matrix import Matrix
from refengine.profile import PROFILES, options
from refengine.testing.channels import CHANNELS
from tests.conform_sample import judged, result
from tools.site.formats import places, read_formats, schemas_made, spoken_lines
from tools.site.pages import commands, exit_codes

ROOT = Path(__file__).parent.parent
FORMATS = read_formats()
LED_TO = re.compile(r'<a [^>]*href="(?!\w+:)([^"#]+)')
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src"}
"""Tags that have a browser ask for something, and where they say for what."""


class Asked(HTMLParser):
    """Collects what a browser asks for by itself to show a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.urls: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        loads = tag == "link" and found.get("rel") not in {"next", "prev", "canonical"}
        name = "href" if loads else LOADED.get(tag, "")
        self.urls.append(found.get(name) or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Build it once; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_no_page_asks_another_host_for_anything(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    asked = {url for page in pages for url in Asked(page.read_text("utf-8")).urls}

    assert len(pages) > 30
    assert not [url for url in asked if re.match(r"(\w+:)?//", url)]


def test_whatever_a_page_asks_for_is_there(site: Path) -> None:
    asked = {
        (page.parent, re.sub(r"[?#].*", "", url))
        for page in site.rglob("*.html")
        for url in Asked(page.read_text("utf-8")).urls
        if not url.startswith("data:")
    }

    assert {url for folder, url in asked if not (folder / url).exists()} == set()
    assert (site, "assets/site.css") in asked


def test_every_page_that_is_led_to_is_there(site: Path) -> None:
    lost = {
        (page.name, target)
        for page in site.rglob("*.html")
        for target in LED_TO.findall(page.read_text("utf-8"))
        if not (page.parent / target).exists()
    }

    assert not lost


def test_no_link_is_shown_with_its_brackets(site: Path) -> None:
    shown = [
        (page.name, found[0])
        for page in site.rglob("*.html")
        for found in re.finditer(
            r"\[[^\[\]]*\] \(<code>[^<]*</code>\)", page.read_text()
        )
    ]

    assert shown == []


def test_reference_has_every_name_that_there_is(site: Path) -> None:
    reference = site / "reference"
    commands = (reference / "commands.html").read_text("utf-8")
    postures = (reference / "profiles.html").read_text("utf-8")

    channels = (reference / "channels.html").read_text("utf-8")
    needed = (reference / "capabilities.html").read_text("utf-8")

    assert all(f'id="{name}"' in commands for name in COMMANDS)
    assert all(f'id="{name}"' in channels for name in (*CHANNELS, *RELATIONS))
    assert all(f"<code>{name}</code>" in channels for name in CODES)
    assert all(f'id="{name}"' in needed for name in CAPABILITIES)
    assert all(f'id="{posture}"' in postures for posture in options())
    for page, package in (("refengine", refengine), ("state", refengine.state)):
        names = (reference / f"{page}.html").read_text("utf-8")
        there = set(re.findall(r'id="refengine\.(?:\w+\.)*(\w+)"', names))
        assert {*vars(package)["__all__"]} <= there


def test_exit_codes_are_told_of_every_command() -> None:
    shown = re.findall(r"^Usage: refengine ([a-z -]*[a-z])", commands(), re.MULTILINE)
    told = exit_codes()

    assert {"conform", "clause list", "corpus sample", "migrate check"} <= set(shown)
    assert not [each for each in shown if f"`refengine {each}`" not in told]
    assert {*MEANINGS} == {*FIRST_WINS, OK}
    assert all(f"| {code} | " in told for code in MEANINGS)


def test_exit_codes_are_worded_alike_in_every_help() -> None:
    """Each code with what it means, the good one first, as ``0 listed, 2 ...``."""
    wrong = {
        line
        for line in exit_codes().splitlines()
        if line.startswith("- ")
        and not re.search(r"`: 0 \w[^.]*?(?:, [1-7] \w[^.]*?)*\.", line)
    }

    assert wrong == set()
    inside = re.compile(r"\S\s*(?<!\n\n)(?<!\n\n    )Exit codes:")
    helps = {line: command.help or "" for line, command in spoken_lines()}
    assert not [line for line, told in helps.items() if inside.search(told)]


def test_every_file_of_every_command_has_a_format() -> None:
    listed = {place for each in FORMATS for place in (*each.writes, *each.reads)}

    assert listed == {*places()}
    assert len(listed) > 60
    assert len({each.name for each in FORMATS}) == len(FORMATS)


def test_a_format_says_where_its_shape_stands() -> None:
    for_people = {"Pages and tables", "Sources", "Compared rows"}
    without = {e.name for e in FORMATS if not (e.shape or e.model)}

    assert without <= for_people
    made = [json.loads(text) for _, text in schemas_made()]
    assert all(each["title"] and each["description"] for each in made)
    assert len({each["$id"] for each in made}) == len(made)


def _keys(name: str) -> set[str]:
    [found] = [each.keys for each in FORMATS if each.name == name]
    return {*found}


def test_keys_of_a_format_are_those_that_are_written() -> None:
    judgement = judged(result("ORD-001"))
    bare = CorpusEntry({}, "a.json", "chat", "turns 1")
    entry = bare.with_exercised(["ORD-001"]).with_branches(["line 1: true"])
    golden = ROOT / "tests/golden/checkpoints/v1/start.ckpt"
    kept = contents(golden, golden.stem)

    assert _keys("Runs of a file") == runs_listed(kept).keys()
    assert _keys("One kept run") == run_form(kept.runs[0]).keys()
    assert _keys("Verified runs") == verified(kept).keys()
    assert _keys("Report of a judgement") == to_json(judgement).keys()
    assert _keys("Badge") == json.loads(badge_json(judgement)).keys()
    assert (
        _keys("History") == json.loads(history_lines(judgement).split("\n")[0]).keys()
    )
    assert _keys("Corpus") == json.loads(entry.line).keys()
    assert _keys("Known failures") == {*Known.model_fields} - {"file", "number"}
    assert _keys("History of verdicts") == history_json(VersionHistory("", ())).keys()
    assert _keys("Compared rows") == summary([], []).keys()
    assert _keys("Profiles") == listed().keys()
    assert _keys("Inferred profile") == report(Inferred("", (), PROFILES[0])).keys()
    assert _keys("Matrix of mutants") == Matrix((), {}, ()).as_json().keys()


def test_picture_of_the_whole_names_commands_that_there_are() -> None:
    texts = ET.parse(ROOT / "docs/overview.svg").iter()  # noqa: S314  # our file
    named = [each.text or "" for each in texts if each.tag.endswith("}text")]
    lines = [each.split()[1] for each in named if each.startswith("refengine ")]

    assert lines == ["conform", "migrate", "bench"]
    assert set(lines) <= COMMANDS.keys()

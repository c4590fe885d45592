"""The documentation as a site: it builds strictly and asks no other host."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import refengine
from compat.cli.main import COMMANDS
from compat.engines.capabilities import CAPABILITIES
from compat.migration.code_table import CODES
from compat.verdicts.relations import RELATIONS
from refengine.profile import options
from refengine.testing.channels import CHANNELS
from tools.site.pages import commands, exit_codes

ROOT = Path(__file__).parent.parent
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


def test_every_page_that_is_led_to_is_there(site: Path) -> None:
    lost = {
        (page.name, target)
        for page in site.rglob("*.html")
        for target in LED_TO.findall(page.read_text("utf-8"))
        if page.name != "404.html" and not (page.parent / target).exists()
    }

    assert not lost


def test_reference_has_every_name_that_there_is(site: Path) -> None:
    reference = site / "reference"
    commands = (reference / "commands.html").read_text("utf-8")
    postures = (reference / "profiles.html").read_text("utf-8")
    names = (reference / "refengine.html").read_text("utf-8")

    channels = (reference / "channels.html").read_text("utf-8")
    needed = (reference / "capabilities.html").read_text("utf-8")

    assert all(f'id="{name}"' in commands for name in COMMANDS)
    assert all(f'id="{name}"' in channels for name in (*CHANNELS, *RELATIONS))
    assert all(f"<code>{name}</code>" in channels for name in CODES)
    assert all(f'id="{name}"' in needed for name in CAPABILITIES)
    assert all(f'id="{posture}"' in postures for posture in options())
    public: list[str] = vars(refengine)["__all__"]
    listed = set(re.findall(r'id="refengine\.(?:\w+\.)*(\w+)"', names))
    assert set(public) <= listed


def test_exit_codes_are_told_of_every_command() -> None:
    shown = re.findall(r"^Usage: refengine ([a-z -]*[a-z])", commands(), re.MULTILINE)
    told = exit_codes()

    assert {"conform", "clause list", "corpus sample", "migrate check"} <= set(shown)
    assert not [each for each in shown if f"`refengine {each}`" not in told]


def test_picture_of_the_whole_names_commands_that_there_are() -> None:
    texts = ET.parse(ROOT / "docs/overview.svg").iter()  # noqa: S314  # our file
    named = [each.text or "" for each in texts if each.tag.endswith("}text")]
    lines = [each.split()[1] for each in named if each.startswith("refengine ")]

    assert lines == ["conform", "migrate", "bench"]
    assert set(lines) <= COMMANDS.keys()

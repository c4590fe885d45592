"""Words of ours in a page: which are links, and what each says."""

import re
from pathlib import Path

import pytest

from compat.report.conform_page import page_text as conform_page
from compat.report.glossary import WORDS, PageWords
from compat.report.migration_page import page_text as migration_page
from compat.verdicts.migration import JudgedCase, Migration
from compat.verdicts.relations import RELATIONS
from tests.conform_sample import judged, result

PAGE = Path(__file__).parent.parent / "docs/words.md"
HOLDS = Migration("same-effects", 12, "d" * 64, holds="same-effects", ordinary=12)
CASE = JudgedCase("a", "new.py", "same-effects", "same-effects", True, HOLDS)  # noqa: FBT003  # a field
PAGES = {
    "migration": migration_page([CASE]),
    "conform": conform_page(judged(result("ORD-001", "fail"), result("ORD-002"))),
}


def house() -> dict[str, str]:
    """Return what each word means, by the rows of the page of words."""
    rows = re.findall(
        r"^\| (?!word|---)(.+?) \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    found: dict[str, str] = {}
    for names, meanings in rows:
        of = names.split(", ")
        each = meanings.split("; ") if len(of) > 1 else [meanings]
        found |= dict(zip(of, each, strict=True))
    return found


def test_a_word_means_in_a_report_what_it_means_on_the_page_of_words() -> None:
    known = house()

    assert {name: known.get(name) for name in WORDS} == dict(WORDS)
    assert set(RELATIONS) < set(WORDS)


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("12 worlds", ["worlds"]),
        ("A Channel of a channel", ["Channel"]),
        ("corpora and capabilities", ["corpora", "capabilities"]),
        ("a side door, and a door", ["side door", "door"]),
        ("holds same-effects", ["same-effects"]),
        ("worldly same-effects-x doorstep re-engine", []),
    ],
)
def test_the_first_of_each_word_is_a_link(text: str, linked: list[str]) -> None:
    told = str(PageWords().link(text))

    assert re.findall(r"<a [^>]*>([^<]*)</a>", told) == linked
    assert re.sub(r"<[^>]*>", "", told) == text


def test_what_is_no_word_is_only_text() -> None:
    told = PageWords().link("<b>world</b> & more")

    assert str(told).startswith('&lt;b&gt;<a class="word" href="#word-world" title=')
    assert str(told).endswith("world</a>&lt;/b&gt; &amp; more")


@pytest.mark.parametrize("name", PAGES)
def test_each_link_of_a_page_leads_to_a_meaning_that_stands_there_once(name) -> None:
    text = PAGES[name]
    leads = re.findall(r'<a class="word" href="#([^"]+)" title="([^"]+)">', text)
    means = re.findall(r'<dt id="([^"]+)">[^<]*</dt><dd>([^<]*)</dd>', text)

    assert len(leads) == len({*leads}) > 1
    assert sorted(leads) == sorted(means)

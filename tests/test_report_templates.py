"""Pages of reports are read in the light, in the dark, and on a phone."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "compat/report/templates"
PAGES = sorted(each.name for each in FOLDER.glob("*.html.j2"))


def colours(text: str) -> list[set[str]]:
    """Return the names that each block of :root gives colours to, light first."""
    blocks = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    return [set(re.findall(r"(--[\w-]+):", each)) for each in blocks]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_each_colour_for_the_light_and_for_the_dark(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")
    light, dark, *_ = colours(text)

    assert '<meta name="color-scheme" content="light dark">' in text
    assert "@media (prefers-color-scheme: dark)" in text
    assert light == dark


@pytest.mark.parametrize("name", PAGES)
def test_a_page_uses_no_colour_that_it_does_not_have(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")
    used = set(re.findall(r"var\((--[\w-]+)\)", text))

    assert used <= colours(text)[0]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")

    assert 'content="width=device-width, initial-scale=1"' in text
    assert re.search(r"@media \(max-width: 4\drem\)", text)

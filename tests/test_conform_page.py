"""The page of a judgement: as text, and in a browser."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from compat.report.conform_gathered import gather
from compat.report.conform_page import page_text
from compat.verdicts.conformance import Breakdown
from tests.conform_sample import clause, events, failure, judged, many, result

HOSTILE = '"><script>document.title="taken"</script><img src=x onerror=1>{{ 7 * 7 }}'


class Reader(HTMLParser):
    """Collects what stands in a page: tags with attributes, and the visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def of(self, name: str) -> Iterator[str]:
        """Yield every value of an attribute."""
        return (each[name] or "" for _, each in self.tags if name in each)

    def classed(self, name: str) -> list[dict[str, str | None]]:
        """Return the attributes of each element of a class."""
        return [a for _, a in self.tags if name in (a.get("class") or "").split()]


def page(*results: Any, **given: Any) -> Reader:
    return Reader(page_text(judged(*results, **given)))


MANY = page_text(gather(many(["reference", "langchain", "swift"], 120)))


def test_page_needs_nothing_beside_it() -> None:
    found = Reader(MANY)

    assert not {"link", "img", "iframe", "object", "base"} & {t for t, _ in found.tags}
    assert list(found.of("src")) == []
    assert all(each.startswith("#") for each in found.of("href"))
    assert not re.search(r"url\(|@import", MANY)
    assert sum(tag == "script" for tag, _ in found.tags) == 1
    assert not any(name.startswith("on") for _, a in found.tags for name in a)


def test_each_cell_leads_to_its_own_place() -> None:
    found = Reader(MANY)
    ids = list(found.of("id"))
    leads = [(each["href"] or "")[1:] for each in found.classed("cell")]

    assert len(leads) == 3 * 120
    assert len(set(leads)) == len(leads)
    assert set(leads) <= set(ids)
    assert len(ids) == len(set(ids))


def test_colour_is_never_the_only_sign() -> None:
    known = {"known_reason": "fixed in 1.3", "known_issue": "https://issues.example/1"}
    text = page_text(
        judged(
            result("ORD-001"),
            result("ORD-002", "fail"),
            result("ORD-003", "fail", level="SHOULD"),
            result("ORD-004", "blocked", reason="ORD-002 failed"),
            result("ORD-005", "error", reason="broke"),
            result("ORD-006", "not-applicable", reason="no structs"),
            result("ORD-007", "fail", known="known", **known),
            result("ORD-008", known="stale"),
            clauses=[clause("ORD-009")],
        )
    )
    cells = re.findall(
        r'<a class="cell ([\w-]+)".*? aria-label="([^"]*)">(.*?)</a>', text
    )

    assert cells == [
        ("pass", "ORD-001 MUST, swift: pass", "✓"),
        ("fail", "ORD-002 MUST, swift: fail", "F"),
        ("soft", "ORD-003 SHOULD, swift: fail", "f"),
        ("blocked", "ORD-004 MUST, swift: blocked", "B"),
        ("error", "ORD-005 MUST, swift: error", "E"),
        ("not-applicable", "ORD-006 MUST, swift: not applicable", "n/a"),
        ("known", "ORD-007 MUST, swift: known failure", "K"),
        ("stale", "ORD-008 MUST, swift: stale: no longer fails", "S"),
        ("none", "ORD-009 MUST, swift: not judged", "·"),
    ]


def test_clauses_that_were_not_selected_have_no_row() -> None:
    found = events(result("ORD-001"), result("ORD-002"))
    chosen = found[0].model_copy(update={"selected": ("ORD-002",)})
    text = page_text(gather([chosen, *found[1:]]))

    assert [each["href"] for each in Reader(text).classed("cell")] == ["#ORD-002-1"]
    assert "<dd>1 of 1 clause</dd>" in text
    assert "0.1, 2 clauses" in Reader(text).text


def test_failing_clause_is_open_and_tells_its_cause() -> None:
    found = page(result("ORD-001", "fail"), result("ORD-002"))
    [failing, kept] = found.classed("clause")

    assert "open" in failing
    assert "open" not in kept
    for part in (
        "NOT CONFORMANT",
        "The first extension in a list is the outermost one of every onion.",
        "before-model hooks: middlewares, then handlers, in list order",
        '["h0", "m0", "h1"]',
        'at [0]: expected "m0", got "h0"',
        '>    4  run 1  hook_enter  extension: "m0"  position: 0',
        "the model answers, call by call:\n    assistant:  [c0: search({})]",
        "refengine conform swift --only ORD-001 --seed 7",
        "fails in 3 of 40 worlds that decide",
    ):
        assert part in found.text
    [deciding] = found.classed("at")
    assert deciding == {"class": "at"}


def test_engine_is_told_with_its_counts_and_what_is_not_kept() -> None:
    found = page(result("ORD-001", "fail"), told={"never": ("ORD-002",), "refused": 3})

    assert "1 expected, 1 run, 1 never reached: ORD-002." in found.text
    assert "3 worlds not played" in found.text
    assert {"href": "#ORD-001-1"} in [a for tag, a in found.tags if tag == "a"]


def test_clauses_that_no_check_decides_stand_at_the_end_with_the_reason() -> None:
    later = clause("INT-001", status="planned", why="Interrupts come later.")
    found = page(result("ORD-001"), clauses=[later])

    assert found.text.index("Interrupts come later.") > found.text.index("Each clause")
    assert len(found.classed("cell")) == 1


def test_text_of_an_engine_stays_text() -> None:
    strange = failure(asked=HOSTILE, expected=HOSTILE, got=[HOSTILE], reproduce=HOSTILE)
    found = page(
        result("ORD-001", "fail", failure=strange, reason=HOSTILE),
        clauses=[
            clause("ORD-001", sentence=HOSTILE),
            clause("INT-001", status="planned", why=HOSTILE, sentence=HOSTILE),
        ],
        info={"profile": HOSTILE, "undeclared": (HOSTILE,)},
        faults=[Breakdown(engine="swift", whose="engine", text=HOSTILE)],
    )

    assert sum(tag == "script" for tag, _ in found.tags) == 1
    assert not any(tag == "img" for tag, _ in found.tags)
    assert found.text.count(HOSTILE) >= 6


def test_page_is_text_whatever_an_engine_said() -> None:
    strange = failure(asked="\ud800", expected="größe 数 👩‍🔬", got="\udfff\x00\x1b")
    found = page(result("ORD-001", "fail", failure=strange, reason="\ud83d"))

    assert "größe 数 👩‍🔬" in found.text
    assert "\\ud800" in found.text
    found.text.encode("utf-8")


def test_machine_is_not_told() -> None:
    fault = Breakdown(
        engine="swift", whose="door", text="in /srv/someone/door.py\nlast"
    )
    found = page(faults=[fault])

    assert "The door broke down:\nin …/door.py\nlast" in found.text
    assert "someone" not in found.text


# --- in a browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

# The first three let it start where there is no desktop and no user but root; the rest
# keep it from calling home.
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-sync"),
    *("--disable-component-update", "--hide-scrollbars", "--window-size=1200,1600"),
    "--enable-logging=stderr",
)


def browse(folder: Path, text: str, *flags: str, at: str = "") -> tuple[str, str]:
    """Open a page in a browser; return what it prints, and what it complains of."""
    path = folder / "page.html"
    path.write_text(text, "utf-8")
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'user'}", *flags,
         f"{path.as_uri()}{at}"],
        capture_output=True, encoding="utf-8", timeout=100, check=True,
    )  # fmt: skip
    complaints = [each for each in done.stderr.splitlines() if "CONSOLE" in each]
    return done.stdout, "\n".join(complaints)


@in_a_browser
def test_browser_shows_the_page_and_complains_of_nothing(tmp_path: Path) -> None:
    dom, complaints = browse(tmp_path, MANY, "--dump-dom")

    assert complaints == ""
    assert Reader(dom).text.split() == Reader(MANY).text.split()


@in_a_browser
def test_browser_opens_the_clause_that_was_followed_to(tmp_path: Path) -> None:
    dom, _ = browse(tmp_path, MANY, "--dump-dom", at="#ORD-002-1")

    def opened(text: str) -> int:
        return sum("open" in each for each in Reader(text).classed("clause"))

    assert opened(dom) == opened(MANY) + 1


@in_a_browser
def test_browser_runs_nothing_that_an_engine_said(tmp_path: Path) -> None:
    strange = failure(asked=HOSTILE, expected=HOSTILE, got=HOSTILE)
    text = page_text(judged(result("ORD-001", "fail", failure=strange)))
    dom, complaints = browse(tmp_path, text, "--dump-dom")

    assert "<title>Conformance of swift</title>" in dom
    assert complaints == ""


@in_a_browser
def test_browser_would_run_no_script_but_our_own(tmp_path: Path) -> None:
    planted = MANY.replace("</main>", "<script>document.title='taken'</script></main>")
    dom, complaints = browse(tmp_path, planted, "--dump-dom")

    assert "<title>taken" not in dom
    assert "Content Security Policy" in complaints


@in_a_browser
def test_page_looks_the_same_without_scripts(tmp_path: Path) -> None:
    def picture(*flags: str) -> bytes:
        path = tmp_path / "page.png"
        browse(tmp_path, MANY, *flags, f"--screenshot={path}")
        return path.read_bytes()

    with_scripts = picture()

    assert len(with_scripts) > 50_000
    assert picture("--blink-settings=scriptEnabled=false") == with_scripts

"""What is shown of a benchmark: at a terminal, in Markdown, as plots and as a page."""

import io
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console, RenderableType

from compat.report.cost_files import (
    Plot,
    markdown_text,
    page_text,
    plot,
    tables_text,
    write_plot,
)
from compat.report.cost_says import says, says_not
from compat.report.cost_tables import grids
from compat.report.cost_terminal import compared_lines, lines
from compat.report.cost_text import (
    NOTHING,
    bytes_text,
    percent,
    ratio_estimate,
    seconds_estimate,
    seconds_text,
)
from compat.verdicts.cost import (
    Bar,
    Blocked,
    ComparedRow,
    Costs,
    Estimate,
    Growth,
    GrowthPoint,
)
from refengine.testing.world import WorldExtraError
from tests.cost_sample import COSTS, EMPTY, about, compared, cost, growth, peer, same
from tests.test_conform_page import Reader, browse, in_a_browser

HOSTILE = (
    '"><script>document.title="taken"</script><img src=x onerror=1>'
    "{{ 7 * 7 }}[red]$x$ \\frac\x1b[31m\u202e`|*_ ![a](http://x)]]>-->"
)
TITLES = (
    "Your subject",
    "Each of your handlers",
    "Each hook of your handlers",
    "What a hook costs",
    "One thing changed at a time",
    "Corners",
    "Forms of the same extension",
    "Growth",
    "Memory of a run",
    "Other frameworks: a run",
    "Other frameworks: a handler",
    "Memory of a handler",
    "Bars",
)
ROOM = "compat.report.plots"
PLOTS: tuple[Plot, ...] = get_args(Plot)


def printed(found: Iterable[RenderableType], width: int = 100) -> str:
    out = io.StringIO()
    console = Console(width=width, file=out)
    for each in found:
        console.print(each, highlight=False)
    return out.getvalue()


def shown(costs: Costs, width: int = 100) -> str:
    return printed(lines(costs), width)


def only(**parts: object) -> Costs:
    """Return costs that have these parts and no others."""
    return EMPTY.model_copy(update=parts)


@cache
def whole() -> str:
    """Return the page of the sample, which is drawn once."""
    return page_text(COSTS)


def visible(costs: Costs) -> str:
    return Reader(whole() if costs is COSTS else page_text(costs)).text


# --- what is told, wherever it is read


@pytest.mark.parametrize(
    "part",
    [
        *TITLES,
        "What this says",
        "What it does not say",
        "A Processor of 3.0 GHz",
        "CPython 3.11.7",
        "quick",
        "two equal sides differed by up to 1.2 %",
    ],
)
def test_every_section_is_shown_on_the_page(part: str) -> None:
    assert part in visible(COSTS)


@pytest.mark.parametrize("told", [shown, markdown_text, page_text])
def test_empty_sections_are_no_empty_tables(told) -> None:
    text = told(EMPTY)

    assert list(grids(EMPTY)) == []
    assert not any(title in text for title in TITLES)
    assert "What this says" not in text
    assert "Compare ratios" in text
    assert "<table" not in text
    assert "<svg" not in text


def test_row_that_did_not_do_its_work_shows_its_clause_and_no_number() -> None:
    why = Blocked(clause="TOOL-003", why="the tool ran twice")
    costs = only(
        costs=(
            cost("hooks", "broken", compared("bare Python", 1.0, 2.0), blocked=why),
        ),
        growth=(growth("broken", 1.0, blocked=why),),
        peers=(peer("framework", "broken", 1.0, 1.0, base_seconds=None, blocked=why),),
    )

    for grid in grids(costs):
        for row in grid.rows:
            told = [each.text for each in row.cells if each.text]
            assert [each for each in told if re.search(r"\d", each)] == [
                *(each for each in told if "framework" in each),
                "clause TOOL-003",
            ]
            assert "blocked" in told
    assert shown(costs).count("TOOL-003 is not kept: the tool ran twice.") == 3
    assert not any(plot(costs, each) for each in PLOTS)
    assert list(says(costs)) == []


def test_what_is_not_distinguishable_has_no_ratio() -> None:
    costs = only(costs=(cost("hooks", "quiet", same("no handlers", 4e-5)),))
    text = shown(costs)

    assert "not distinguishable" in text
    assert not re.search(r"\d x\b(?!,)", text.split("What a hook costs")[1])
    assert "1 of 1 comparison came out as not distinguishable" in text
    assert list(says(costs)) == []


def test_no_hook_is_said_to_take_less_than_no_time() -> None:
    hook = COSTS.hooks[0].model_copy(update={"seconds": about(-2.5e-7)})
    text = shown(
        only(
            hooks=(hook,),
            costs=(cost("handlers", "Redact", compared("without it", 1e-3, 1.5)),),
        )
    )

    assert not re.search(r"\d ns", text.split("Each hook of your handlers")[1])


def test_bar_that_was_not_measured_does_not_hold() -> None:
    bars = (Bar(name="conform", ratio=None, limit=1, holds=None),)

    assert list(says(only(bars=bars))) == []
    assert "holds" not in shown(only(bars=bars))


def test_handlers_whose_intervals_meet_are_not_put_in_order() -> None:
    names = (("A", 1.02e-6), ("B", 1e-6))
    rows = (
        cost("handlers", name, compared("without it", 1e-3, 1.5, adds))
        for name, adds in names
    )
    [told] = says(only(costs=tuple(rows)))

    assert told == (
        "The most expensive handler is A, 1.02 µs (0.99 to 1.05) over the same subject"
        " without it; B is not told apart from it."
    )


def test_hook_that_takes_nearly_all_is_named_however_wide_its_interval_is() -> None:
    dear = COSTS.hooks[0].model_copy(
        update={"share": 0.999, "change": "not distinguishable", "hook": "dear"}
    )
    cheap = COSTS.hooks[1].model_copy(update={"share": 0.001, "hook": "cheap"})
    [told] = says(only(hooks=(cheap, dear)))

    assert told.startswith("The most expensive hook is dear of ")
    assert told.endswith("of what all hooks take; its interval is wide: run again.")


@pytest.mark.parametrize(
    ("added", "told"),
    [
        (
            (8e-5, 3.2e-3),
            [
                (
                    "It grows with the history: what a run takes more is 80.0 µs over"
                    " 10 messages, 3.20 ms over 1,000 messages."
                ),
            ],
        ),
        ((8e-5, 9e-5), []),
    ],
)
def test_cost_that_grows_with_the_history_is_said_to(added, told) -> None:
    floor = 4e-5
    rows = (
        cost(
            "subject",
            f"history of {history}",
            compared("no handlers", floor + more, (floor + more) / floor),
            history=history,
        )
        for history, more in zip((10, 1000), added, strict=True)
    )

    assert list(says(only(costs=tuple(rows)))) == told


def test_machine_is_told_without_its_paths() -> None:
    costs = only(told=("left out: at /srv/someone/shop.py",))

    assert "someone" not in shown(costs)
    assert "left out: at …/shop.py." in list(says_not(costs))


# --- numbers


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3.1e-10, "0.31 ns"),
        (3.12e-7, "312 ns"),
        (0.0000421, "42.1 µs"),
        (0.0042, "4.20 ms"),
        (97.4, "97.4 s"),
        (0.0, "0 ns"),
        (-3e-9, "-3.00 ns"),
        (float("inf"), "unbounded ns"),
        (float("nan"), "unknown ns"),
    ],
)
def test_time_has_a_unit_and_three_digits(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_interval_has_the_unit_and_the_digits_of_its_value() -> None:
    estimate = Estimate(value=3.12e-7, low=-1.2e-8, high=1.4e-6)

    assert seconds_estimate(estimate) == "312 ns (-12 to 1,400)"
    assert seconds_estimate(None) == NOTHING
    assert ratio_estimate(Estimate(value=1.341, low=1.3, high=1.38)) == (
        "1.34 x (1.30 to 1.38)"
    )
    assert ratio_estimate(Estimate(value=640.2, low=600, high=680)) == (
        "640 x (600 to 680)"
    )


def test_sizes_and_shares_have_units() -> None:
    assert [bytes_text(each) for each in (612, 1536, 3 * 2**20, None)] == [
        "612 B",
        "1.50 KiB",
        "3.00 MiB",
        NOTHING,
    ]
    assert [percent(each) for each in (0.62, 0.0213)] == ["62 %", "2.1 %"]


# --- at a terminal


def test_report_fits_into_a_hundred_columns() -> None:
    assert max(map(len, shown(COSTS).splitlines())) <= 100


@pytest.mark.parametrize("width", [30, 60, 80, 100, 200])
def test_no_number_is_lost_however_narrow_a_terminal_is(width: int) -> None:
    text = shown(COSTS, width)
    wanted = {"310 ns": 1, "17.1 x": 1, "1,467 x": 1, "258 KiB": 1, "75.0 ns": 1}

    assert "…" not in text
    for number, times in wanted.items():
        assert " ".join(text.split()).count(number) >= times


def test_strange_text_is_only_text_at_a_terminal() -> None:
    text = shown(hostile(), 300)

    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[red]" in text
    assert "\\x1b[31m" in text


# --- in Markdown


def test_strange_text_is_only_text_in_markdown() -> None:
    text = markdown_text(hostile())

    assert "<script" not in text
    assert "![a]" not in text
    assert not re.search(r"(?<!\\)\|\*", text)


def test_tables_can_be_had_one_by_one() -> None:
    text = tables_text(COSTS, ("hooks",))

    assert text.startswith("**What a hook costs.** Handlers that do nothing")
    assert "\n\n| hook | over | floor | a run | one handler adds |" in text
    row = "| before_model_rewrite_history, async | bare Python | 38.1 µs | 51.0 µs |"
    assert f"{row} 310 ns (301 to 319) | 1.34 x (1.30 to 1.38) |" in text
    assert "cpu: A Processor of 3.0 GHz" in text
    with pytest.raises(KeyError):
        tables_text(EMPTY, ("hooks",))


# --- plots


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("which", PLOTS)
def test_plot_is_xml_that_loads_nothing(which: Plot, narrow: bool) -> None:
    text = plot(COSTS, which, narrow=narrow)
    root = ET.fromstring(text)  # noqa: S314  # our own text

    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("role") == "img"
    assert not {"script", "image", "style", "a"} & {
        e.tag.split("}")[1] for e in root.iter()
    }
    assert all(each.startswith("#") for each in re.findall(r'href="([^"]*)"', text))
    assert all(each.startswith("#") for each in re.findall(r"url\(([^)]*)\)", text))


@pytest.mark.parametrize("which", PLOTS)
def test_nothing_to_draw_is_no_plot(which: Plot, tmp_path: Path) -> None:
    path = tmp_path / "plot.svg"

    assert plot(EMPTY, which) == ""
    assert not write_plot(EMPTY, path, which)
    assert not path.exists()


def test_same_costs_give_the_same_bytes(tmp_path: Path) -> None:
    again = Costs.read(COSTS.model_dump_json())
    files = [tmp_path / "first.svg", tmp_path / "second.svg"]

    assert page_text(again) == whole()
    assert markdown_text(again) == markdown_text(COSTS)
    assert [
        write_plot(each, path) for each, path in zip((COSTS, again), files, strict=True)
    ]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].read_bytes().startswith(b"<?xml")


def test_what_a_user_set_up_for_matplotlib_does_not_count(monkeypatch) -> None:
    import matplotlib as mpl

    wanted = plot(COSTS, "growth")
    monkeypatch.setitem(mpl.rcParams, "font.size", 30.0)
    monkeypatch.setitem(mpl.rcParams, "xtick.direction", "in")

    assert plot(COSTS, "growth") == wanted


def test_name_of_a_kind_is_no_formula() -> None:
    named, plain = (
        plot(only(growth=(growth(name, 3e-7),)), "growth")
        for name in ("$\\frac$", "$x$")
    )

    assert named
    assert plain != plot(only(growth=(growth("x", 3e-7),)), "growth")


def test_bare_floor_is_dashed_and_ends_where_it_cannot_be_run() -> None:
    found = growth("kind", 3e-7)
    root = ET.fromstring(plot(only(growth=(found,)), "growth"))  # noqa: S314  # our own
    dashed = [
        (each.get("d") or "").split()
        for each in root.iter("{http://www.w3.org/2000/svg}path")
        if "stroke-dasharray: 5" in (each.get("style") or "")
    ]
    bare = [each for each in found.points if each.bare_seconds]

    assert max(each.n for each in bare) == 900
    assert max(len(each) // 3 for each in dashed) == len(bare) < len(found.points)


def test_numbers_that_no_axis_has_a_place_for_are_left_out() -> None:
    points = (
        GrowthPoint(n=0, seconds=1e-5),
        GrowthPoint(n=1, seconds=0),
        GrowthPoint(n=2, seconds=-1e-5),
    )
    costs = only(
        growth=(Growth(name="odd", points=points, slope=None, memory_slope=-1.0),),
        peers=(peer("odd", "hook", 0.0, -1e-6),),
    )

    assert plot(costs, "growth") == ""
    assert plot(costs, "peers") == ""


def test_plot_without_its_extra_says_which_one(monkeypatch) -> None:
    for name in [each for each in sys.modules if each.startswith(ROOM)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(WorldExtraError, match="needs the extra 'bench'"):
        plot(COSTS, "growth")
    with pytest.raises(WorldExtraError, match="needs the extra 'bench'"):
        page_text(COSTS)
    assert "What a hook costs" in shown(COSTS)


def test_importing_the_reports_imports_no_extra() -> None:
    code = (
        "import sys, compat.report.cost_files, compat.report.cost_terminal;"
        "print({'matplotlib', 'jinja2', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip

    assert done.stdout == "set()\n"


# --- the page


def test_page_needs_nothing_beside_it() -> None:
    found = Reader(whole())
    tags = {tag for tag, _ in found.tags}

    assert not {"script", "link", "img", "image", "iframe", "object", "base"} & tags
    assert list(found.of("src")) == []
    assert all(each.startswith("#") for each in found.of("href"))
    assert all(each.startswith("#") for each in found.of("xlink:href"))
    assert not re.search(r"url\((?!#)|@import", whole())
    assert not any(name.startswith("on") for _, a in found.tags for name in a)


def test_every_place_of_the_page_has_its_own_name() -> None:
    found = Reader(whole())
    ids = list(found.of("id"))
    leads = [a["href"] or "" for tag, a in found.tags if tag == "a"]

    assert len(ids) == len(set(ids))
    assert leads
    assert {each[1:] for each in leads} <= set(ids)


def test_page_has_every_plot_in_two_widths() -> None:
    found = Reader(whole())

    assert len(found.classed("wide")) == len(found.classed("narrow")) == len(PLOTS)
    assert sum(tag == "svg" for tag, _ in found.tags) == 2 * len(PLOTS)


def test_strange_text_is_only_text_in_the_page() -> None:
    text = page_text(hostile())
    found = Reader(text)

    assert not {"script", "img"} & {tag for tag, _ in found.tags}
    assert "49[red]" not in text
    assert found.text.count("<script>") > 10
    assert "\x1b" not in text
    found.text.encode("utf-8")


@in_a_browser
def test_browser_shows_the_page_and_complains_of_nothing(tmp_path: Path) -> None:
    dom, complaints = browse(tmp_path, page_text(hostile()), "--dump-dom")

    assert complaints == ""
    assert "<title>What a handler costs</title>" in dom


# --- two reports


def row(verdict, **given) -> ComparedRow:
    change = Estimate(value=1.5, low=1.4, high=1.6)
    filled = {"name": "wrap", "floor": "bare Python", "change": change, **given}
    return ComparedRow(key="k", verdict=verdict, **filled)


def test_strange_text_is_only_text_in_a_comparison() -> None:
    text = printed(compared_lines([row("not shown", name=HOSTILE, why=HOSTILE)], 2))

    assert "\x1b" not in text
    assert "[red]" in text


def hostile() -> Costs:
    """Return costs in which every text that somebody else wrote is hostile."""

    def taken(value: object) -> object:
        if isinstance(value, dict):
            return {key: taint(key, each) for key, each in value.items()}
        return [taken(each) for each in value] if isinstance(value, list) else value

    def taint(key: str, value: object) -> object:
        if key in FREE and isinstance(value, str):
            return HOSTILE
        if key == "told":
            return [HOSTILE]
        if key == "machine":
            return {HOSTILE: HOSTILE}
        return taken(value)

    return Costs.model_validate(taken(COSTS.model_dump(mode="json")))


FREE = {
    *("name", "why", "clause", "handler", "hook", "peer", "version", "ours", "what"),
    *("tool", "command", "subject", "against", "started", "key"),
}

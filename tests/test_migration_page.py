"""The page of a migration: what it shows of each verdict, and that it is only text."""

import re
from dataclasses import replace

import pytest

from compat.report.migration_for_ci import annotation_lines
from compat.report.migration_page import page_text
from compat.verdicts.migration import (
    DescribedDivergence,
    Difference,
    FailedSide,
    JudgedCase,
    Migration,
    PointsVerdict,
    PointVerdict,
    RecordedBasis,
)
from compat.verdicts.sharpness import Sharpness
from refengine.testing.scenario_files import read_scenario

HOLDS = Migration("same-effects", 12, "d" * 64, holds="identical", ordinary=12)
SHARP = Sharpness(tried=4, noticed=4)
ALONE = replace(HOLDS, sharpness=SHARP, sharpness_old=SHARP)
FOUND = DescribedDivergence(
    "MESSAGE_LOST",
    "error",
    "a message is lost",
    Difference("requests", "[0].messages[0]", "user: <b>hi</b>", "(nothing)"),
    "run 1, model call 1",
    ((" ", "user: a"), ("-", "user: <b>hi</b>"), (" ", "user: c")),
    places=(("new", "a,b.py:7, in before"),),
)
WORLD = read_scenario(
    {"agent": {}, "model_script": ["assistant:x"], "runs": [{"input": ["user:hi"]}]}
)
DIVERGES = replace(HOLDS, holds=None, divergence=FOUND, world=WORLD, diverging=3)
UNPLAYED = PointsVerdict("a", "b", "c", [PointVerdict("p", "s", "a", "unplayed", "r")])
FAULT = replace(
    HOLDS, fault=FailedSide("new", "import", "it does not load", usage=True)
)


def case(verdict: Migration, *, met: bool = False) -> JudgedCase:
    return JudgedCase("limits", "port.py", "identical", "got", met, verdict)


def rows(text: str) -> list[tuple[str, str]]:
    return re.findall(r"<tr[^>]*><td>(.*?)</td><td>(.*?)</td></tr>", text)


@pytest.mark.parametrize(
    ("verdict", "kind", "answer"),
    [
        (ALONE, "good", "HOLDS"),
        (HOLDS, "weak", "HOLDS WEAKLY"),
        (replace(ALONE, points=UNPLAYED), "weak", "HOLDS WEAKLY"),
        (DIVERGES, "bad", "DIVERGES"),
        (FAULT, "none", "CANNOT BE JUDGED"),
        (replace(HOLDS, ordinary=0), "none", "NOTHING COMPARED"),
    ],
)
def test_colour_of_a_verdict_is_that_of_its_headline(verdict, kind, answer):
    text = page_text([case(verdict, met=True)])

    assert f'<span class="badge {kind}">{answer}</span>' in text
    assert ('<details class="case" id="case-1" open>' in text) == (kind != "good")


def test_headline_is_shown_whole_where_a_terminal_has_it_in_several_lines():
    text = page_text([case(HOLDS, met=True)])

    assert "was played (needs --strict or --sharpness-plays N" in text


def test_what_keeps_the_next_relation_from_holding_is_told_as_that():
    held = replace(ALONE, holds="same-effects", divergence=FOUND, world=WORLD)
    lead = "What keeps the next relation from holding:"

    assert lead in page_text([case(held, met=True)])
    assert lead not in page_text([case(DIVERGES)])
    assert rows(page_text([case(held, met=True)]))[-1] == ("user: c", "user: c")
    sentences = {
        re.findall(r'<p class="sentence">(.*?)</p>', page_text([case(each)]))[0]
        for each in (held, DIVERGES)
    }
    assert len(sentences) == 1
    assert "expected" not in sentences.pop()


BASIS = RecordedBasis(3, ("requests", "model calls"), ())


def test_world_of_a_recording_is_called_a_part_of_it():
    recorded = replace(DIVERGES, recorded=BASIS)
    instruction = replace(FOUND, code="INSTRUCTION")
    text = page_text([case(replace(recorded, divergence=instruction))])

    assert "<h3>The shortest part of a recorded <a " in text
    assert "<dt>note</dt><dd>NEW was given the instruction that OLD sent" in text
    assert "<h3>The smallest world found" in page_text([case(DIVERGES)])


def test_case_that_is_not_met_is_open():
    assert 'id="case-1" open>' in page_text([case(HOLDS)])


def test_old_and_new_stand_in_two_columns_and_only_as_text():
    text = page_text([case(DIVERGES)])
    shown = "user: &lt;b&gt;hi&lt;/b&gt;"

    assert rows(text)[-3:] == [
        ("user: a", "user: a"),
        (shown, ""),
        ("user: c", "user: c"),
    ]
    assert text.count('class="differs"') == 1
    assert "<b>" not in text
    assert "<script" not in text
    assert "default-src 'none'" in text


def test_sharpness_has_a_column_where_some_case_has_any():
    sharp = replace(HOLDS, sharpness=Sharpness(tried=4, noticed=3))

    assert ">sharpness<" not in page_text([case(HOLDS)])
    assert '<td class="number">75 %</td>' in page_text([case(HOLDS), case(sharp)])


def test_annotation_names_file_and_line_as_github_reads_them():
    [line] = annotation_lines([case(HOLDS, met=True), case(DIVERGES)])

    assert line.startswith("::error file=a%2Cb.py,line=7::limits/port.py: ")
    assert [*annotation_lines([case(FAULT)])] == [
        "::error::limits/port.py: it does not load"
    ]

"""What a judgement looks like: as a stream, at a terminal, for machines and for CI."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from pydantic import TypeAdapter
from rich.console import Console

from compat.cli.conform import _judged
from compat.report.conform_failure import failure_texts, world_lines
from compat.report.conform_files import json_text, to_json, write_reports
from compat.report.conform_for_ci import SHOWN, junit_text, markdown_text
from compat.report.conform_gathered import gather
from compat.report.conform_stream import JudgementStream, schema_text
from compat.report.conform_terminal import DETAILED, Page, Terminal
from compat.report.conform_text import brief, value_text, without_paths
from compat.report.plain_text import plain
from compat.verdicts.conformance import (
    AnyEvent,
    Footer,
    Progress,
    SeenLine,
    SmokeResult,
)
from compat.wire.scrubbing.scrubber import output_scrubber
from tests.conform_sample import (
    AROUND,
    CRASH,
    DOOR,
    clause,
    ended,
    events,
    failure,
    judged,
    many,
    result,
)

ROOT = Path(__file__).parent.parent
HOSTILE = "<b>&amp;\x1b[31m\ud800\u202e]]>`|\n"


def written(found: Sequence[AnyEvent]) -> str:
    out = io.StringIO()
    stream = JudgementStream(out)
    for each in found:
        stream.take(each)
    return out.getvalue()


def read(text: str) -> list[Any]:
    any_event = TypeAdapter[AnyEvent](AnyEvent)
    lines = map(json.loads, text.splitlines())
    return [any_event.validate_python(each) for each in lines]


def shown(found: Sequence[AnyEvent], **given: Any) -> str:
    out = io.StringIO()
    with Terminal(Console(file=out, **given)) as terminal:
        for each in found:
            terminal.take(each)
    return out.getvalue()


# --- the stream


def test_stream_that_is_read_holds_what_was_written() -> None:
    found = many(["reference", "swift"], 40)

    assert read(written(found)) == found


def test_stream_keeps_lone_surrogates_and_the_types_of_numbers() -> None:
    strange = failure(expected={"\ud800": [1, 1.0, True]}, got="\udfff\n")
    found = events(result("ORD-001", "fail", failure=strange))
    back: list[Any] = read(written(found))
    verdict = back[3]

    assert written(found).isascii()
    assert verdict == found[3]
    assert repr(verdict.failure.expected) == repr(strange.expected)


def test_number_that_json_does_not_have_becomes_a_text() -> None:
    strange = failure(expected=[float("nan")], got=float("inf"))
    text = written(events(result("ORD-001", "fail", failure=strange)))

    assert '"expected":["nan"]' in text
    assert '"got":"inf"' in text


def test_progress_stands_in_no_file_and_in_no_digest() -> None:
    found = events(result("ORD-001"))
    live = Progress(engine="swift", done=1, worlds=2, failing=0)

    assert written([*found[:3], live, *found[3:]]) == written(found)


def test_digest_is_that_of_all_but_header_and_footer() -> None:
    found = events(result("ORD-001"))
    other = [found[0].model_copy(update={"started": "later"}), *found[1:-1]]
    changed = [*found[:-2], found[-2].model_copy(update={"run": 0})]

    assert ended(other)[-1] == found[-1]
    assert ended(changed)[-1] != found[-1]


def test_digest_is_known_without_a_file() -> None:
    stream, found = JudgementStream(), events(result("ORD-001"))
    for each in found[:-1]:
        stream.take(each)

    assert stream.end(0) == found[-1]


def test_paths_of_a_machine_stand_in_no_stream() -> None:
    broken = result("ORD-001", "error", reason="KeyError in /srv/someone/x.py")
    text = written(events(broken, smokes=[DOOR], faults=[CRASH]))

    assert "someone" not in text
    assert text.count("engine.py") == 2


def test_published_schema_is_that_of_the_events() -> None:
    published = (ROOT / "docs/conform-events.schema.json").read_text("utf-8")
    schema = json.loads(published)
    del schema["title"]

    assert published == schema_text()
    assert schema == TypeAdapter[AnyEvent](AnyEvent).json_schema()


# --- gathering


def test_same_engine_can_be_judged_under_two_profiles() -> None:
    first = events(result("ORD-001"))
    second = [each for each in first[2:-1] if not isinstance(each, Footer)]
    found = gather(ended([*first[:-1], *second]))

    assert [len(each.results) for each in found.engines] == [1, 1]


# --- texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\x9b31m", "\\x9b31m"),
        ("\ud83d", "\\ud83d"),
        ("\u202eabc\u2028", "\\u202eabc\\u2028"),
        ("größe 👩‍🔬 数", "größe 👩‍🔬 数"),
    ],
)
def test_what_nobody_could_see_is_spelled_out(text: str, expected: str) -> None:
    assert plain(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('File "/srv/me/x.py", line 3', 'File "…/x.py", line 3'),
        ("in C:\\Users\\me\\x.py", "in …\\x.py"),
        ("see https://a.example/b/c", "see https://a.example/b/c"),
        ("3/4 of a/b/c and ~/x/y", "3/4 of a/b/c and ~/x/y"),
    ],
)
def test_folders_of_absolute_paths_are_left_out(text: str, expected: str) -> None:
    assert without_paths(text) == expected


def test_middle_of_a_long_text_is_left_out() -> None:
    assert brief("a" * 50 + "b" * 100, 40) == f"{'a' * 12}…(126 more)…{'b' * 12}"


def test_value_is_shown_type_strict() -> None:
    assert value_text([1, 1.0, True, None, "1"]) == '[1, 1.0, true, null, "1"]'


def test_huge_world_is_told_in_bounds() -> None:
    handlers = [{"id": f"h{at}", "before_model": []} for at in range(10_000)]
    lines = list(world_lines({"agent": {"handlers": handlers}}))

    assert lines[0] == 'handlers: {"id":"h0","before_model":[]}'
    assert lines[-1] == "… and 9,970 lines more"
    assert len(lines) == 31


def test_world_of_another_version_is_told_as_it_is() -> None:
    assert list(world_lines({"novel": "thing"})) == ['{"novel": "thing"}']


def test_first_difference_inside_two_values_is_named() -> None:
    found = failure_texts(failure(expected={"a": [1, 2]}, got={"a": [1, 2.0]}))

    assert found.differs == "at a[1]: expected 2, got 2.0"


def test_values_that_differ_as_a_whole_need_no_place() -> None:
    assert failure_texts(failure(expected=1, got=True)).differs == ""


# --- terminal


def test_judgement_that_is_read_looks_like_the_live_one() -> None:
    strange = failure(
        expected={"b": 1, "a": 2}, got=float("nan"), scenario={"b": 1, "a": 2}
    )
    found = events(result("ORD-001", "fail", failure=strange), faults=[CRASH])

    assert shown(read(written(found))) == shown(found)


def test_many_failures_are_shown_in_bounds() -> None:
    found = [result(f"ORD-{at:03}", "fail") for at in range(DETAILED + 3)]
    text = shown(events(*found))

    assert text.count("FAIL  ORD-") == DETAILED + 3
    assert text.count("the smallest world found:") == DETAILED
    assert "3 clauses above without observations and world" in text


def test_behind_a_door_that_is_wrong_many_failures_are_only_counted() -> None:
    failed = [result(f"ORD-{at:03}", "fail") for at in range(DETAILED + 1)]
    behind = shown(events(*failed, smokes=[DOOR]))

    assert "FAIL  ORD-001" in shown(events(*failed))
    assert "FAIL  ORD-001" in shown(events(*failed[1:], smokes=[DOOR]))
    assert "FAIL" not in behind
    assert f"{DETAILED + 1} clauses not kept, and not listed here: mend the" in behind


def test_no_line_but_a_command_is_wider_than_80_columns() -> None:
    long = failure(
        asked="word " * 50,
        expected=["x" * 300],
        got={"k" * 90: "v " * 90},
        around=(*AROUND, SeenLine(mark=" ", text="word " * 60)),
    )
    text = shown(events(result("ORD-001", "fail", failure=long)))

    assert max(len(each) for each in text.splitlines()) <= 80


def test_command_to_be_copied_stays_in_one_line() -> None:
    command = f"refengine conform {'x' * 200}"
    found = events(result("ORD-001", "fail", failure=failure(reproduce=command)))

    assert f"\n  again     {command}\n" in shown(found)


def test_text_without_a_terminal_has_no_control_characters() -> None:
    strange = failure(asked=HOSTILE, expected=HOSTILE, got=[HOSTILE])
    found = result("ORD-001", "fail", failure=strange, reason=HOSTILE)
    text = shown(events(found))

    assert all(each.isprintable() or each == "\n" for each in text)
    text.encode("utf-8")


def live(event: Progress | SmokeResult, *, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=70)
    with Terminal(Console(file=io.StringIO()), console) as terminal_of:
        terminal_of.take(event)
    return out.getvalue()


def test_progress_is_shown_only_at_a_terminal() -> None:
    event = Progress(engine="swift", done=3, worlds=9, failing=2)

    assert live(event, terminal=False) == ""
    assert "3/9" in live(event, terminal=True)
    assert "2 clauses failing" in live(event, terminal=True)


def test_a_wrong_door_is_told_before_all_is_played() -> None:
    assert "THE DOOR IS WRONG" in live(DOOR, terminal=True)
    assert live(DOOR.model_copy(update={"passed": True}), terminal=True) == ""


# --- JSON


def test_json_of_equal_judgements_differs_in_the_header_alone() -> None:
    found = events(result("ORD-001", "fail"))
    later = [found[0].model_copy(update={"started": "later"}), *found[1:]]
    one, two = to_json(gather(found)), to_json(gather(later))

    assert one.pop("header") != two.pop("header")
    assert one == two
    assert one["digest"] == found[-1].digest


def test_json_of_a_live_judgement_is_that_of_its_file() -> None:
    strange = failure(expected={"b": 1, "a": 2}, got=float("nan"))
    broken = result("ORD-001", "error", reason="/srv/someone/x", failure=strange)
    found = events(broken, faults=[CRASH])

    assert json_text(gather(found)) == json_text(gather(read(written(found))))


def test_json_text_takes_every_string_and_number() -> None:
    strange = failure(expected="\ud800", got=float("nan"))
    text = json_text(judged(result("ORD-001", "fail", failure=strange)))

    assert text.isascii()
    [engine] = json.loads(text)["engines"]
    assert engine["results"][0]["failure"]["expected"] == "\ud800"


# --- JUnit


def junit(*results: Any, **given: Any) -> ET.Element:
    text = junit_text(judged(*results, **given)).encode("utf-8")
    return ET.fromstring(text)  # noqa: S314  # our own text


def test_junit_of_hostile_texts_is_xml() -> None:
    strange = failure(asked=HOSTILE, expected=HOSTILE, got=[HOSTILE, "\x00\ufffe"])
    [case] = junit(
        result("ORD-001", "fail", failure=strange, reason=HOSTILE),
        clauses=[clause("ORD-001", sentence=HOSTILE)],
    ).iter("testcase")

    assert case[0].get("message") == plain(HOSTILE)


# --- Markdown


def test_markdown_of_hostile_texts_is_only_text() -> None:
    strange = failure(asked="[a](http://x) <img> | @all", expected="`` ` ``", got=1)
    text = markdown_text(judged(result("ORD-001", "fail", failure=strange)))

    assert r"asked: \[a\]\(http\://x\) &lt;img&gt; \| \@all" in text
    assert 'expected ```"`` ` ``"```, got `1`' in text


def test_markdown_of_many_failures_has_an_end() -> None:
    found = [result(f"ORD-{at:03}", "fail") for at in range(SHOWN + 2)]

    assert markdown_text(judged(*found)).endswith("\n- and 2 clauses more\n")


HIDDEN = "correct-horse-battery-42"
SHOWN_AS = (HIDDEN, HIDDEN.replace("-", "\\u002d"), "sk-" + "a1B2" * 12)


@pytest.mark.parametrize("shown", SHOWN_AS)
@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.json", "a.xml", "a.md", "a.html", "b.md", "b.svg"]
)
def test_no_report_tells_a_secret(name, shown, tmp_path, monkeypatch) -> None:
    """Wherever it stands: what an engine got, raised, was asked, or is called."""
    monkeypatch.setenv("OUR_API_KEY", HIDDEN)
    world = {"agent": {}, "runs": [{"input": [f"user:{shown}"]}]}
    around = (SeenLine(mark=">", text=f"  1  run 1  model_request  user:{shown}"),)
    wrong = failure(asked=shown, got=[shown], around=around, scenario=world)
    failed = result("ORD-001", "fail", failure=wrong, reason=shown)
    smoke = DOOR.model_copy(update={"got": shown})
    crash = CRASH.model_copy(update={"text": f"ValueError: {shown}"})
    found: list[AnyEvent] = []
    out = io.StringIO()
    told = JudgementStream(out).telling(found.append, output_scrubber().text)
    for each in events(failed, smokes=[smoke], faults=[crash]):
        told(each)
    kinds = {"xml": "junit", "md": "markdown", "html": "html", "json": "json"}
    kinds |= {"svg": "badge"}
    if name == "a.jsonl":
        text = out.getvalue()
    else:
        kind = "history" if name == "b.md" else kinds[name.partition(".")[2]]
        write_reports({kind: tmp_path / name}, found)
        text = (tmp_path / name).read_text("utf-8")

    assert shown not in text
    assert shown.encode("unicode_escape").decode() not in text
    assert "SCRUBBED" in text or name in {"b.md", "b.svg"}


class _Interrupted:
    """A judgement that somebody ends on its way."""

    def tell(self, take: Any, _: object) -> None:
        for done in (1, 1200):
            take(Progress(engine="mine", done=done, worlds=4000, failing=2))
        raise KeyboardInterrupt


def test_judgement_that_is_interrupted_says_how_far_it_had_come(capsys) -> None:
    judgement: Any = _Interrupted()

    with pytest.raises(KeyboardInterrupt):
        _judged(judgement, Console(file=io.StringIO()), None)

    assert capsys.readouterr().err == (
        "refengine conform: mine: 1,200 of 4,000 worlds, 2 clauses fail so far,"
        " nothing is judged yet\n"
    )


def test_an_address_stays_whole_on_a_line_of_its_own() -> None:
    address = f"https://example.org/{'a-long-path/' * 9}file.py"
    shown = [str(each) for each in Page(40).wrap(f"known  X-001  why ({address})")]

    assert f"({address})" in shown

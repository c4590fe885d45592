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
from compat.report.conform_terminal import DETAILED, Terminal
from compat.report.conform_text import brief, value_text, without_paths
from compat.report.plain_text import plain
from compat.verdicts.conformance import (
    AnyEvent,
    Breakdown,
    Footer,
    Progress,
    SeenLine,
    SmokeResult,
)
from compat.wire.scrubbing.scrubber import output_scrubber
from tests.conform_sample import (
    AROUND,
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

DOOR = SmokeResult(
    engine="swift",
    name="answers",
    passed=False,
    asked="a run that answers",
    got="KeyError in /srv/someone/engine.py",
)
CRASH = Breakdown(
    engine="swift",
    whose="engine",
    text='Traceback:\n  File "/srv/someone/engine.py"\nValueError: \x1b[2J',
)


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

FAILING = """\
1 engine, 2 clauses of contract 0.1, 500 worlds (180 fixed, 320 generated from
seed 7), corpus 0123456789ab
versions: swift 1.2.0

== swift, profile seed-001

FAIL  ORD-001  MUST
  The first extension in a list is the outermost one of every onion.
  asked     before-model hooks: middlewares, then handlers, in list order
  expected  ["m0", "h0", "h1"]
  got       ["h0", "m0", "h1"]
  differs   at [0]: expected "m0", got "h0"
  fails in  3 of 40 worlds that decide
  observations around it, > decided:
         2  run 1  hook_enter  extension: "h0"  position: 0
         3  run 1  hook_exit  extension: "h0"  position: 0
    >    4  run 1  hook_enter  extension: "m0"  position: 0
         5  run 1  model_request  messages: user:hi
  the smallest world found:
    tool search (invokable), which gives "found"
    middlewares: {"id":"m0","before_chat_model":[{"op":"record"}]}
    handlers: {"id":"h0","before_model":[]}
    handlers: {"id":"h1","before_model":[]}
    run 1: in one piece
        user: hi
    the model answers, call by call:
        assistant:  [c0: search({})]
        assistant: done
  again     refengine conform swift --only ORD-001 --seed 7

checks: 2 expected, 2 run, 0 never reached

NOT CONFORMANT  swift, profile seed-001: 2 of 2 clauses judged
            pass  fail  not-applicable  blocked  error  known
  MUST         1     1               0        0      0      0
  SHOULD       0     0               0        0      0      0
  MAY          0     0               0        0      0      0

"""


def test_failing_clause_is_shown_with_its_cause() -> None:
    found = events(result("ORD-001", "fail"), result("ORD-002"), code=1)
    text = shown(found)

    assert text == f"{FAILING}digest {found[-1].digest[:12]}, exit code 1\n"


def test_judgement_that_is_read_looks_like_the_live_one() -> None:
    strange = failure(
        expected={"b": 1, "a": 2}, got=float("nan"), scenario={"b": 1, "a": 2}
    )
    found = events(result("ORD-001", "fail", failure=strange), faults=[CRASH])

    assert shown(read(written(found))) == shown(found)


def test_door_comes_before_the_clauses_it_would_explain() -> None:
    text = shown(events(result("ORD-001", "fail"), smokes=[DOOR], faults=[CRASH]))
    door = text.index("THE DOOR IS WRONG  answers: a run that answers\n")

    assert "  got       KeyError in …/engine.py\n" in text
    assert '  File "…/engine.py"\n  ValueError: \\x1b[2J\n' in text
    assert door < text.index("THE ENGINE BROKE DOWN:") < text.index("FAIL  ORD-001")


def test_clauses_that_are_no_must_are_shown_apart() -> None:
    found = events(result("ORD-001", "fail", level="SHOULD"), result("ORD-002", "fail"))
    text = shown(found)

    apart = text.index("Not kept, and not a MUST:")
    assert text.index("FAIL  ORD-002  MUST") < apart < text.index("FAIL  ORD-001  SHO")


def test_known_failures_are_a_line_each_and_stale_ones_stand_out() -> None:
    known = {"known_reason": "fixed in 1.3", "known_issue": "https://issues.example/1"}
    text = shown(
        events(
            result("ORD-001", "fail", known="known", **known),
            result("ORD-002", known="stale"),
        )
    )

    assert "known   ORD-001  fixed in 1.3 (https://issues.example/1)\n" in text
    assert "STALE   ORD-002  listed as a known failure, but no longer fails\n" in text
    assert "\nFAIL" not in text
    assert "2 of 2 clauses judged, 1 known failure, 1 stale\n" in text


def test_reason_of_what_could_not_be_judged_is_shown() -> None:
    found = events(
        result("ORD-001", "blocked", reason="ORD-002 failed"),
        result("ORD-002", "error", reason="KeyError in /srv/someone/x.py"),
    )
    text = shown(found)

    assert "BLOCKED  ORD-001  MUST" in text
    assert "  because   ORD-002 failed\n" in text
    assert "  because   KeyError in …/x.py\n" in text


def test_capabilities_and_what_was_not_reached_are_told() -> None:
    text = shown(
        events(
            result("ORD-001"),
            info={"absent": ("streaming",), "undeclared": ("structs",)},
            told={"expected": 3, "never": ("ORD-002", "ORD-003"), "refused": 2},
        )
    )

    assert "declared, but its probe found nothing: streaming\n" in text
    assert "found by its probe, but not declared: structs\n" in text
    assert "3 expected, 1 run, 2 never reached: ORD-002, ORD-003\n" in text
    assert "2 worlds not played: a capability needed there is not declared\n" in text


def test_what_a_reader_has_to_know_is_said_first() -> None:
    found = events(result("ORD-001"))
    told = found[0].model_copy(update={"told": ("generated worlds were not run",)})

    assert "\nnote: generated worlds were not run\n" in shown([told, *found[1:]])


def test_many_failures_are_shown_in_bounds() -> None:
    found = [result(f"ORD-{at:03}", "fail") for at in range(DETAILED + 3)]
    text = shown(events(*found))

    assert text.count("FAIL  ORD-") == DETAILED + 3
    assert text.count("the smallest world found:") == DETAILED
    assert "3 clauses above without observations and world" in text


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


def test_progress_is_shown_only_at_a_terminal() -> None:
    def live(*, terminal: bool) -> str:
        out = io.StringIO()
        console = Console(file=out, force_terminal=terminal, width=70)
        with Terminal(Console(file=io.StringIO()), console) as shown:
            shown.take(Progress(engine="swift", done=3, worlds=9, failing=2))
        return out.getvalue()

    assert live(terminal=False) == ""
    assert "3/9" in live(terminal=True)
    assert "2 clauses failing" in live(terminal=True)


def test_several_engines_are_summed_up_at_the_end() -> None:
    last = shown(many(["reference", "swift"], 40)).split("\n\n")[-1]

    assert last.startswith("CONFORMANT  reference, profile seed-001: 40 of 42 clauses")


# --- JSON


def test_json_begins_with_the_counts_of_each_engine() -> None:
    found = to_json(judged(result("ORD-001", "fail"), result("ORD-002")))
    [engine] = found["engines"]

    assert list(engine)[:3] == ["engine", "profile", "clauses"]
    assert engine["clauses"] == 2
    assert engine["checked"] == 2
    assert engine["verdicts"]["fail"] == 1
    assert engine["results"][0]["failure"]["got"] == ["h0", "m0", "h1"]


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


def test_junit_has_a_suite_for_an_engine_and_a_case_for_a_clause() -> None:
    root = junit(
        result("ORD-001"),
        result("ORD-002", "fail"),
        result("ORD-003", "blocked", reason="ORD-002 failed"),
        result("ORD-004", "error", reason="broke"),
        result("ORD-005", "not-applicable", reason="no structs"),
        result("ORD-006", "fail", known="known", known_reason="later"),
        result("ORD-007", known="stale"),
        clauses=[clause("INT-001", status="planned", why="later")],
    )
    [suite] = root
    cases = suite.findall("testcase")
    outcomes = [(each[0].tag, each[0].get("message")) for each in cases if len(each)]

    assert suite.get("name") == "swift.seed-001"
    assert len(cases) == 7
    assert outcomes == [
        ("failure", failure().asked),
        ("failure", "ORD-002 failed"),
        ("error", "broke"),
        ("skipped", "not applicable: no structs"),
        ("skipped", "known failure: later"),
        ("failure", "listed as a known failure, but no longer fails"),
    ]
    for each in (root, suite):
        counts = [each.get(n) for n in ("tests", "failures", "errors", "skipped")]
        assert counts == ["7", "3", "1", "2"]


def test_junit_failure_tells_its_cause() -> None:
    [case] = junit(result("ORD-001", "fail")).iter("testcase")
    text = case[0].text or ""

    assert 'differs   at [0]: expected "m0", got "h0"\n' in text
    assert '\n  >    4  run 1  hook_enter  extension: "m0"' in text
    assert "\n      user: hi\n" in text
    assert "again     refengine conform swift --only ORD-001 --seed 7" in text


def test_junit_of_an_engine_that_broke_down_is_not_green() -> None:
    cases = junit(smokes=[DOOR], faults=[CRASH]).iter("testcase")

    assert [each[0].tag for each in cases] == ["failure", "error"]
    assert "/srv" not in junit_text(judged(smokes=[DOOR], faults=[CRASH]))


def test_junit_of_hostile_texts_is_xml() -> None:
    strange = failure(asked=HOSTILE, expected=HOSTILE, got=[HOSTILE, "\x00\ufffe"])
    [case] = junit(
        result("ORD-001", "fail", failure=strange, reason=HOSTILE),
        clauses=[clause("ORD-001", sentence=HOSTILE)],
    ).iter("testcase")

    assert case[0].get("message") == plain(HOSTILE)


# --- Markdown


def test_markdown_is_a_table_and_the_causes() -> None:
    text = markdown_text(judged(result("ORD-001", "fail"), result("ORD-002")))

    assert (
        "| engine | profile | verdict | pass | fail | not-applicable | blocked | error"
        " | known | stale | thin | never reached | on recorded worlds |\n"
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        "| swift | seed-001 | **NOT CONFORMANT** | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0"
        " | 0 |\n"
    ) in text
    assert (
        "### swift\n\n"
        "- **ORD-001** MUST, fail: The first extension in a list is the outermost one"
        " of every onion.\n"
        "  - asked: before-model hooks: middlewares, then handlers, in list order\n"
        '  - expected `["m0", "h0", "h1"]`, got `["h0", "m0", "h1"]`\n'
        '  - differs `at [0]: expected "m0", got "h0"`\n'
        "  - again: `refengine conform swift --only ORD-001 --seed 7`\n"
    ) in text


def test_clauses_that_must_be_kept_come_first() -> None:
    found = judged(
        result("ORD-001", "fail", level="MAY"),
        result("ORD-002", "fail", level="SHOULD"),
        result("ORD-003", "fail"),
    )
    [engine] = found.engines

    assert [each.level for each in engine.failing] == ["MUST", "SHOULD", "MAY"]


def test_markdown_of_an_engine_that_keeps_all_is_its_row() -> None:
    assert "###" not in markdown_text(judged(result("ORD-001")))


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

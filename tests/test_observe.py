"""Rows of observed behaviour: reading, comparing, judging, and the command."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compat.observe.comparing import first_difference
from compat.observe.judging import RowJudge, RowVerdict, operations, purposes, summary
from compat.observe.matching import error_matches, matches, unmatched
from compat.observe.rows import (
    PROFILE_OF,
    AnyRow,
    Group,
    ObservedRow,
    RowsError,
    load_rows,
)
from compat.report.observed import observed_page
from refengine.profile import PROFILES, Profile, choosing, options, profile
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play

ROWS = Path(__file__).parent.parent / "compat/observe/rows/eino_probes.json"
WITNESSES = Path(__file__).parent / "witnesses.json"

BEYOND = {
    "cancel": 1,  # mode after_chat_model: contract ERR has no event of a cancellation
    "custom_events": 1,
    "enhanced_tools": 1,
    "event_sender": 2,
    "gob, interrupt_resume": 1,
    "object_identity": 2,
    "panic_nil": 2,
    "process_state": 1,
    "run_options": 1,
    "tool_infos": 1,
    "tool_search": 1,
    "workflow": 1,
}
"""What the golden rows need beyond the vocabulary; pinned, so that none slips in."""


def observe(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "refengine", "observe", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def row(tmp_path: Path, **changes: Any) -> Path:
    """Write a file of one row that holds under every profile, with changes."""
    data = {
        "id": "R",
        "scenario": {
            "agent": {"instruction": "B"},
            "model_script": ["assistant:ok"],
            "runs": [{"input": ["user:hi"]}],
        },
        "expected": {
            "by_version": [
                {
                    "versions": ["v0.6.0..HEAD"],
                    "events": [{"msg": "assistant:ok"}, "END"],
                }
            ]
        },
        **changes,
    }
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([data]), encoding="utf-8")
    return path


def test_golden_rows_hold_and_what_is_beyond_is_so_by_its_tag() -> None:
    rows = known()
    verdicts = [RowJudge(purposes=purposes()).judge(row) for row in rows]
    counts = summary(verdicts, rows)
    beyond = {each.id for each in verdicts if each.status == "beyond"}
    tags = [", ".join(row.beyond) for row in rows if row.id in beyond]

    assert [v.id for v in verdicts if v.status not in {"holds", "beyond"}] == []
    assert (counts["rows"], counts["holds"], counts["beyond"]) == (53, 38, 15)
    assert {tag: tags.count(tag) for tag in tags} == BEYOND
    assert counts["compared"] == {
        "v0.7.17": 24,
        "v0.7.37": 24,
        "ae1fb605": 20,
        "v0.8.13": 36,
        "HEAD": 37,
    }
    assert counts["versions_without_profile"] == ["v0.6.0", "v0.8.0"]


def known(path: Path = ROWS) -> list[ObservedRow]:
    """Return the rows of a file, all of which can be read."""
    rows = load_rows(path)
    assert all(isinstance(row, ObservedRow) for row in rows)
    return [row for row in rows if isinstance(row, ObservedRow)]


def differs(version: str, chosen: Profile) -> bool:
    """Tell whether a golden row of that version differs under another profile."""
    for each in known():
        groups = [g for g in each.groups if version in g.versions]
        if not groups or each.id in BEYOND_BY_SCENARIO:
            continue
        scenario = read_scenario(dict(each.scenario))
        trace = run(play(scenario, ReferenceEngine(chosen)))
        with_ctx = any(name.startswith("ctx_") for name in operations(each))
        if any(first_difference(g, trace, with_ctx=with_ctx) for g in groups):
            return True
    return False


BEYOND_BY_SCENARIO = {"P-X08_cancel_after_chatmodel"}
"""Rows with none but covered tags whose scenario the loader refuses all the same."""
COMMON = {
    "additional_tools",
    "before_model_edits",
    "changed_call_id",
    "empty_addition",
    "equal_tool_names",
    "events_at_interrupt",
    "instruction_place",
    "resumed_iteration",
    "route",
    "separator",
    "wrapper_factory",
    "wrapper_raises",
}
WITH_HANDLERS = {
    "after_hooks",
    "all_tools_removed",
    "before_agent",
    "resumed_tools",
    "return_directly",
    "swallowed_interrupt",
    "unknown_tool",
}
REAL = {"after_leaves_none", "tool_events"}
NOTICED = {
    "eino-0.7": COMMON | REAL | {"after_hooks", "empty_base", "without_tools"},
    "eino-0.7.37": COMMON | REAL | {"after_hooks", "empty_base"},
    "eino-draft": COMMON | {"after_hooks", "return_directly"},
    "eino-0.8": COMMON | REAL | WITH_HANDLERS | {"handler_input"},
    "eino-0.9": COMMON | REAL | WITH_HANDLERS | {"after_agent"},
}
"""The postures that the golden rows protect, of those with more than one option."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", NOTICED)
def test_another_choice_in_a_posture_makes_a_golden_row_differ(name: str) -> None:
    version = next(v for v, known in PROFILE_OF.items() if known == name)
    base = profile(name)
    noticed = {
        posture
        for posture, allowed in options().items()
        for other in allowed
        if other != getattr(base, posture)
        and differs(version, choosing(base, posture, other))
    }

    assert noticed == NOTICED[name]


@pytest.mark.parametrize("purpose", purposes(), ids=lambda purpose: purpose.id)
def test_each_purpose_has_a_witness_that_differs_just_so(purpose: Any) -> None:
    witness = next(row for row in load_rows(WITNESSES) if row.id == purpose.id)

    assert RowJudge().judge(witness).status == "differs"
    assert RowJudge(purposes=[purpose]).judge(witness).status == "on_purpose"


def test_every_witness_belongs_to_a_purpose() -> None:
    assert {row.id for row in load_rows(WITNESSES)} == {p.id for p in purposes()}


def test_every_profile_but_the_default_stands_for_a_version_or_a_framework() -> None:
    assert {p.name for p in PROFILES} - set(PROFILE_OF.values()) == {
        "seed-001",
        "ai-sdk-4",
        "ai-sdk-5",
        "ai-sdk-6",
        "ai-sdk-7",
        "langchain4j-1",
        "rig-0.44",
        "langchain-1",
        "langchain-js-1",
        "langgraph-prebuilt-1",
        "openai-agents-0",
        "pydantic-ai-2",
        "strands-1",
    }


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("trace", [{"model_call": 1, "in": ["user:other"]}]),
        ("trace_only", [{"model_call": 1}, {"model_call": 2}]),
        ("trace_has", [{"tool_run": "t"}]),
        ("trace_lacks", [{"model_call": 1}]),
        ("trace_counts", [{"match": {"model_call": 1}, "count": 2}]),
        ("events", [{"msg": "assistant:ok"}]),
        ("events_has", [{"msg": "assistant:no"}]),
        ("last_event", {"msg": "assistant:no"}),
        ("event_count", 2),
        ("event_count_at_least", 2),
        ("event_roles", ["tool"]),
        ("event_role_counts", {"assistant": 2}),
        ("errors", [{"point": "model"}]),
        ("build_error", True),
        ("model_call_count", 2),
        ("model_calls", [{"call": 1, "in_count": 7}]),
        ("model_calls", [{"call": 1, "in_at": {"0": "user:x"}}]),
        ("model_calls", [{"call": 1, "tools_has": ["t"]}]),
        ("model_calls", [{"call": 2}]),
        ("system_message", "C"),
        ("system_message_contains", ["C"]),
    ],
)
def test_every_key_of_a_group_can_differ(tmp_path: Path, key: str, wanted: Any) -> None:
    group = {"versions": ["HEAD"], key: wanted}
    [found] = load_rows(row(tmp_path, expected={"by_version": [group]}))

    verdict = RowJudge().judge(found)

    assert (verdict.status, verdict.detail.split(": ")[0]) == ("differs", f"HEAD {key}")


def test_a_star_stands_for_any_text_and_only_expected_keys_count() -> None:
    assert matches({"in": ["*:B*"]}, {"in": ["system:Be brief"], "more": 1})
    assert matches("tool(*):r", "tool(17):r")
    assert not matches("tool(*):r", "tool(17):s")
    assert not matches({"n": 1}, {"n": True})


def test_errors_are_compared_by_point_and_not_by_text() -> None:
    seen = {"point": "tool", "of": "t", "call": "1", "text": "it went boom"}

    assert error_matches({"point": "tool", "text": "other words"}, seen)
    assert error_matches({"point": "tool", "text_contains": "boom"}, seen)
    assert not error_matches({"point": "tool", "of": "u"}, seen)
    assert not error_matches({"point": "model"}, seen)


def test_an_entry_that_fits_many_leaves_the_only_partner_to_another() -> None:
    wanted = [{"phase": "exit"}, {"phase": "exit", "tool": "t"}]
    seen = [{"phase": "exit", "tool": "t"}, {"phase": "exit", "tool": "u"}]

    assert unmatched(wanted, seen, matches) is None
    assert unmatched(wanted[1:] * 2, seen, matches) is not None


def test_calls_of_one_message_may_interleave_where_the_row_says_so() -> None:
    scenario = {
        "agent": {
            "tools": [{"name": "t", "result": "r", "delay_ms": 5}, {"name": "u"}]
        },
        "model_script": ["assistant:[1:t({})][2:u({})]", "assistant:ok"],
        "runs": [{"input": ["user:hi"]}],
    }
    trace = run(play(read_scenario(scenario), ReferenceEngine(profile("eino-0.9"))))
    swapped = [{"tool_run": "u"}, {"tool_run": "t"}]

    def group(*, free: bool) -> Group:
        order = "free" if free else None
        return Group(versions=("HEAD",), trace_only=swapped, tool_order=order)

    assert first_difference(group(free=True), trace, with_ctx=False) is None
    assert first_difference(group(free=False), trace, with_ctx=False) is not None


def test_a_range_names_all_builds_between_its_ends(tmp_path: Path) -> None:
    [found] = known(row(tmp_path))

    assert found.versions[0] == "v0.6.0"
    assert len(found.versions) == 7


def test_the_end_of_a_range_may_be_a_version_between_two_builds(
    tmp_path: Path,
) -> None:
    groups = [{"versions": ["v0.7.34..v0.8.12"], "events": []}]
    [found] = known(row(tmp_path, expected={"by_version": groups}))

    assert found.versions == ("v0.7.37", "ae1fb605", "v0.8.0")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"more": 1}, "more = 1: Extra inputs are not permitted"),
        ({"expected": {}}, "expected.by_version = {}: is missing"),
        ({"expected": {"by_version": [{"versions": ["v9"]}]}}, "'v9' is not a version"),
        ({"expected": {"by_version": [{"events": []}]}}, "versions = .*: is missing"),
        (
            {"expected": {"by_version": [{"versions": ["HEAD"], "evnts": []}]}},
            "evnts = .*: Extra inputs are not permitted",
        ),
    ],
)
def test_a_row_that_cannot_be_read_is_told(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    [found] = load_rows(row(tmp_path, **changes))
    verdict = RowJudge().judge(found)

    assert verdict.unknown
    assert re.search(problem, verdict.detail)


def test_a_row_that_cannot_be_read_does_not_keep_the_others_from_being_judged(
    tmp_path: Path,
) -> None:
    whole = json.loads(row(tmp_path).read_text(encoding="utf-8"))
    path = tmp_path / "two.json"
    path.write_text(json.dumps([{"id": "X", "more": 1}, *whole]), encoding="utf-8")

    done = observe(str(path))

    assert done.returncode == 2
    assert done.stdout.splitlines()[1].startswith("holds")


@pytest.mark.parametrize("text", ["no JSON", "{}", "[]"])
def test_a_file_without_rows_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(RowsError, match=r"rows\.json: (is not JSON|holds no list)"):
        load_rows(path)


def test_an_answer_is_kept_under_the_agents_output_key(tmp_path: Path) -> None:
    append = [{"op": "append", "msg": "user:more"}]
    agent = {"output_key": "out", "handlers": [{"id": "H", "after_model": append}]}
    scenario = {
        "agent": agent,
        "model_script": ["assistant:x"],
        "runs": [{"input": ["user:hi"]}],
    }
    groups = [
        {"versions": ["v0.7.17"], "session_values": {"out": "x"}},
        {"versions": ["HEAD"], "session_values": {"out": "more"}},
    ]
    changes = {"scenario": scenario, "expected": {"by_version": groups}}
    [found] = load_rows(row(tmp_path, **changes))

    assert RowJudge().judge(found).status == "holds"


def test_null_stands_for_what_is_left_out_or_empty() -> None:
    assert matches({"tools": None, "value": None}, {"tools": []})
    assert not matches({"tools": None}, {"tools": ["t"]})


def test_command_prints_a_line_a_row_and_writes_counts(tmp_path: Path) -> None:
    out = tmp_path / "out.json"

    done = observe(str(ROWS), "--json", str(out))
    counts = json.loads(out.read_text(encoding="utf-8"))

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 53 + 3
    assert [each["id"] for each in counts["list"]] == [r.id for r in load_rows(ROWS)]


def test_command_exits_1_where_a_row_differs(tmp_path: Path) -> None:
    group = {"versions": ["HEAD"], "events": ["END"]}

    done = observe(str(row(tmp_path, expected={"by_version": [group]})))

    assert done.returncode == 1
    assert "DIFFERS" in done.stdout


def test_command_exits_2_for_an_unknown_profile_and_suggests_one() -> None:
    done = observe(str(ROWS), "--engine-profile", "eino-09")

    assert done.returncode == 2
    assert "did you mean 'eino-0.9'" in done.stderr
    assert "Traceback" not in done.stderr


def test_command_exits_2_for_a_file_that_is_not_there() -> None:
    done = observe("no-such-file.json")

    assert (done.returncode, done.stdout) == (2, "")
    assert "no-such-file.json" in done.stderr


def test_command_exits_2_for_an_untagged_row_outside_the_vocabulary(
    tmp_path: Path,
) -> None:
    scenario = {"agent": {"exit_tool": "x"}, "runs": [{"input": []}]}

    done = observe(str(row(tmp_path, scenario=scenario)))

    assert done.returncode == 2
    assert "agent.exit_tool" in done.stdout


def test_command_exits_4_where_nothing_was_compared(tmp_path: Path) -> None:
    group = {"versions": ["v0.6.0"], "events": []}

    done = observe(str(row(tmp_path, expected={"by_version": [group]})))

    assert done.returncode == 4
    assert "not compared" in done.stdout


TOOL = {"name": "t", "result": "r", "interrupt": {"info": "x"}}


def tagged(tmp_path: Path, tag: str, expected: Any, **changes: Any) -> AnyRow:
    """Return a row of one covered tag, about the newest version."""
    scenario = {
        "agent": {"name": "A", "tools": [TOOL]},
        "model_script": ["assistant:[1:t({})]", "assistant:ok"],
        **changes,
    }
    group = {"by_version": [{"versions": ["HEAD"], **expected}]}
    [found] = load_rows(row(tmp_path, beyond=[tag], scenario=scenario, expected=group))
    return found


def test_a_tagged_row_that_the_engine_covers_is_judged(tmp_path: Path) -> None:
    runs = [{"input": ["user:hi"], "checkpoint": "c"}, {"resume": "c"}]
    first = [{"msg": "assistant:[1:t({})]"}, {"agent": "A", "interrupted": True}, "END"]
    then = [{"run": 2}, {"msg": "tool(1):r"}, {"msg": "assistant:ok"}, "END"]
    rows = [
        tagged(tmp_path, "interrupt_resume", {"events": events}, runs=runs)
        for events in ([*first, *then], [*first, "END", *then])
    ]

    assert [RowJudge().judge(each).status for each in rows] == ["holds", "differs"]


def test_a_run_that_cannot_go_on_has_no_events_and_tells_the_caller(
    tmp_path: Path,
) -> None:
    runs = [{"input": ["user:hi"]}, {"resume": "c"}]
    expected = {
        "trace_has": [{"at": "caller", "resume_error": "*no checkpoint*'c'*"}],
        "events_has": ["END", {"run": 2}],
        "event_count": 2,
    }
    found = tagged(tmp_path, "interrupt_resume", expected, runs=runs)

    assert RowJudge().judge(found) == RowVerdict("R", "holds", "HEAD", ("HEAD",))


def test_a_cancelled_run_ends_with_the_error_that_others_make_of_it(
    tmp_path: Path,
) -> None:
    cancel = {"mode": "immediate", "when": "tool_run"}
    expected = {
        "trace_has": [{"tool_run": "t"}, {"at": "cancel", "contributed": True}],
        "errors": [{"point": "cancel"}],
    }
    found = tagged(
        tmp_path, "cancel", expected, runs=[{"input": ["user:hi"], "cancel": cancel}]
    )

    assert RowJudge().judge(found).status == "holds"


def test_a_covered_row_that_expects_more_is_beyond(tmp_path: Path) -> None:
    found = tagged(tmp_path, "cancel", {"cancel_error": "x"}, runs=[{"input": []}])

    assert RowJudge().judge(found) == RowVerdict("R", "beyond", "cancel, cancel_error")


def test_a_covered_row_whose_scenario_needs_more_is_beyond(tmp_path: Path) -> None:
    cancel = {"mode": "after_tool_calls", "when": "tool_run"}
    runs = [{"input": [], "cancel": cancel}]
    found = tagged(tmp_path, "cancel", {"events": []}, runs=runs)

    assert RowJudge().judge(found) == RowVerdict("R", "beyond", "cancel (mode)")


def test_a_stream_ends_well_or_with_the_error_it_broke_by(tmp_path: Path) -> None:
    script = [{"chunks": ["assistant:a"], "stream_error": "boom"}]
    runs = [{"input": ["user:hi"], "streaming": True}]
    event = {"stream": ["assistant:a"], "stream_end": "error:boom"}
    expected = {"events_has": [event]}
    found = tagged(tmp_path, "retry", expected, runs=runs, model_script=script)

    assert RowJudge().judge(found).status == "holds"


def test_a_build_error_the_row_does_not_expect_differs(tmp_path: Path) -> None:
    scenario = {"agent": {"max_iterations": 0}, "runs": [{"input": ["user:hi"]}]}
    [found] = load_rows(row(tmp_path, scenario=scenario))

    assert RowJudge().judge(found).status == "differs"


def test_a_row_the_harness_fails_at_is_told_and_the_others_go_on(
    tmp_path: Path,
) -> None:
    whole = json.loads(row(tmp_path).read_text(encoding="utf-8"))
    facts = [{"versions": ["HEAD"], "model_calls": [{"in_count": 1}]}]
    broken = {**whole[0], "id": "X", "expected": {"by_version": facts}}
    path = tmp_path / "two.json"
    path.write_text(json.dumps([broken, *whole]), encoding="utf-8")

    done = observe(str(path))

    assert done.returncode == 3
    assert "the harness failed: KeyError: 'call'" in done.stdout
    assert done.stdout.splitlines()[1].startswith("holds")


def test_page_has_the_rows_that_differ_first_and_shows_text_as_text(
    tmp_path: Path,
) -> None:
    kept = {"id": "A", "status": "holds", "detail": "HEAD"}
    other = {"id": "B", "status": "differs", "detail": "<b>got</b>"}
    none = dict.fromkeys(("beyond", "on_purpose", "not_compared"), 0)
    found = {
        "rows": 2,
        "holds": 1,
        "differs": 1,
        **none,
        "compared": {"HEAD": 2},
        "versions_without_profile": [],
        "list": [kept, other],
    }

    page = observed_page(found)

    assert "2 rows, 1 of them differing" in page
    assert page.index("<code>B</code>") < page.index("<code>A</code>")
    assert "&lt;b&gt;got&lt;/b&gt;" in page


def test_command_writes_the_page_beside_its_lines(tmp_path: Path) -> None:
    done = observe(str(row(tmp_path)), "--html", str(tmp_path / "page.html"))

    assert done.returncode == 0
    assert "<code>R</code>" in (tmp_path / "page.html").read_text("utf-8")

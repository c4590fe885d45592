"""Rows about single decisions of ADK: read, judged in each version, and the command."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from compat.dialects.flow.profile import FLOW_PROFILES, FlowProfile, flow_profile
from compat.observe.flow.deciding import (
    DECIDING,
    RowInputError,
    first_flow_difference,
)
from compat.observe.flow.rows import FLOW_PROFILE_OF, SWITCH, FlowRow, profile_of
from compat.observe.judging import RowJudge, purposes, summary
from compat.observe.rows import Unreadable, load_rows
from refengine.postures import choosing, options_of

ROWS = Path(__file__).parent.parent / "compat/observe/rows/adk_cases.json"
GO, HEAD = "adk-go v0.4.0", "adk-go HEAD"
PY_1, PY_2 = "google-adk-1.23.0", "google-adk-2.13.0"


def known() -> list[FlowRow]:
    """Return the golden rows, all of which can be read."""
    rows = load_rows(ROWS)
    assert all(isinstance(each, FlowRow) for each in rows)
    return [each for each in rows if isinstance(each, FlowRow)]


def row(**changes):
    """Return a row that holds under every profile, with changes, as JSON."""
    return {
        "id": "R",
        "side": "both",
        "version": "v0.4.0",
        "kind": "is_final",
        "input": {"parts": [{"text": "x"}]},
        "expect": True,
        **changes,
    }


def read(tmp_path, *rows):
    """Return what a file of these rows is read as."""
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return load_rows(path)


def judged(tmp_path, **changes):
    [found] = read(tmp_path, row(**changes))
    return RowJudge().judge(found)


def test_golden_rows_hold_in_every_version_that_they_are_about() -> None:
    rows = known()
    verdicts = [RowJudge(purposes=purposes()).judge(each) for each in rows]
    counts = summary(verdicts, rows)

    assert [each for each in verdicts if each.status != "holds"] == []
    assert {each.kind for each in rows} == DECIDING.keys()
    assert counts["compared"] == {
        GO: 39,
        HEAD: 39,
        PY_1: 42,
        PY_2: 42,
        f"{PY_1}{SWITCH}": 3,
        f"{PY_2}{SWITCH}": 3,
    }
    assert counts["versions_without_profile"] == []


PAGE = Path(__file__).parent.parent / "docs/observing-adk.md"


def test_the_row_of_the_page_holds_in_every_version_that_it_names(tmp_path) -> None:
    found = re.search(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    [shown] = read(tmp_path, *json.loads(found[1]))

    assert RowJudge().judge(shown).detail == f"{GO}, {HEAD}, {PY_2}"


def test_the_page_names_every_kind() -> None:
    text = PAGE.read_text("utf-8")

    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(DECIDING)


def differs(version: str, profile: FlowProfile) -> bool:
    """Tell whether a golden row of that version differs under a profile."""
    return any(
        first_flow_difference(each, version, profile) is not None
        for each in known()
        if version in each.versions
    )


NOTICED = {
    "aggregation",
    "artifacts_merge",
    "foreign_wording",
    "orphan_response",
    "superseded_text",
    "tool_failures",
    "unanswered_call",
}
"""The postures that the golden rows protect, in each version."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("version", [GO, HEAD, PY_1, PY_2])
def test_another_choice_in_a_posture_makes_a_golden_row_differ(version) -> None:
    base = profile_of(version)
    noticed = {
        posture
        for posture, allowed in options_of(FlowProfile).items()
        for other in allowed
        if other != getattr(base, posture)
        and differs(version, choosing(base, posture, other))
    }

    assert noticed == NOTICED


def test_every_version_has_a_profile_and_the_safe_one_stands_for_none() -> None:
    assert {each.name for each in FLOW_PROFILES} - set(FLOW_PROFILE_OF.values()) == {
        "flow-safe"
    }
    assert profile_of(f"{PY_2}{SWITCH}").aggregation == "first_part"
    assert profile_of(PY_2) == flow_profile("adk-py-2")


def test_a_version_did_the_same_or_what_was_seen_instead(tmp_path) -> None:
    [found] = read(
        tmp_path,
        row(
            observed={
                "reference": {"same": False, "got": 0},
                "adk-go v0.4.0 (executed)": {"same": True},
                "adk-go HEAD 0a51e153 (executed)": {"same": False, "got": False},
                PY_1: {"same": False, "both_fail": True},
            }
        ),
    )

    assert isinstance(found, FlowRow)
    assert found.versions == (GO, HEAD)
    assert found.for_version(HEAD).value is False
    assert RowJudge().judge(found).detail == f"{HEAD} true, not false"


@pytest.mark.parametrize(
    ("side", "version", "versions"),
    [
        ("go", "v0.4.0", (GO,)),
        ("both", "HEAD", (HEAD,)),
        ("py", "1.23/2.13", (PY_1, PY_2)),
        ("py", "2.14.1", ("google-adk-2.14.1",)),
    ],
)
def test_expect_is_about_the_rows_own_side_and_version(
    tmp_path, side, version, versions
) -> None:
    [found] = read(tmp_path, row(side=side, version=version))

    assert isinstance(found, FlowRow)
    assert found.versions == versions


def test_a_version_without_a_profile_is_not_compared(tmp_path) -> None:
    verdict = judged(tmp_path, side="py", version="3.0")

    assert verdict.status == "not_compared"
    assert verdict.detail == "it is about google-adk-3.0 only"


DIFFERING = {
    "is_final": ({"parts": []}, False),
    "merge_actions": ({"actions": [{"escalate": True}]}, {}),
    "contents": ({"events": []}, [{"role": "user", "parts": [{"text": "x"}]}]),
    "template": ({"template": "{n}", "state": {"n": 1}}, "2"),
    "transfer": ({"tree": {"name": "A"}, "current": "A"}, ["B"]),
    "aggregate": ({"chunks": []}, [{"parts": []}]),
    "call_tool": ({"tool": {"ret": {}}}, {"response": {}, "trace": []}),
    "call_model": ({"model": {"ret": "m"}}, {"result": {"text": "n"}, "trace": []}),
    "py_chain": ({"hook": "before_model", "rets": []}, {"texts": [], "calls": []}),
}


@pytest.mark.parametrize("kind", DECIDING)
def test_every_kind_can_differ(tmp_path, kind) -> None:
    given, expected = DIFFERING[kind]

    verdict = judged(tmp_path, kind=kind, input=given, expect=expected)

    assert (verdict.status, verdict.fault) == ("differs", False)


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("merge_actions", {"actions": [None, None]}, None),
        ("merge_actions", {"actions": [None, {"state_delta": {"a": 1}}]},
         {"state_delta": {"a": 1}, "escalate": False}),
        ("contents", {"events": [{"author": "cur", "parts": [{"text": "x"}, {}]}]},
         [{"role": "model", "parts": [{"text": "x", "thought": False}]}]),
        ("contents", {"events": [{"author": "user", "parts": None}]}, []),
        ("template", {"template": "{n}", "state": {"n": 1000000}}, "1e+06"),
        ("template", {"template": "{n}", "state": {}},
         {"error_contains": "state key does not exist"}),
        ("template", {"template": "{n}"}, {"error": "KeyError: gone"}),
        ("template", {"template": "{artifact.f}"},
         {"error_contains": "artifact service is not initialized"}),
        ("aggregate", {"chunks": [None]}, {"error_contains": "empty response"}),
        ("transfer", {"tree": {"name": "A", "no_parent": True, "no_peers": True},
                      "current": "A"}, []),
        ("call_tool", {"tool": None},
         {"response": {"error": "tool 't' not found."}, "trace": []}),
        ("call_tool", {"tool": {"ret": None}}, {"response": None, "trace": ["tool"]}),
        ("call_model", {"model": {"err": "boom"}},
         {"result": {"error": "boom"}, "trace": ["model"]}),
        ("py_chain", {"hook": "on_model_error", "rets": [None, "async:c", "d"]},
         {"texts": ["c"], "calls": [1, 1, 0]}),
    ],
)  # fmt: skip
def test_what_is_left_out_or_empty_is_the_same(tmp_path, kind, given, expected) -> None:
    verdict = judged(tmp_path, kind=kind, input=given, expect=expected)

    assert verdict.status == "holds", verdict.detail


def test_a_tools_own_error_is_compared_by_its_text(tmp_path) -> None:
    given = {"tool": {"err": "boom"}}
    other = {"response": {"error": "other"}, "trace": ["tool"]}

    assert judged(tmp_path, kind="call_tool", input=given, expect=other).status == (
        "differs"
    )


def test_a_failure_that_was_not_expected_differs_and_the_other_way_round(
    tmp_path,
) -> None:
    fails = judged(tmp_path, kind="template", input={"template": "{n}"}, expect="n")
    gives = judged(
        tmp_path, kind="template", input={"template": "n"}, expect={"error": "x"}
    )

    assert fails.detail.startswith(f"{GO} NoVariableError: {{n}}: state key")
    assert gives.detail == f'{GO} "n", not {{"error": "x"}}'


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"kind": "is_over"}, "kind = 'is_over': Input should be 'call_tool'"),
        ({"side": "js"}, "side = 'js': Input should be 'go', 'py' or 'both'"),
        ({"version": "soon"}, "version = 'soon': .*write vX.Y.Z, HEAD, or X.Y"),
        ({"more": 1}, "more = 1: Extra inputs are not permitted"),
        ({"observed": {GO: {"sme": True}}}, "sme = True: Extra inputs"),
        (
            {"input": {"parts": [{"txt": "x"}]}},
            "input.parts.0.txt = 'x': Extra inputs are not permitted",
        ),
        (
            {"input": {"partial": 1}},
            "input.partial = 1: Input should be a valid boolean",
        ),
        ({"expect": "yes"}, "what is expected = 'yes': Input should be a valid bool"),
        (
            {"kind": "transfer", "input": {"tree": {"name": "A"}, "current": "B"}},
            "input = .*no agent 'B' in the tree",
        ),
    ],
)
def test_a_row_that_cannot_be_read_is_told_with_its_place(
    tmp_path, changes, problem
) -> None:
    verdict = judged(tmp_path, **changes)

    assert (verdict.status, verdict.unknown) == ("beyond", True)
    assert re.search(problem, verdict.detail), verdict.detail


def test_a_row_that_cannot_be_read_names_itself(tmp_path) -> None:
    [found] = read(tmp_path, row(kind="is_over"))

    assert isinstance(found, Unreadable)
    assert found.id == "R"


def test_an_input_that_cannot_be_read_raises_where_it_is_compared(tmp_path) -> None:
    [found] = read(tmp_path, row(input={"txt": 1}))

    assert isinstance(found, FlowRow)
    with pytest.raises(RowInputError, match=r"^input\.txt = 1"):
        first_flow_difference(found, GO, profile_of(GO))


def observe(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "refengine", "observe", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_command_compares_one_profiles_versions_only() -> None:
    done = observe(str(ROWS), "--engine-profile", "adk-py-2")

    assert done.returncode == 0, done.stdout
    assert "rows compared by version: google-adk-2.13.0 42," in done.stdout


def test_command_exits_2_for_a_bad_row_and_judges_the_others(tmp_path) -> None:
    path = tmp_path / "rows.json"
    rows = [row(id="X", input={"txt": 1}), row()]
    path.write_text(json.dumps(rows), encoding="utf-8")

    done = observe(str(path))

    assert done.returncode == 2
    assert done.stdout.splitlines()[1].startswith("holds        R")

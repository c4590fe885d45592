"""Observers judged by their spans: what spans say, what is known, and the command."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from compat.engines.observers.collecting import SpanCollector
from compat.engines.observers.known import happened, known_rows
from compat.engines.observers.spans import SeenSpan, is_secret, leaves, rows_of
from refengine.testing.trace import Observation, Trace
from tests.commands import refengine
from tools.pages.observers import ObserverFacts, told_in_cell

LINE = ("conform", "reference", "--examples", "0", "--jobs", "1", "--observer")

OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.input_messages.0.message.content": "Where is it?",
    "llm.output_messages.0.message.content": "Over there.",
    "metadata": '{"said": "Over there."}',
}
GENAI = {
    "gen_ai.operation.name": "chat",
    "gen_ai.input.messages": '[{"parts": [{"content": "Where is it?"}]}]',
    "gen_ai.output.messages": '[{"parts": [{"content": "Over there."}]}]',
}
LANGFUSE = {
    "langfuse.observation.type": "generation",
    "langfuse.observation.input": '[{"role": "user", "content": "Where is it?"}]',
    "langfuse.observation.output": '{"content": "Over there."}',
}
TOOL = {
    "openinference.span.kind": "TOOL",
    "tool.name": "look",
    "input.value": "{'at': 'the corner'}",
}
LATE = SimpleNamespace(
    context=SimpleNamespace(span_id=1, trace_id=1),
    parent=None,
    attributes={},
    status=SimpleNamespace(status_code=SimpleNamespace(name="OK")),
    start_time=1,
    end_time=2,
    name="late",
)
WORDS = ("Where is it?", "Over there.", "the corner")


def trace_of(*entries, status="completed") -> Trace:
    """Return a trace of one run, each entry its kind, its call and its data."""
    seen = [*entries, ("run_end", None, {"status": status})]
    return Trace(
        Observation(kind, 1, at, data, call)
        for at, (kind, call, data) in enumerate(seen)
    )


def asked(text):
    return "model_request", None, {"messages": [{"role": "user", "content": text}]}


@pytest.mark.parametrize("attributes", [OPENINFERENCE, GENAI, LANGFUSE])
def test_conventions_that_differ_in_names_tell_the_same(attributes) -> None:
    [row] = rows_of([SeenSpan(1, None, attributes)], WORDS)

    assert row["of"] == "model"
    assert (row["asked"], row["answered"]) == (["Where is it?"], ["Over there."])


def test_a_tool_that_no_attribute_names_is_called_as_its_span() -> None:
    """And the id of its call is a text, or JSON of one."""
    told = {
        "langfuse.observation.type": "tool",
        "langfuse.observation.metadata.tool_call_id": '"c1"',
    }

    [row] = rows_of([SeenSpan(1, None, told, name="look")], WORDS)

    assert (row["of"], row["name"], row["call"]) == ("tool", "look", "c1")


def test_a_span_is_within_the_nearest_call_above_it() -> None:
    spans = [
        SeenSpan(1, None, {}),
        SeenSpan(2, 1, GENAI),
        SeenSpan(3, 2, {}),
        SeenSpan(4, 3, TOOL),
    ]

    rows = [*rows_of(spans, WORDS)]

    assert [each.get("inside") for each in rows] == [None, "", None, "model"]
    assert rows[3]["asked"] == ["the corner"]


def test_a_trace_of_one_span_that_is_of_no_call_is_no_run() -> None:
    """One that tells of an agent's build stands beside the run, and is no other one."""
    spans = [SeenSpan(1, None, {}), SeenSpan(2, None, {}), SeenSpan(3, 2, GENAI)]

    rows = [*rows_of(spans, WORDS)]

    assert rows[2]["tree"] == 1


def test_a_trace_that_goes_on_is_one_whatever_stood_above_is_seen_of_it() -> None:
    """A parent of a run before is no span of this world, but its trace is known."""
    calls = [SeenSpan(at, 7, GENAI, trace=1) for at in (1, 2)]

    assert [each["tree"] for each in rows_of(calls, WORDS)] == [1, 1]
    assert [each["tree"] for each in rows_of([SeenSpan(1, 7, GENAI)], WORDS)] == [1]


def test_the_first_span_of_a_trace_is_of_the_run_and_tells_whether_that_failed() -> (
    None
):
    spans = [
        SeenSpan(1, None, {}, failed=True),
        SeenSpan(2, 1, {}),
        SeenSpan(3, 2, TOOL),
    ]

    run, other, tool = rows_of(spans, WORDS)

    assert (run["of"], run["fails"]) == ("run", True)
    assert (other["of"], tool["of"]) == ("other", "tool")


def test_how_a_run_ended_is_known_but_of_one_that_was_left() -> None:
    entry = asked("Where is it?")

    found = [
        [*known_rows(trace_of(entry, status=x))][1] for x in ("error", "cancelled")
    ]

    assert [(x["of"], x["over"], x["fails"]) for x in found] == [
        ("run", 1, True),
        ("run", "cut", False),
    ]


def test_texts_are_read_from_json_in_json() -> None:
    inner = json.dumps({"at": "the corner", "often": 2})

    assert [*leaves(json.dumps([{"input": inner}, None]))] == ["the corner", "2"]
    assert [*leaves("{'at': 1}")] == ["{'at': 1}"]


def test_a_streamed_answer_that_broke_off_is_not_over() -> None:
    chunk = "model_chunk", None, {"chunk": {"content": "Over "}}
    close = "stream_close", None, {"of": "model"}
    whole = "model_response", None, {"message": {"content": "Over there."}}

    [cut] = happened(trace_of(asked("Where is it?"), chunk, close))
    [call] = happened(trace_of(asked("Where is it?"), chunk, whole, close))

    assert not cut.over
    assert (call.answered, call.over) == (["Over there."], True)


def test_how_the_last_calls_of_a_cancelled_run_ended_is_left_open() -> None:
    trace = trace_of(
        asked("Where is it?"),
        ("model_response", None, {"message": {"content": "Well."}}),
        asked("And now?"),
        ("tool_start", "c1", {"name": "look", "arguments": "{}"}),
        ("tool_end", "c1", {"result": "A red house."}),
        status="cancelled",
    )

    rows = [each for each in known_rows(trace) if each["of"] != "other"]

    assert [each["over"] for each in rows] == ["cut", 1, "cut", "cut"]


def test_a_call_that_failed_is_over() -> None:
    trace = trace_of(asked("Where is it?"), ("model_error", None, {"error": "no"}))

    [call] = happened(trace)

    assert (call.fails, call.over) == (True, True)


def test_a_secret_is_no_word_by_which_a_call_is_known() -> None:
    secret = f"sk-{'a1b2c3d4' * 3}"
    trace = trace_of(asked(secret))

    *_, row = known_rows(trace)

    assert is_secret(secret)
    assert row["asked"] == []


def test_a_setup_that_sees_nothing_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "off.py").write_text("import json\n", "utf-8")

    done = refengine(*LINE, "off.py", at=tmp_path)

    assert done.returncode == 4
    assert "off.py: no span, no patch: is it on?" in done.stdout
    assert "13 not applicable" in done.stdout


@pytest.mark.parametrize(
    ("setup", "told"),
    [
        ("1 / 0", "its setup bad.py fails: ZeroDivisionError"),
        ("import os\nos._exit(3)", "its setup bad.py ends the process (status 3)"),
        (
            "import threading, os\nthreading.Timer(0.2, os._exit, (9,)).start()",
            "cannot be loaded behind bad.py: the process ended with exit status 9",
        ),
        ("import time\ntime.sleep = print", "its setup bad.py replaces time.sleep"),
        (
            "import socket\nsocket.create_connection(('127.0.0.1', 4318))",
            "an observer that is judged reaches no network (bad.py, line 2)",
        ),
    ],
)
def test_a_setup_that_cannot_be_used_is_named(
    setup: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "bad.py").write_text(f"{setup}\n", "utf-8")

    done = refengine(*LINE, "bad.py", at=tmp_path)

    assert done.returncode == 2
    assert told in done.stderr


def test_what_failed_once_and_not_again_is_not_told_as_a_no() -> None:
    facts = ObserverFacts(
        title="x",
        engine="y",
        packages=(),
        verdicts={"OBS-003": "error", "OBS-006": "fail", "OBS-009": "kept"},
    )

    assert told_in_cell(facts, ("OBS-003",)) == "not the same each time: OBS-003"
    assert told_in_cell(facts, ("OBS-003", "OBS-006")) == "**no**: OBS-006"
    assert told_in_cell(facts, ("OBS-009",)) == "yes"


def test_a_setup_for_node_is_refused_with_what_there_is_for_it(tmp_path: Path) -> None:
    (tmp_path / "tracing.mjs").write_text("", "utf-8")

    done = refengine(*LINE, "tracing.mjs", at=tmp_path)

    assert done.returncode == 2
    assert "a module of Node's, and the engines that are observed run" in done.stderr
    assert "migrate check agent.ts --new-setup" in done.stderr


def test_spans_that_a_client_makes_of_its_queue_are_made_before_they_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As LangSmith's client, whose thread makes them some tenths of a second later."""
    collector = SpanCollector()

    class Client:
        def flush(self, timeout: float) -> None:
            assert timeout > 0
            collector.on_start(LATE)

    module = ModuleType("langsmith.client")
    vars(module)["Client"] = Client
    monkeypatch.setitem(sys.modules, "langsmith.client", module)
    client = Client()

    assert [each.name for each in collector.taken()] == ["late"]
    del client


@pytest.mark.parametrize(
    ("engine", "more", "told"),
    [
        ("flow", (), "--observer with flow, of dialect flow"),
        ("cmd:theirs", (), "cmd:theirs, which is behind a driver"),
        ("reference", ("--failures", "there"), "--failures with --observer"),
    ],
)
def test_what_means_nothing_for_an_observer_is_refused(
    engine: str, more: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    (tmp_path / "on.py").write_text("", "utf-8")

    done = refengine("conform", engine, "--observer", "on.py", *more, at=tmp_path)

    assert done.returncode == 2
    assert told in done.stderr


SPANS = """\
import refengine.testing.scripted as scripted
from opentelemetry.sdk.trace import TracerProvider

tracer = TracerProvider().get_tracer("mine")
plain = scripted.ScriptedModel.invoke

async def invoke(self, *given):
    named = {"gen_ai.operation.name": "chat"}
    with tracer.start_as_current_span("chat", attributes=named):
        return await plain(self, *given)

scripted.ScriptedModel.invoke = invoke
"""


def test_spans_of_a_setup_are_held_against_the_calls(tmp_path: Path) -> None:
    """One that sees plain calls of models, records nothing, and has no run."""
    pytest.importorskip("opentelemetry.sdk")
    (tmp_path / "on.py").write_text(SPANS, "utf-8")

    done = refengine(*LINE, "on.py", "--json", "report.json", at=tmp_path)

    assert done.returncode == 1
    [found] = json.loads((tmp_path / "report.json").read_text("utf-8"))["engines"]
    verdicts = {each["clause"]: each["verdict"] for each in found["results"]}
    assert verdicts["OBS-001"] == verdicts["OBS-002"] == "fail"
    assert verdicts["OBS-004"] == "fail"
    assert verdicts["OBS-007"] == verdicts["OBS-008"] == "not-applicable"
    assert verdicts["OBS-009"] == verdicts["OBS-010"] == "pass"


TWICE_AT_TIMES = """\
asked = [0]

async def seen(self, *given):
    asked[0] += 1
    if asked[0] % 40 == 0:
        named = {"gen_ai.operation.name": "chat"}
        tracer.start_span("chat", attributes=named).end()
    return await invoke(self, *given)

scripted.ScriptedModel.invoke = seen
"""


def test_what_an_observer_does_behind_other_worlds_alone_is_its_fault(
    tmp_path: Path,
) -> None:
    """It is wrong each fortieth time, so not when its world is played again."""
    pytest.importorskip("opentelemetry.sdk")
    (tmp_path / "on.py").write_text(f"{SPANS}{TWICE_AT_TIMES}", "utf-8")
    line = (*LINE, "on.py", "--clause", "OBS-001", "--json", "report.json")

    done = refengine(*line, at=tmp_path)

    assert done.returncode == 1
    [found] = json.loads((tmp_path / "report.json").read_text("utf-8"))["engines"]
    assert [each["verdict"] for each in found["results"]] == ["fail"]


RUNS = """\
import refengine.model

plain = refengine.model.invoker
refengine.model.invoker = lambda model: plain(model)
"""


def test_a_runner_without_spans_is_asked_whether_the_agent_is_the_same(
    tmp_path: Path,
) -> None:
    (tmp_path / "on.py").write_text(RUNS, "utf-8")

    done = refengine(*LINE, "on.py", "--json", "report.json", at=tmp_path)

    assert done.returncode == 0
    [found] = json.loads((tmp_path / "report.json").read_text("utf-8"))["engines"]
    judged = [each for each in found["results"] if each["verdict"] != "not-applicable"]
    assert [(each["clause"], each["verdict"]) for each in judged] == [
        ("OBS-009", "pass"),
        ("OBS-010", "pass"),
    ]


IN_TURN = """\
import asyncio
import refengine.tool_onion as onion

plain, one = onion.invoke_tool, {}

async def invoke_tool(ctx, value):
    async with one.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        return await plain(ctx, value)

onion.invoke_tool = invoke_tool
"""


def test_a_setup_that_has_tools_wait_for_each_other_changes_the_agent(
    tmp_path: Path,
) -> None:
    """A run that ends with the first tool's call has begun the second."""
    (tmp_path / "on.py").write_text(IN_TURN, "utf-8")

    done = refengine(*LINE, "on.py", "--clause", "OBS-009", at=tmp_path)

    assert done.returncode == 1
    assert "cancelled at tool_end" in done.stdout

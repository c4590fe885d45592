"""What stands around a model of the Flow dialect: converters, streams, spans."""

import asyncio
from dataclasses import dataclass, field

import pytest

from compat.dialects.flow import (
    AggregatedModel,
    Blob,
    CodeResult,
    Content,
    FileData,
    FunctionCall,
    LlmAgent,
    LlmResponse,
    Part,
    Plugin,
    SequentialAgent,
    Usage,
    flow_profile,
    response_of,
    text_content,
)
from tests.flow_support import ScriptedModel, calls, run, runner_of, short, stored, tool


def test_an_answer_of_the_api_becomes_a_response():
    parts = [
        {"text": "hm", "thought": True},
        {"functionCall": {"name": "f", "args": {"a": 1}, "id": "c1"}},
        {"inlineData": {"data": "eHg=", "mimeType": "image/png"}},
        {"fileData": {"fileUri": "gs://x", "displayName": "x"}},
        {"executableCode": {"code": "1 + 1", "language": "PYTHON"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no"}},
        {"videoMetadata": {"fps": 2}},
    ]
    candidate = {
        "content": {"role": "model", "parts": parts},
        "finishReason": "STOP",
        "groundingMetadata": {"sources": 1},
    }
    usage = {"promptTokenCount": 3, "totalTokenCount": 5}

    response = response_of({"candidates": [candidate], "usageMetadata": usage})

    assert response == LlmResponse(
        content=Content(
            "model",
            (
                Part(text="hm", thought=True),
                Part(call=FunctionCall("f", {"a": 1}, "c1")),
                Part(blob=Blob(b"xx", "image/png")),
                Part(file=FileData("gs://x", display_name="x")),
                Part(code="1 + 1"),
                Part(code_result=CodeResult("no", "failed")),
                Part(metadata={"videoMetadata": {"fps": 2}}),
            ),
        ),
        finish_reason="STOP",
        grounding={"sources": 1},
        usage=Usage(prompt=3, total=5),
    )


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"candidates": [{"finishReason": "SAFETY"}]}, "SAFETY"),
        ({"promptFeedback": {"blockReason": "OTHER"}}, "OTHER"),
        ({}, "UNKNOWN_ERROR"),
    ],
)
def test_an_answer_without_parts_becomes_an_error_code(answer, code):
    assert response_of(answer).error_code == code


@pytest.mark.parametrize(
    ("profile", "events"),
    [
        ("adk-go-0.4", ["x: a", "x: b", "x: ab"]),
        ("adk-go-2", ["x: a", "x: b", "x: ab"]),
    ],
)
def test_a_model_of_raw_chunks_is_aggregated_where_it_streams(profile, events):
    async def source(_, stream):
        assert stream
        for text in ("a", "b"):
            yield LlmResponse(content=text_content("model", text))

    model = AggregatedModel("m", source, flow_profile(profile))
    runner = runner_of(LlmAgent(name="x", model=model), profile=profile)

    told = asyncio.run(run(runner, stream=True))

    assert [short(each) for each in told] == events
    assert [short(x) for x in asyncio.run(stored(runner)).events[1:]] == ["x: ab"]


@dataclass
class Recorded:
    """A tracer that keeps its spans: name, attributes, parent, error, and the end."""

    spans: list = field(default_factory=list)

    def start(self, name, attributes, parent):
        made = Span(name, attributes, parent)
        self.spans.append(made)
        return made


@dataclass
class Span:
    """One span of the tracer above."""

    name: str
    attributes: dict
    parent: object
    error: Exception | None = None
    ended: bool = False

    def record_exception(self, error):
        self.error = error

    def end(self):
        self.ended = True


def test_agents_model_calls_and_tool_calls_have_spans_under_each_other():
    model = ScriptedModel(calls("f"), TimeoutError())
    agent = LlmAgent(name="a", model=model, tools=[tool("f")])
    root = SequentialAgent(name="seq", sub_agents=[agent])
    tracer = Recorded()

    with pytest.raises(TimeoutError):
        asyncio.run(run(runner_of(root, tracer=tracer)))

    outer, inner, *rest = tracer.spans
    assert [(x.name, x.attributes["agent"]) for x in (outer, inner)] == [
        ("invoke_agent", "seq"),
        ("invoke_agent", "a"),
    ]
    assert [x.name for x in rest] == ["call_llm", "execute_tool", "call_llm"]
    assert rest[1].attributes["tool"] == "f"
    assert inner.parent is outer
    assert all(each.parent is inner for each in rest)
    assert all(each.ended for each in tracer.spans)
    assert [x.error is None for x in rest] == [True, True, False]


def test_every_plugin_is_closed_and_the_first_error_comes_out():
    log = []

    def fail():
        raise OSError("busy")

    plugins = [
        Plugin(name="p", close=fail),
        Plugin(name="q", close=lambda: log.append(1)),
    ]
    runner = runner_of(LlmAgent(name="x"), *plugins)

    with pytest.raises(OSError, match="busy"):
        asyncio.run(runner.close())

    assert log == [1]

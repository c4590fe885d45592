"""The importer of a user's sessions: what it reads, and what it says of the rest."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from compat.models.chat_logs import read_tools
from compat.models.errors import GivenFileError
from compat.models.importing import ImportedFile, import_file, import_lines

HERE = Path(__file__).parent
CASSETTE = HERE.parent / "cassettes" / "two_turns.yaml"

USER = {"role": "user", "content": "Where is A-77?"}
DONE = {"role": "assistant", "content": "On its way."}
CALL = {"id": "c1", "type": "function"}
CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{**CALL, "function": {"name": "find", "arguments": '{"id": 7}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "at sea"}
CHAT = [USER, CALLING, RESULT, DONE, {"role": "user", "content": "Thanks"}]

BLOCKS = [
    USER,
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": ""},
            {"type": "tool_use", "id": "c1", "name": "find", "input": {"id": 7}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "at sea"}],
    },
    DONE,
    {"role": "user", "content": [{"type": "text", "text": "Thanks"}]},
]
LANGCHAIN = [
    {"type": "human", "data": {"content": "Where is A-77?"}},
    {
        "type": "ai",
        "data": {
            "content": "",
            "tool_calls": [{"id": "c1", "name": "find", "args": {"id": 7}}],
        },
    },
    {"type": "tool", "data": {"content": "at sea", "tool_call_id": "c1"}},
    {"type": "ai", "data": {"content": "On its way."}},
    {"type": "human", "data": {"content": "Thanks"}},
]
SCENARIO = {"agent": {}, "model_script": ["assistant:a"], "runs": [{"input": []}]}
AS_SCENARIO = {
    "agent": {
        "tools": [
            {
                "name": "find",
                "result": "(not recorded)",
                "by_call": {"c1": ["at sea"]},
            }
        ]
    },
    "model_script": ['assistant:[c1:find({"id": 7})]', "assistant:On its way."],
    "runs": [
        {"input": ["user:Where is A-77?"]},
        {"input": ["user:Thanks"], "continues": True},
    ],
}


def imported(folder: Path, *lines: object, name: str = "mine.jsonl") -> ImportedFile:
    path = folder / name
    texts = [each if isinstance(each, str) else json.dumps(each) for each in lines]
    path.write_text("\n".join(texts), "utf-8")
    return import_file(path)


def scenarios(file: ImportedFile) -> list[dict[str, Any]]:
    return [
        each.scenario.model_dump(mode="json", exclude_defaults=True)
        for each in file.worlds
    ]


def refused(folder: Path, *lines: object, name: str = "mine.jsonl") -> str:
    with pytest.raises(GivenFileError) as caught:
        imported(folder, *lines, name=name)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize("chat", [CHAT, BLOCKS, LANGCHAIN])
@pytest.mark.parametrize("shape", ["messages", "list", "lines", "document"])
def test_a_chat_is_the_same_session_in_every_shape(
    tmp_path: Path, chat: list[object], shape: str
) -> None:
    lines: Sequence[object] = {
        "messages": [{"messages": chat}],
        "list": [chat],
        "lines": chat,
        "document": [json.dumps({"messages": chat}, indent=2)],
    }[shape]

    found = imported(tmp_path, *lines)

    assert scenarios(found) == [AS_SCENARIO]
    assert found.name == "mine.jsonl"


def test_an_instruction_is_the_agents(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Be kind."}
    beside = imported(tmp_path, {"system": "Be kind.", "messages": [USER, DONE]})
    first = imported(tmp_path, {"messages": [system, USER, DONE]})

    assert scenarios(beside) == scenarios(first)
    assert first.worlds[0].scenario.all_agents[0].instruction == "Be kind."


def test_one_message_a_line_makes_a_chat_up_to_the_next_instruction(
    tmp_path: Path,
) -> None:
    system = {"role": "system", "content": "Be kind."}
    found = imported(tmp_path, system, USER, DONE, system, USER, DONE, "", USER)

    assert [each.where for each in found.worlds] == ["line 1", "line 4", "line 8"]


def test_a_scenario_stands_for_itself(tmp_path: Path) -> None:
    one = imported(tmp_path, json.dumps(SCENARIO, indent=1), name="one.json")
    many = imported(tmp_path, {"worlds": [{"scenario": SCENARIO}, SCENARIO]})

    assert len(one.worlds) == 1
    assert [each.where for each in many.worlds] == ["item 1", "item 2"]


def test_a_tool_that_was_offered_is_there(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "pay", "parameters": {}}}]
    found = imported(tmp_path, {"messages": [USER, DONE], "tools": tools})

    assert [t.name for t in found.worlds[0].scenario.all_agents[0].tools] == ["pay"]


def test_a_cassette_is_its_conversations() -> None:
    found = import_file(CASSETTE)

    assert [each.kind for each in found.worlds] == ["cassette"]
    assert found.worlds[0].where.startswith("exchange 1")


def anthropic(answer: object, *, streamed: bool = False) -> str:
    """Return a cassette of one exchange with Anthropic's Messages."""
    body = {"model": "m", "system": "Be kind.", "messages": [USER], "stream": streamed}
    said = answer if isinstance(answer, str) else json.dumps(answer)
    exchange = {
        "request": {
            "method": "POST",
            "uri": "https://api.anthropic.com/v1/messages",
            "headers": {},
            "body": json.dumps(body),
        },
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {},
            "body": {"string": said},
        },
    }
    return json.dumps({"version": 1, "interactions": [exchange]})


USE = {"type": "tool_use", "id": "t1", "name": "find", "input": {"id": 7}}
SAID = {"content": [{"type": "text", "text": "Let me look."}, USE]}
EVENTS = [
    {"type": "message_start", "message": {}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Let me look."},
    },
    {"type": "content_block_start", "index": 1, "content_block": USE},
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"id": 7}'},
    },
    {"type": "message_stop"},
]


def test_anthropics_messages_are_read_whole_and_streamed(tmp_path: Path) -> None:
    stream = "".join(
        f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in EVENTS
    )
    whole = imported(tmp_path, anthropic(SAID), name="a.json").worlds[0].scenario
    pieces = imported(tmp_path, anthropic(stream, streamed=True), name="b.json")

    assert whole.all_agents[0].instruction == "Be kind."
    assert whole.model_script[0] == 'assistant:Let me look.[t1:find({"id": 7})]'
    assert pieces.worlds[0].scenario.runs[0].streaming
    assert "find" in str(pieces.worlds[0].scenario.model_script[0])


ORPHAN = {"role": "tool", "tool_call_id": "c9", "content": "x"}


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("",), "mine.jsonl:\n  the file is empty; write a scenario"),
        (("id,text", "1,hi"), "line 1: is not JSON; write a scenario"),
        (("[]",), "it holds no session; write a scenario"),
        (({"messages": [USER, DONE]}, "{no}"), "line 2: is not JSON (Expecting"),
        (('{"messages": [',), "line 1: is not JSON"),
        (("{", '"a" 1}'), "line 2: is not JSON: Expecting ':'"),
        ((SCENARIO, {"text": "hi"}), "line 2: has 'text'; write a scenario"),
        ((SCENARIO, "7"), "line 2: is 7; write a scenario"),
        (({"messages": 3},), "its messages are 3, which is no list; write a scenario"),
        (({**SCENARIO, "rums": 1}, SCENARIO), "line 1: is not a scenario: rums = 1"),
        (({**SCENARIO, "runs": []},), "runs are missing"),
        (({"messages": [USER, ORPHAN]},), "messages[1] is a result of call 'c9'"),
        (
            ({"messages": [USER, CALLING, USER]},),
            "messages[2] comes before the result of call 'c1'",
        ),
        (
            ({"messages": [USER, DONE, DONE]},),
            "messages[2] is an answer that nobody asked for",
        ),
        (({"messages": [DONE]},), "messages hold nothing that a user said"),
        (({"messages": [{"role": "bot", "content": "x"}]},), "is 'bot', none of"),
        (({"messages": ["hi"]},), "messages[0] is not an object with 'role'"),
        (({"messages": [{"role": "user", "content": 7}]},), "messages[0].content is"),
        ((USER, ORPHAN), "the chat that begins at line 1: messages[1] is a result"),
        (({"messages": [USER], "tools": [{}]},), "tools[0].name is None, no name"),
    ],
)
def test_a_bad_line_is_named_with_what_would_be_right(
    tmp_path: Path, lines: tuple[object, ...], told: str
) -> None:
    assert told in refused(tmp_path, *lines)


def test_every_bad_line_is_named_up_to_five(tmp_path: Path) -> None:
    told = refused(tmp_path, SCENARIO, *["7"] * 7)

    assert "line 2: " in told
    assert told.endswith("and 2 more")


def test_a_cassette_of_another_api_is_refused_by_its_name(tmp_path: Path) -> None:
    text = anthropic(SAID).replace("/v1/messages", "/api/chat")

    told = refused(tmp_path, text, name="a.json")

    assert "its exchanges are of Ollama (1)" in told


SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}}


@pytest.mark.parametrize(
    "declared",
    [
        [{"type": "function", "function": {"name": "pay", "parameters": SCHEMA}}],
        [{"type": "function", "name": "pay", "parameters": SCHEMA}],
        [{"name": "pay", "input_schema": SCHEMA}, {"type": "web_search_20250305"}],
        {"tools": [{"name": "pay", "inputSchema": SCHEMA}]},
        {"result": {"tools": [{"name": "pay", "inputSchema": SCHEMA}]}},
        {"name": "pay", "parameters": SCHEMA},
    ],
)
def test_tools_are_the_same_however_they_are_declared(
    tmp_path: Path, declared: object
) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(declared), "utf-8")

    (tool,) = read_tools(path)

    assert (tool.name, tool.parameters) == ("pay", SCHEMA)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "line 1: is not JSON"),
        ("[]", "tools hold none"),
        ("7", "tools is not a list"),
        ('[{"name": "a"}, {"name": "a"}]', "tools hold 'a' twice"),
        ('[{"name": "a", "parameters": 1}]', "(a).parameters is not a JSON schema"),
        ('[{"name": "a", "parameters": {"type": "array"}}]', "is 'array'"),
        ('[{"name": "a", "parameters": {"properties": [1]}}]', "properties is no"),
    ],
)
def test_a_file_without_tools_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "tools.json"
    path.write_text(text, "utf-8")

    with pytest.raises(GivenFileError) as caught:
        read_tools(path)

    assert told in str(caught.value)


def vendors(*exchanges: tuple[str, object, object]) -> str:
    """Return a cassette of exchanges: address, what was asked, what was answered."""
    headers = {"content-type": ["application/json"]}
    interactions = [
        {
            "request": {
                "method": "POST",
                "uri": f"https://vendor.example{path}",
                "headers": headers,
                "body": json.dumps(asked),
            },
            "response": {
                "status": {"code": 200, "message": "OK"},
                "headers": headers,
                "body": {"string": json.dumps(answered)},
            },
        }
        for path, asked, answered in exchanges
    ]
    return json.dumps({"version": 1, "interactions": interactions})


def test_responses_that_are_stored_are_one_session(tmp_path: Path) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "found"}
    text = {"type": "message", "content": [{"type": "output_text", "text": "done"}]}
    (world,) = imported(
        tmp_path,
        vendors(
            (
                "/v1/responses",
                {"model": "m", "input": "hi", "tools": [{"type": "x", "name": "look"}]},
                {"id": "resp_1", "status": "completed", "output": [call]},
            ),
            (
                "/v1/responses",
                {"model": "m", "previous_response_id": "resp_1", "input": [result]},
                {"id": "resp_2", "status": "completed", "output": [text]},
            ),
        ),
        name="a.json",
    ).worlds

    assert world.where == "exchange 1, 2"
    assert [len(each.input) for each in world.scenario.runs] == [1]
    assert world.scenario.all_agents[0].tools[0].by_call == {"c1": ("found",)}


def test_response_that_goes_on_with_one_of_elsewhere_is_told(tmp_path: Path) -> None:
    body = {"model": "m", "previous_response_id": "resp_9", "input": "hi"}
    text = vendors(("/v1/responses", body, {"output": []}))

    told = refused(tmp_path, text, name="a.json")

    assert "goes on with a response that is not in the file" in told


def test_calls_of_gemini_are_known_by_their_places(tmp_path: Path) -> None:
    address = "/v1beta/models/m:generateContent"
    user = {"role": "user", "parts": [{"text": "hi"}]}
    model = {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]}
    given = {"id": "made-up", "name": "look", "response": {"result": "found"}}
    back = {"role": "user", "parts": [{"functionResponse": given}]}
    done = {"role": "model", "parts": [{"text": "done"}]}
    (world,) = imported(
        tmp_path,
        vendors(
            (address, {"contents": [user]}, {"candidates": [{"content": model}]}),
            (
                address,
                {"contents": [user, model, back]},
                {"candidates": [{"content": done, "finishReason": "STOP"}]},
            ),
        ),
        name="a.json",
    ).worlds

    assert world.where == "exchange 1, 2"
    assert len(world.scenario.model_script) == 2


# Spans of OpenTelemetry

SPANS = HERE / "spans"


def span(asked: object, heard: object, **more: object) -> dict[str, object]:
    told = {"gen_ai.input.messages": asked, "gen_ai.output.messages": heard}
    return {"context": {"trace_id": "1"}, "attributes": {**told, **more}}


def said(role: str, *texts: str) -> dict[str, object]:
    return {"role": role, "parts": [{"type": "text", "content": t} for t in texts]}


@pytest.mark.parametrize("name", ["pydantic_ai.jsonl", "pydantic_ai.otlp.json"])
def test_recorded_spans_are_the_session_that_they_are_of(name: str) -> None:
    [world] = import_file(SPANS / name).worlds
    agent, runs = world.scenario.all_agents[0], world.scenario.runs

    assert agent.instruction == "be kind"
    assert [tool.name for tool in agent.tools] == ["look"]
    assert agent.tools[0].by_call == {"pyd_ai_tool_call_id__look": ("found a",)}
    assert [run.input for run in runs] == [("user:hello",), ("user:more",)]
    assert len(world.scenario.model_script) == 3


def test_spans_are_the_same_line_by_line() -> None:
    path = SPANS / "pydantic_ai.jsonl"

    assert tuple(import_lines(path)) == import_file(path).worlds


def test_of_a_session_the_span_is_kept_that_nothing_goes_on_from(
    tmp_path: Path,
) -> None:
    hello, hi, more, well = (
        said(role, text)
        for role, text in (
            ("user", "hello"),
            ("assistant", "hi"),
            ("user", "more"),
            ("assistant", "well"),
        )
    )
    hi_again = {**hi, "finish_reason": "stop"}
    agent = {"gen_ai.operation.name": "invoke_agent"}
    spans = [
        span([hello], [hi_again]),
        span([hello, hi, more], [well]),
        span([hello, hi, more], [well]),  # told twice
        span(json.dumps([more]), json.dumps([hi])),
        span([hello], [well], **agent),
    ]

    found = imported(tmp_path, *spans)

    assert [(w.where, len(w.scenario.runs)) for w in found.worlds] == [
        ("line 2", 2),
        ("line 4", 1),
    ]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("[{", "line 1: gen_ai.input.messages is not JSON; was it cut off?"),
        ({"role": "user"}, "line 1: gen_ai.input.messages is not a list"),
        (["hi"], "line 1: messages[0] is not an object with 'role' and 'parts'"),
        ([{"role": "user"}], "line 1: messages[0] is not an object with 'role' and"),
        (None, "it holds no session; have the instrumentation capture the messages"),
    ],
)
def test_what_is_wrong_with_a_span_is_told(
    tmp_path: Path, asked: object, told: str
) -> None:
    lines = [span(asked, []), span([said("user", "hi")], [said("assistant", "ho")])]
    if asked is None:
        lines.pop()

    assert told in refused(tmp_path, *lines, lines[0])

"""Steps of a flow: processors, which responses make events, when a turn ends."""

import asyncio
from dataclasses import replace

import pytest

from compat.dialects.flow import (
    DEFAULT_REQUEST_PROCESSORS,
    DEFAULT_RESPONSE_PROCESSORS,
    Blob,
    Content,
    FileData,
    GenerateConfig,
    LlmAgent,
    LlmResponse,
    Part,
    Plugin,
    SequentialAgent,
    text_content,
)
from compat.dialects.flow.errors import NoVariableError
from compat.dialects.flow.run_errors import (
    AgentFieldError,
    CallbackReturnError,
    InvalidAnswerError,
    PartialEndError,
    ProcessorReturnError,
)
from tests.flow_support import (
    ScriptedModel,
    calls,
    run,
    runner_of,
    short,
    stored,
    tool,
)

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}


def told(agent, *plugins, profile="adk-go-0.4", stream=False, state=None):
    runner = runner_of(agent, *plugins, profile=profile)
    events = asyncio.run(run(runner, state=state, stream=stream))
    return [short(each) for each in events]


def chunk(text, **fields):
    return LlmResponse(content=text_content("model", text), **fields)


def test_the_processors_stand_in_the_seeds_order_each_in_a_module_of_its_own():
    modules = [
        each.__module__.rpartition(".")[2] for each in DEFAULT_REQUEST_PROCESSORS
    ]

    assert modules == [
        "basic",
        "tools",
        "auth",
        "confirmation",
        "instructions",
        "identity",
        "contents",
        "planning",
        "code_execution",
        "output_schema",
        "transfer",
        "display_names",
    ]
    assert [x.__module__.rpartition(".")[2] for x in DEFAULT_RESPONSE_PROCESSORS] == [
        "planning",
        "code_execution",
    ]


def test_a_processor_that_raises_ends_the_turn_and_is_named():
    def refuse(*_):
        raise PermissionError("no")

    model = ScriptedModel("never")
    agent = LlmAgent(name="x", model=model, request_processors=[refuse])

    with pytest.raises(PermissionError) as caught:
        told(agent)

    assert caught.value.__notes__ == ["agent 'x', processor 0 (refuse)"]
    assert model.requests == []


def test_a_processor_that_ends_the_agents_part_keeps_the_model_from_being_asked():
    def end(ctx, *_):
        ctx.end()

    model = ScriptedModel()

    assert told(LlmAgent(name="x", model=model, request_processors=[end])) == []


def test_a_processor_that_gives_something_else_is_named():
    agent = LlmAgent(
        name="x", model=ScriptedModel(), request_processors=[lambda *_: [3]]
    )

    with pytest.raises(ProcessorReturnError, match=r"processor 0 \(<lambda>\): 3"):
        told(agent)


def test_a_response_processor_replaces_the_response_or_takes_its_event_away():
    def loud(_ctx, _request, response):
        text = response.content.text
        return replace(response, content=text_content("model", text.upper()))

    def empty(*_):
        return LlmResponse()

    made = LlmAgent(name="x", model=ScriptedModel("ok"), response_processors=[loud])
    assert told(made) == ["x: OK"]
    made = LlmAgent(name="x", model=ScriptedModel("ok"), response_processors=[empty])
    assert told(made) == []
    made = LlmAgent(
        name="x", model=ScriptedModel("ok"), response_processors=[lambda *_: "text"]
    )
    with pytest.raises(CallbackReturnError, match="response processor 0"):
        told(made)


@pytest.mark.parametrize(("profile", "asked"), [("adk-go-0.4", 1), ("adk-go-2", 2)])
def test_a_turn_of_thoughts_alone_ends_or_the_model_is_asked_again(profile, asked):
    thought = Content("model", (Part(text="hm", thought=True),))
    model = ScriptedModel(thought, "done")

    told(LlmAgent(name="x", model=model), profile=profile)

    assert len(model.requests) == asked


def test_a_step_that_ends_on_a_partial_event_is_an_error_or_the_end(caplog):
    for profile in ("adk-go-0.4", "flow-safe"):
        agent = LlmAgent(name="x", model=ScriptedModel([chunk("a", partial=True)]))
        with pytest.raises(PartialEndError, match="agent 'x'"):
            told(agent, profile=profile, stream=True)

    agent = LlmAgent(name="x", model=ScriptedModel([chunk("a", partial=True)]))
    assert told(agent, profile="adk-py-2", stream=True) == ["x: a"]
    assert "the last event of a step is partial" in caplog.text


def test_a_template_that_cannot_be_filled_names_variable_and_agent():
    model = ScriptedModel()
    agent = LlmAgent(name="x", model=model, instruction="{ghost}")

    with pytest.raises(NoVariableError, match="ghost") as caught:
        told(agent)

    assert caught.value.__notes__ == ["agent 'x', processor 4 (add_instructions)"]
    assert model.requests == []


def test_an_instruction_provider_that_gives_no_text_is_named():
    agent = LlmAgent(
        name="x", model=ScriptedModel(), instruction_provider=lambda _: None
    )

    with pytest.raises(AgentFieldError, match="agent 'x', instruction_provider: None"):
        told(agent)


@pytest.mark.parametrize(
    ("profile", "told_it"), [("adk-go-0.4", False), ("adk-py-2", True)]
)
def test_the_model_is_told_who_it_is_in_some_versions(profile, told_it):
    model = ScriptedModel("ok")

    told(LlmAgent(name="clerk", model=model, description="sells"), profile=profile)

    assert ("clerk" in model.instructions[0]) is told_it


def test_toolsets_are_asked_once_for_a_run():
    class Set:
        asked = 0

        async def tools(self, _):
            self.asked += 1
            return [tool("f")]

    toolset = Set()
    model = ScriptedModel(calls("f"), "ok")

    told(LlmAgent(name="x", model=model, toolsets=[toolset]))

    assert toolset.asked == 1
    assert model.requests[1][2] == ("f",)


def test_a_schema_without_tools_is_asked_for_natively():
    model = ScriptedModel('{"n": 1}')
    agent = LlmAgent(
        name="x",
        model=model,
        output_schema=SCHEMA,
        config=GenerateConfig(temperature=0.1),
    )

    told(agent)

    config = model.requests[0][0]
    assert config.response_mime_type == "application/json"
    assert config.response_schema["required"] == ("n",)
    assert config.temperature == 0.1


@pytest.mark.parametrize(
    ("profile", "vertex", "name", "native"),
    [
        ("adk-go-0.4", "1", "gemini-2.5-pro", True),
        ("adk-go-0.4", "", "gemini-2.5-pro", False),
        ("adk-go-0.4", "1", "gemini-1.5-pro", False),
        ("adk-go-2", "", "gemini-2.5-pro", True),
        ("adk-go-2", "", "other", False),
    ],
)
def test_a_schema_beside_tools_is_native_or_a_tool(
    monkeypatch, profile, vertex, name, native
):
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", vertex)
    model = ScriptedModel("{}", name=name)
    agent = LlmAgent(name="x", model=model, tools=[tool("f")], output_schema=SCHEMA)

    told(agent, profile=profile)

    config, _, tools = model.requests[0]
    assert (config.response_schema is not None) is native
    assert ("set_model_response" in tools) is not native


def structured(profile, *script):
    model = ScriptedModel(*script, name="other")
    agent = LlmAgent(name="x", model=model, tools=[tool("f")], output_schema=SCHEMA)
    return told(agent, profile=profile)


def test_a_structured_answer_that_does_not_fit_is_final_raised_or_retried():
    wrong = calls(("set_model_response", {"n": "one"}))
    right = calls(("set_model_response", {"n": 1}), id_from=2)

    assert structured("adk-go-0.4", wrong)[-1] == (
        """x: {"error":"invalid output schema: n is 'one', no integer"}"""
    )
    with pytest.raises(ValueError, match="n is 'one', no integer"):
        structured("adk-py-1", wrong)
    assert structured("adk-py-2", wrong, right)[-1] == 'x: {"n": 1}'


def kept(profile, *script, **fields):
    agent = LlmAgent(
        name="x",
        model=ScriptedModel(*script),
        tools=[tool("f")],
        output_key="said",
        **fields,
    )
    runner = runner_of(agent, profile=profile)
    asyncio.run(run(runner))
    return asyncio.run(stored(runner)).state["said"]


def test_what_a_hook_says_before_an_agent_is_kept_in_one_version():
    agent_hook = {"before_agent": lambda _: text_content("model", "closed")}

    assert kept("adk-py-2", **agent_hook) == "closed"
    with pytest.raises(KeyError):
        kept("adk-py-1", **agent_hook)


def test_an_answer_with_a_schema_is_kept_as_text_or_parsed():
    for profile, value in [("adk-go-0.4", '{"n": 1}'), ("adk-py-2", {"n": 1})]:
        model = ScriptedModel('{"n": 1}')
        agent = LlmAgent(name="x", model=model, output_schema=SCHEMA, output_key="said")
        runner = runner_of(agent, profile=profile)
        asyncio.run(run(runner))

        assert asyncio.run(stored(runner)).state["said"] == value

    agent = LlmAgent(
        name="x", model=ScriptedModel("no"), output_schema=SCHEMA, output_key="said"
    )
    with pytest.raises(InvalidAnswerError, match="agent 'x' said 'no'"):
        told(agent, profile="adk-py-2")


def test_thoughts_are_no_part_of_what_is_kept():
    content = Content("model", (Part(text="hm", thought=True), Part(text="yes")))

    assert kept("adk-go-0.4", content) == "yes"


def test_display_names_are_taken_off_where_the_gemini_api_is_asked(monkeypatch):
    file = Part(file=FileData("gs://x", display_name="f"))
    blob = Part(blob=Blob(b"x", display_name="b"))
    for vertex, names in [("", ("", "")), ("1", ("f", "b"))]:
        monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", vertex)
        model = ScriptedModel("ok")
        runner = runner_of(LlmAgent(name="x", model=model))

        asyncio.run(run(runner, Content("user", (file, blob))))

        first, second = model.contents[0][0].parts
        assert (first.file.display_name, second.blob.display_name) == names


@pytest.mark.parametrize(("profile", "called"), [("adk-go-0.4", 2), ("adk-py-2", 1)])
def test_a_value_of_after_run_silences_later_plugins_in_some_versions(profile, called):
    log = []

    def value(_):
        log.append(1)
        return 1

    plugins = [Plugin(name=name, after_run=value) for name in ("p", "q")]
    told(LlmAgent(name="x", model=ScriptedModel("ok")), *plugins, profile=profile)

    assert len(log) == called


def failing_tree(kind):
    if kind == "alone":
        return LlmAgent(name="a", model=ScriptedModel(TimeoutError("slow")))
    child = LlmAgent(name="a", model=ScriptedModel(TimeoutError("slow")))
    return SequentialAgent(name="seq", sub_agents=[child])


@pytest.mark.parametrize(
    ("profile", "kind", "codes"),
    [
        ("adk-py-2", "alone", ["TimeoutError"]),
        ("adk-py-2", "under a sequence", []),
        ("adk-py-1", "alone", []),
    ],
)
def test_a_failure_is_told_as_an_event_in_one_version(profile, kind, codes):
    seen = []
    plugin = Plugin(name="p", on_event=lambda _, event: seen.append(event.error_code))
    runner = runner_of(failing_tree(kind), plugin, profile=profile)

    with pytest.raises(TimeoutError):
        asyncio.run(run(runner))

    events = asyncio.run(stored(runner)).events[1:]
    assert [each.error_code for each in events] == seen == codes


def test_a_failure_is_told_by_who_spoke_last():
    def fail(_):
        raise TimeoutError

    child = LlmAgent(name="child", model=ScriptedModel("hi"), after_agent=fail)
    handing = calls(("transfer_to_agent", {"agent_name": "child"}))
    root = LlmAgent(name="root", model=ScriptedModel(handing), sub_agents=[child])
    runner = runner_of(root, profile="adk-py-2")

    with pytest.raises(TimeoutError):
        asyncio.run(run(runner))

    assert asyncio.run(stored(runner)).events[-1].author == "child"

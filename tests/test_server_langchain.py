"""The scripted server, asked by LangChain: alone, and as the model of an agent."""

import asyncio
import json
from contextlib import contextmanager

import httpx2
import openai
import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from compat.wire.server.scripted import ScriptedServer
from refengine.testing.scenario_files import read_scenario

BOTH = 'assistant:Both.[c1:add({"a": 1, "b": 2})][c2:shout({"text": "grüß 🎉"})]'


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@contextmanager
def model_of(*script, **more):
    """Serve a script; yield the server and a model that asks it."""
    scenario = read_scenario({"agent": {}, "model_script": list(script)})
    asking = httpx2.Client(trust_env=False)
    with ScriptedServer(scenario) as server, asking:
        yield (
            server,
            ChatOpenAI(
                model="gpt-4o",
                api_key="any",
                base_url=server.base_url,
                max_retries=0,
                http_client=asking,
                http_async_client=httpx2.AsyncClient(trust_env=False),
                **more,
            ),
        )


def aclosing(model, work):
    """Run what asks asynchronously, and close the client in the same loop."""

    async def run():
        async with model.http_async_client:
            return await work

    return asyncio.run(run())


def test_invoke_gets_text_and_usage() -> None:
    with model_of("assistant:Grüß dich") as (_, model):
        answer = model.invoke("hi")

    assert answer.content == "Grüß dich"
    assert (answer.usage_metadata or {})["total_tokens"] == 4
    assert answer.response_metadata["finish_reason"] == "stop"
    assert answer.response_metadata["model_name"] == "gpt-4o"


def test_stream_gets_the_pieces() -> None:
    with model_of("assistant:a 🎉 c") as (_, model):
        chunks = list(model.stream("hi"))

    assert [each.content for each in chunks if each.content] == ["a ", "🎉 ", "c"]
    assert sum(chunks[1:], chunks[0]).response_metadata["finish_reason"] == "stop"


def test_ainvoke_and_astream_get_the_same() -> None:
    async def ask(model):
        whole = await model.ainvoke("hi")
        return whole.content, [each.content async for each in model.astream("hi")]

    with model_of("assistant:a b", "assistant:c d") as (_, model):
        said, pieces = aclosing(model, ask(model))

    assert (said, "".join(pieces)) == ("a b", "c d")


def piece(index, arguments, **named):
    call = {"index": index, "arguments": arguments, **named}
    return json.dumps({"tool_calls": [call]})


IN_TURNS = {
    "chunks": [
        "assistant:Both.",
        piece(0, "", id="c1", name="add"),
        piece(1, "", id="c2", name="shout"),
        piece(0, '{"a": 1, '),
        piece(1, '{"text": "grüß '),
        piece(0, '"b": 2}'),
        piece(1, '🎉"}'),
    ]
}


@pytest.mark.parametrize("entry", [BOTH, IN_TURNS])
def test_parallel_calls_are_put_together_from_a_stream(entry) -> None:
    with model_of(entry) as (_, model):
        chunks = list(model.bind_tools([add, shout]).stream("hi"))

    whole = sum(chunks[1:], chunks[0])
    assert whole.content == "Both."
    assert [(each["id"], each["name"], each["args"]) for each in whole.tool_calls] == [
        ("c1", "add", {"a": 1, "b": 2}),
        ("c2", "shout", {"text": "grüß 🎉"}),
    ]


def finished(messages):
    """Return the results by call, and the last answer."""
    results = {
        each.tool_call_id: each.content
        for each in messages
        if isinstance(each, ToolMessage)
    }
    assert isinstance(messages[-1], AIMessage)
    return results, messages[-1].content


@pytest.mark.parametrize("streaming", [False, True])
def test_an_agent_plays_tools_and_ends(streaming) -> None:
    with model_of(BOTH, "assistant:done", streaming=streaming) as (server, model):
        agent = create_agent(model, [add, shout])
        state = agent.invoke({"messages": [("user", "hi")]})

    assert finished(state["messages"]) == ({"c1": "3", "c2": "GRÜSS 🎉"}, "done")
    first, second = server.requests["default"]
    assert [each["function"]["name"] for each in first["tools"]] == ["add", "shout"]
    assert bool(first.get("stream")) is streaming
    roles = [each["role"] for each in second["messages"]]
    assert roles == ["user", "assistant", "tool", "tool"]


def test_an_agent_plays_asynchronously() -> None:
    with model_of(BOTH, "assistant:done") as (_, model):
        agent = create_agent(model, [add, shout])
        state = aclosing(model, agent.ainvoke({"messages": [("user", "hi")]}))

    assert finished(state["messages"])[1] == "done"


def test_answers_of_one_session_have_ids_of_their_own() -> None:
    with model_of("assistant:one", "assistant:two") as (_, model):
        found = {model.invoke("hi").response_metadata["id"] for _ in range(2)}

    assert len(found) == 2


def test_a_history_without_results_is_refused() -> None:
    asked = AIMessage(
        "", tool_calls=[{"id": "c1", "name": "add", "args": {"a": 1, "b": 2}}]
    )
    with (
        model_of("assistant:one") as (_, model),
        pytest.raises(openai.BadRequestError, match="must follow it at once"),
    ):
        model.invoke([("user", "hi"), asked])

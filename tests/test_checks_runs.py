"""The checks of RUN, under every profile."""

import pytest

from refengine.agent import ChatModelAgentConfig, build_agent
from refengine.messages import Message, MessageChunk
from tests.deciding import scenario, told
from tests.support import USER, reader, run

CALL = "assistant:[c1:t({})]"
DONE = "assistant:done"
TOOL = {"name": "t", "result": "r"}


ENDLESS = {"tools": [TOOL], "max_iterations": 1}


@pytest.mark.parametrize(
    ("under", "end"),
    [
        ("seed-001", [("max_iterations", None), 1]),
        ("eino-0.8", [("error", "max_iterations"), 1]),
        ("langgraph-prebuilt-1", [[], "completed"]),
    ],
)
def test_how_a_run_ends_at_its_limit_is_a_posture(under, end):
    assert told("RUN-011", scenario(ENDLESS, CALL, CALL), under) == end


@pytest.mark.parametrize(
    ("under", "error"), [("seed-001", "MaxIterationsError"), ("eino-0.8", None)]
)
def test_a_limit_below_one_is_refused_or_the_default(under, error):
    assert told("RUN-013", scenario({"max_iterations": 0}, DONE), under) == [error]


@pytest.mark.parametrize(
    ("under", "wanted"),
    [("seed-001", ["unknown"]), ("eino-0.8", [(1, [], False)])],
)
def test_what_an_agent_without_tools_does_is_a_posture(under, wanted):
    assert told("RUN-006", scenario({}, CALL, DONE), under) == wanted


class Invoked:
    """A model that cannot be streamed."""

    async def invoke(self, ctx, messages, tools, options):
        return Message("assistant", "a b")


class Streamed:
    """A model that can only be streamed."""

    async def stream(self, ctx, messages, tools, options):
        return reader([MessageChunk("a "), MessageChunk("b")])


def chunk_text(chunk):
    assert isinstance(chunk, MessageChunk)
    return chunk.content


@pytest.mark.parametrize("model", [Invoked(), Streamed()], ids=["invoke", "stream"])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_a_model_with_one_method_works_in_both_modes(model, stream):
    async def play():
        config = ChatModelAgentConfig(name="agent", description="", model=model)
        agent = await build_agent(config)
        async with agent.run([USER], stream=stream) as running:
            return await running.result()

    result = run(play())
    chunks = [chunk_text(chunk) for chunk in result.events[0].chunks or ()]

    assert result.answer == Message("assistant", "a b")
    assert chunks == (["a b"] if model.__class__ is Invoked else ["a ", "b"]) * stream

"""A model with one method, asked in both modes."""

import pytest

from refengine.agent import ChatModelAgentConfig, build_agent
from refengine.messages import Message, MessageChunk
from tests.support import USER, reader, run


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

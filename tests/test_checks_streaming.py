"""Streams against whole results: the clauses of STR, and what no scenario can hold."""

import asyncio
from typing import Any

import pytest

from property_tests.checks.modes import distributing
from refengine import ChatModelAgentConfig, Message, StreamReader, build_agent
from refengine.messages import MessageChunk
from refengine.testing.scenario_files import read_scenario
from tests.deciding import OF, accused, decisions, scenario, undecided, worlds

CHECKS = [OF[clause] for clause in {each.clause for each in worlds("streaming")}]
STREAM = {"name": "t", "kind": "streamable", "chunks": ["a", "b"]}
CALL = "assistant:[c1:t({})]"
STREAMED = {"model_script": [{"chunks": ["assistant:a", "assistant:a"]}]}


def test_the_fixed_world_of_every_clause_decides_it():
    assert undecided(CHECKS, "streaming") == set()


def test_the_reference_engine_keeps_every_clause_in_every_fixed_world():
    assert accused(CHECKS, "streaming") == set()


def test_a_world_with_two_results_for_two_modes_need_not_end_the_same():
    both = {"name": "t", "kind": "both", "result": "whole", "chunks": ["a", "b"]}

    assert not distributing(scenario({"tools": [both]}, CALL))
    assert distributing(scenario({"tools": [{**both, "result": "ab"}]}, CALL))


def test_a_world_whose_stream_breaks_off_need_not_end_the_same():
    broken = {**STREAM, "stream_error": "cut off"}
    answer = {"chunks": ["assistant:a"], "stream_error": "cut off"}

    assert not distributing(scenario({"tools": [broken]}, CALL))
    assert not distributing(scenario({}, answer))


@pytest.mark.parametrize("clause", ["STR-015", "STR-017", "INT-005"])
def test_a_world_whose_consumer_leaves_a_stream_has_no_whole_ones_to_compare(clause):
    run = {"streaming": True, "checkpoint": "k"}
    whole, left = (
        read_scenario({"agent": {}, **STREAMED, "runs": [each]})
        for each in (run, {**run, "reads": 1})
    )

    assert OF[clause].meant(whole)
    assert not OF[clause].meant(left)


@pytest.mark.parametrize("hook", ["wrap_invokable", "wrap_streamable"])
def test_a_world_that_wraps_one_kind_alone_need_not_end_the_same(hook):
    handler = {"id": "h", hook: {"prefix_result": "x"}}

    assert not distributing(scenario({"tools": [STREAM], "handlers": [handler]}, CALL))


def test_a_chunk_without_anything_in_it_may_be_left_out():
    answer = {"chunks": ["assistant:", "assistant:a"]}
    (found,) = decisions(OF["STR-005"], scenario({}, answer, streaming=True))

    assert found.expected == found.got == [[["assistant:a"]]]


class Invokes:
    """A model that can be invoked and not streamed."""

    async def invoke(self, ctx, messages, tools, options):
        return Message("assistant", "one two")


class Streams:
    """A model that can be streamed and not invoked."""

    async def stream(self, ctx, messages, tools, options):
        async def chunks():
            for text in ("one ", "two"):
                yield MessageChunk(text)

        return StreamReader(chunks())


async def answered(model, *, stream):
    """Return the chunks of the run's one event, None of a whole one, and the answer."""
    agent = await build_agent(ChatModelAgentConfig("agent", "", model))
    async with agent.run([Message("user", "hi")], stream=stream) as run:
        event: Any = await anext(run)
        chunks = event.stream and [each.content async for each in event.stream]
        answer: Any = (await run.result()).answer
        return chunks, answer.content


def test_a_model_without_stream_is_seen_as_one_chunk():
    assert asyncio.run(answered(Invokes(), stream=True)) == (["one two"], "one two")


def test_a_model_without_invoke_is_streamed_and_joined():
    assert asyncio.run(answered(Streams(), stream=False)) == (None, "one two")

"""What the caller gave is as it was before the runs: lists, maps, structs (MSG)."""

import warnings
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from hypothesis import given

from refengine.agent import ChatModelAgentConfig, build_agent
from refengine.messages import Message
from refengine.profile import profile
from refengine.testing import Recorder, Scenario, World, clock, parse_message
from refengine.testing.strategies import scenarios
from refengine.testing.trace import to_json
from tests.properties.support import searching, under_every_profile


def snapshot(config: ChatModelAgentConfig, given: Sequence[list[Message]]) -> list[Any]:
    """Copy all that the caller holds: which objects they are, and what is in them."""
    tools = config.tools_config
    lists = [config.middlewares, config.handlers, tools.tools, *given]
    lists += [tools.tool_call_middlewares]
    lists += [struct.additional_tools for struct in config.middlewares]
    return [
        [list(map(id, each)) for each in lists],
        [parts(struct) for struct in (*config.middlewares, tools, config)],
        dict(tools.return_directly),
        to_json([*given, [tool.info for tool in tools.tools]]),  # type: ignore[union-attr]  # worlds give tools, no entries
    ]


def parts(struct: Any) -> dict[str, int]:
    return {each.name: id(getattr(struct, each.name)) for each in fields(struct)}


async def run_all(
    config: ChatModelAgentConfig,
    scenario: Scenario,
    given: Sequence[list[Message]],
    under: str,
) -> None:
    agent = await build_agent(config, profile(under))
    for run, messages in zip(scenario.runs, given, strict=True):
        async with agent.run(messages, stream=run.streaming) as running:
            async for _ in running:
                pass


@under_every_profile
@searching(40)
@given(scenarios(unknown_calls=True, counting=True))
def test_nothing_that_the_caller_gave_is_changed(
    under: str, scenario: Scenario
) -> None:
    assert scenario.agent is not None
    config = World(scenario.agent, scenario, Recorder()).config()
    given = [[parse_message(text) for text in run.input] for run in scenario.runs]
    before = snapshot(config, given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are both lists, or old ones
        clock.run(run_all(config, scenario, given, under))

    assert snapshot(config, given) == before

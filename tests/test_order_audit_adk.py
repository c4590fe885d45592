"""Orders of plugins and callbacks of ADK, which ``refengine audit order`` exchanges.

They skip where the extra ``adk`` is not installed; CI runs them where it is.
"""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from refengine.testing.ordering import Move, Ordering
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subjects import play_alone
from refengine.testing.world import World
from tests.commands import refengine

INSTALLED = find_spec("google") is not None and find_spec("google.adk") is not None
pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs the extra 'adk'")

STACK = """
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.plugins import BasePlugin
from google.adk.runners import Runner
from google.adk.tools.agent_tool import AgentTool


class Guard(BasePlugin):
    async def before_tool_callback(self, *, tool, tool_args, tool_context):
        if "delete" in str(tool_args):
            return {"result": "denied"}


class PlainWords(BasePlugin):
    async def before_tool_callback(self, *, tool, tool_args, tool_context):
        for key, value in tool_args.items():
            tool_args[key] = str(value).replace("remove", "delete")


def brief(callback_context, llm_request):
    llm_request.append_instructions(["Be brief."])


def kind(callback_context, llm_request):
    llm_request.append_instructions(["Be kind."])


def desk(world, **callbacks):
    adk = world.as_adk()
    helper = LlmAgent(name="helper", model=adk.model, **callbacks)
    tools = [*adk.tools, AgentTool(helper)]
    return LlmAgent(name="desk", model=adk.model, tools=tools)


def pair(world):
    agent = desk(world, before_model_callback=[brief, kind])
    return agent, [Guard("guard"), PlainWords("plain-words")]


def app(world):
    root, plugins = pair(world)
    return App(name="app", root_agent=root, plugins=plugins)


def runner(world):
    service = world.as_adk().session_service
    return Runner(app=app(world), session_service=service)
"""
TELLS = {
    "agent": {"tools": [{"name": "look", "result": "ok"}]},
    "model_script": [
        'assistant:[c1:look({"q": "remove it"})]',
        'assistant:[c2:helper({"request": "and"})]',
        "assistant:helped",
        "assistant:done",
    ],
    "runs": [{"input": ["user:hi"]}],
}
LISTS = {
    "plugins": [("guard", "plain-words")],
    "before_model_callback of helper": [("brief", "kind")],
}


@pytest.mark.parametrize("shape", ["pair", "app", "runner"])
def test_lists_are_found_and_moved_in_whatever_a_subject_returns(shape) -> None:
    names: dict[str, Any] = {}
    exec(STACK, names)  # noqa: S102  # it stands above
    moves = [
        Move("plugins", "guard", "plain-words", behind=True),
        Move("before_model_callback of helper", "brief", "kind", behind=True),
    ]
    found = Ordering(moves)

    def subject(world: World) -> object:
        return found.applied(names[shape](world), world)

    trace = play_alone(read_scenario(TELLS, "own"), subject).trace

    assert found.lists == LISTS
    assert r"Be kind.\n\nBe brief." in trace.to_jsonl()
    assert [each.data["name"] for each in trace.of("tool_start")] == []


def test_two_that_do_not_commute_are_shown(tmp_path: Path) -> None:
    Path(tmp_path, "agent.py").write_text(STACK)
    Path(tmp_path, "world.json").write_text(json.dumps(TELLS))
    line = ("audit", "order", "agent.py:pair", "--examples", "1")
    done = refengine(*line, "--worlds", "world.json", at=tmp_path)

    assert done.returncode == 1
    assert done.stdout.startswith(
        "ORDER MATTERS  2 of 2 pairs do not commute\n"
        "  plugins: guard, plain-words\n"
        "  before_model_callback of helper: brief, kind\n"
    )
    assert "\nMISSING_CALL  " in done.stdout
    assert "\nINSTRUCTION  " in done.stdout

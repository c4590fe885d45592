"""Migrations of agents of ADK, judged on the installed package, each side in its child.

They skip where the extra ``adk`` is not installed; CI runs them where it is.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from compat.migration.check import check_all
from compat.migration.corpus import Corpus, MigrationWorld
from compat.migration.judge import Terms
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from refengine.messages import Message, ToolCall
from refengine.testing.recorder import Recorder
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subject_worlds.adk_worlds import fits_adk
from refengine.testing.subjects import SubjectError, play_alone
from refengine.testing.world import World, WorldExtraError

INSTALLED = find_spec("google") is not None and find_spec("google.adk") is not None
needs_adk = pytest.mark.skipif(not INSTALLED, reason="needs the extra 'adk'")
TOOLS = {"tools": [{"name": "look", "result": "<args>"}]}
ASKED = 'assistant:[c{0}:look({{"q": "{1}"}})]'
WORLDS = (
    {
        "agent": TOOLS,
        "model_script": [ASKED.format(1, "a"), "assistant:found", "assistant:again"],
        "runs": [
            {"input": ["user:hello"], "options": {"user:asked": 2}},
            {"input": ["user:more"], "continues": True, "streaming": True},
            {"input": ["user:my password"], "continues": True},
            {"input": ["user:new"]},
        ],
    },
    {
        "agent": TOOLS,
        "model_script": [ASKED.format(2, "password"), "assistant:x", {"error": "boom"}],
        "runs": [{"input": ["user:hello"]}, {"input": ["user:hello"]}],
    },
)
"""A few worlds by hand; a folder of such ports is judged in all that there are."""

OLD = """
from google.adk.agents import LlmAgent
from google.adk.models.llm_response import LlmResponse
from google.genai import types

def said(request):
    return " ".join(p.text or "" for c in request.contents for p in c.parts or [])

def canned(text):
    part = types.Part(text=text)
    return LlmResponse(content=types.Content(role="model", parts=[part]))

def block(callback_context, llm_request):
    if "password" in said(llm_request):
        return canned("I cannot.")
    state = callback_context.state
    state["user:asked"] = state.get("user:asked", 0) + 1

def refuse(tool, args, tool_context):
    if args.get("q") == "password":
        raise ValueError("no")

def take(tool, args, tool_context):
    tool_context.state["orders"] = args["order"] + tool_context.state["tenant"]

def takes(world):
    return agent(world, before_tool_callback=take)

def agent(world, **more):
    adk = world.as_adk()
    return LlmAgent(name="helper", model=adk.model, tools=[*adk.tools], **more)

def blocks(world):
    return agent(world, before_model_callback=block)

def refuses(world):
    return agent(world, before_tool_callback=[refuse])
"""
NEW = """
from google.adk.apps import App
from google.adk.plugins import BasePlugin
from google.adk.runners import Runner
from old import agent, block, canned, refuse, said, take

class Block(BasePlugin):
    key = "user:asked"

    def __init__(self):
        super().__init__(name="block")

    async def before_model_callback(self, *, callback_context, llm_request):
        if "password" in said(llm_request):
            return canned("I cannot.")
        state = callback_context.state
        state[self.key] = state.get("user:asked", 0) + 1

class Elsewhere(Block):
    key = "asked"

class Blind(Block):
    async def before_model_callback(self, *, callback_context, llm_request):
        await super().before_model_callback(
            callback_context=callback_context, llm_request=llm_request
        )

class Refuse(BasePlugin):
    def __init__(self):
        super().__init__(name="refuse")

    async def before_tool_callback(self, *, tool, tool_args, tool_context):
        return refuse(tool, tool_args, tool_context)

def blocks(world):
    return agent(world), [Block()]

def as_app(world):
    return App(name="helping", root_agent=agent(world), plugins=[Block()])

def as_runner(world):
    adk = world.as_adk()
    app = App(name="helping", root_agent=agent(world), plugins=[Block()])
    return Runner(app=app, session_service=adk.session_service)

def blind(world):
    return agent(world), [Blind()]

def elsewhere(world):
    return agent(world), [Elsewhere()]

def refuses(world):
    return agent(world), [Refuse()]

class Otherwise(Refuse):
    async def before_tool_callback(self, *, tool, tool_args, tool_context):
        try:
            return refuse(tool, tool_args, tool_context)
        except ValueError:
            raise KeyError("no") from None

def refuses_otherwise(world):
    return agent(world), [Otherwise()]

class Take(Refuse):
    async def before_tool_callback(self, *, tool, tool_args, tool_context):
        return take(tool, tool_args, tool_context)

def takes(world):
    return agent(world), [Take()]

def twice(world):
    return agent(world), [Block(), Block()]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("adk")
    (made / "old.py").write_text(OLD)
    (made / "new.py").write_text(NEW)
    return made


def judged(folder: Path, old: str, *news: str) -> dict[str, Any]:
    refs = {
        name: parse_ref(f"{folder}/{name}")
        for name in (f"old.py:{old}", *(f"new.py:{each}" for each in news))
    }
    first, *others = refs.values()
    how = CheckOptions(sharpness_plays=0, search_plays=0)
    worlds = [read_scenario(each, "a world") for each in WORLDS]
    made = tuple(MigrationWorld(each, "by hand", fixed=True) for each in worlds)
    corpus = Corpus(made, 0, fits_adk)
    sides = {name: (ref, Terms()) for name, ref in zip(news, others, strict=True)}
    found = check_all(first, sides, corpus, how, explain=True)
    return {name: each.verdict for name, each in found.items()}


@needs_adk
def test_callback_as_a_plugin_of_one_agent_is_identical(folder) -> None:
    found = judged(folder, "blocks", "blocks", "as_app", "as_runner")

    assert {name: each.fault for name, each in found.items()} == dict.fromkeys(found)
    assert {each.holds for each in found.values()} == {"identical"}
    used = found["blocks"].exercise
    assert set(used["old"].hooks) == {"helper.before_model"}
    assert set(used["new"].hooks) == {"block.before_model"}
    assert set(used["new"].frameworks) == {"google-adk"}


@needs_adk
def test_a_message_of_two_texts_has_two_parts() -> None:
    from refengine.testing.adk.contents import content_of, user_content

    asked = user_content("one ␞two")
    said = content_of(Message("assistant", "a␞b", (ToolCall("1", "look", "{}"),)))

    assert [each.text for each in asked.parts or ()] == ["one ", "two"]
    assert [each.text for each in said.parts or ()] == ["a", "b", None]
    assert [each.text for each in user_content("").parts or ()] == [""]


@needs_adk
@pytest.mark.parametrize(("streaming", "left"), [(False, "none"), (True, "[]")])
def test_an_answer_of_nothing_has_no_content_or_no_parts(
    streaming: bool, left: str
) -> None:
    from google.adk.agents import LlmAgent  # of an extra
    from google.genai.types import Part

    def subject(world: World) -> object:
        def look(callback_context, llm_response) -> None:
            content = llm_response.content
            world.effect("got", "none" if content is None else str(content.parts))
            if content is not None:
                content.parts = content.parts or []
                content.parts.append(Part(text="mine"))

        return LlmAgent(name="a", model=world.as_adk().model, after_model_callback=look)

    run = {"input": ["user:hello"], "streaming": streaming}
    spec = {"agent": {}, "model_script": ["assistant:"] * 2, "runs": [run] * 2}
    played = play_alone(read_scenario(spec, "here"), subject)
    effects = [each.data["data"] for each in played.trace.of("effect")]

    assert effects == [left] * 2  # what a callback adds to one is not in the next


@needs_adk
def test_wrong_ports_are_told_by_what_they_change(folder) -> None:
    found = judged(folder, "blocks", "blind", "elsewhere")

    assert found["blind"].divergence.code == "EXTRA_CALL"
    assert found["elsewhere"].holds == "same-answer"
    assert found["elsewhere"].divergence.difference.channel in {
        "events",
        "scope_state",
        "stored_events",
    }


@needs_adk
def test_exception_that_a_plugin_wraps_is_told_and_no_divergence(folder) -> None:
    verdict = judged(folder, "refuses", "refuses")["refuses"]

    found = verdict.divergence
    assert verdict.holds == "same-effects"
    assert found.code == "ERROR_WRAPPED"
    assert (found.difference.old, found.difference.new) == ([], ["RuntimeError"])


@needs_adk
def test_exception_of_another_class_in_the_same_wrapping_is_one(folder) -> None:
    verdict = judged(folder, "refuses", "refuses_otherwise")["refuses_otherwise"]

    found = verdict.divergence
    assert found.code == "ERROR_CLASS"
    assert (found.difference.old, found.difference.new) == ("ValueError", "KeyError")


@needs_adk
def test_a_plugin_twice_is_refused_by_the_framework_and_diverges(folder) -> None:
    verdict = judged(folder, "blocks", "twice")["twice"]

    assert verdict.fault is None
    assert verdict.unbuilt
    assert verdict.divergence.code == "ERROR_NEW"
    assert "already registered" in dict(verdict.divergence.causes)["new"]


@needs_adk
def test_state_and_arguments_are_given_that_a_callback_takes_for_granted(
    folder,
) -> None:
    verdict = judged(folder, "takes", "takes")["takes"]

    assert verdict.sufficient
    assert verdict.outside == {}
    assert verdict.failures["old"] == {}


def bad_returns():
    from google.adk.agents import LlmAgent

    def agent(world):
        return LlmAgent(name="a", model=world.as_adk().model)

    yield lambda world: (agent(world), None), "its second part is a NoneType"
    yield lambda world: (agent(world), [object()]), r"plugins\[0\] is a object"
    yield lambda world: (agent(world), [], []), "nothing of ADK that can be run"
    yield lambda world: (None, agent(world)), "its first part is a NoneType"
    yield lambda world: world.as_adk().model, "nothing of ADK that can be run"
    yield lambda world: LlmAgent(name="a", model="gemini-x"), "asks 'gemini-x', which"
    yield lambda world: LlmAgent(name="a"), "asks the framework's default, which"


@needs_adk
def test_what_cannot_be_run_is_named() -> None:
    world = Scenario(agent=AgentSpec())

    for subject, why in bad_returns():
        with pytest.raises(SubjectError, match=why):
            play_alone(world, subject)


@needs_adk
def test_agent_of_another_world_is_refused() -> None:
    from google.adk.agents import LlmAgent

    kept = []

    def subject(world):
        kept.append(LlmAgent(name="a", model=world.as_adk().model))
        return kept[0]

    play_alone(Scenario(agent=AgentSpec()), subject)

    with pytest.raises(SubjectError, match="the model of another world; build the"):
        play_alone(Scenario(agent=AgentSpec()), subject)


def test_without_the_extra_the_error_names_it(monkeypatch) -> None:
    for name in [each for each in sys.modules if each.startswith("google")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [each for each in sys.modules if "testing.adk" in each]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "google.adk", None)
    spec = AgentSpec()
    world = World(spec, Scenario(agent=spec), Recorder())

    with pytest.raises(WorldExtraError, match="needs the extra 'adk'"):
        world.as_adk()


CONFIRMED = {
    "agent": {},
    "model_script": [
        'assistant:[h1:transfer_to_agent({"agent_name": "billing"})]',
        'assistant:[c1:refund({"amount": 1})]',
        "assistant:done",
        'assistant:[c2:refund({"amount": 2})]',
        "assistant:not done",
    ],
    "runs": [
        {"input": ["user:a"]},
        {"input": ["user:b"], "continues": True, "denies": ["c2"]},
    ],
}


def refunds(world):
    from google.adk.agents import LlmAgent
    from google.adk.tools.function_tool import FunctionTool
    from google.genai import types

    async def refund(amount: int, tool_context) -> dict:
        tool_context.state["user:refunded"] = amount
        part = types.Part.from_bytes(data=b"paid", mime_type="text/plain")
        await tool_context.save_artifact("slip.txt", part)
        return {"done": amount}

    model = world.as_adk().model
    tools = [FunctionTool(refund, require_confirmation=True)]
    billing = LlmAgent(name="billing", model=model, tools=tools)
    return LlmAgent(name="root", model=model, sub_agents=[billing])


@needs_adk
def test_own_tool_runs_after_a_yes_and_what_it_keeps_is_seen() -> None:
    trace = play_alone(read_scenario(CONFIRMED, "a world"), refunds).trace

    seen: list[Any] = list(trace)
    asked = [e.data["data"]["approved"] for e in seen if e.kind == "effect"]
    ran = [(e.call_id, e.data["arguments"]) for e in seen if e.kind == "tool_start"]
    first, last = (e.data for e in seen if e.kind == "run_end")
    assert asked == [True, False]
    assert ran == [("c1", '{"amount": 1}')]
    assert first["stored"]["artifacts"] == {
        "slip.txt": [{"mime_type": "text/plain", "text": "paid"}]
    }
    assert last["stored"]["state"]["user"] == {"refunded": 1}
    assert {each["author"] for each in last["stored"]["events"]} == {"user", "billing"}

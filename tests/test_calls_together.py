"""Worlds whose answers make several calls: who looks at one of them alone is told."""

from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import pytest

from compat.migration import judge
from refengine.testing.notation import parse_message
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subject_worlds.calls_together import (
    ABSENT,
    FAMILY,
    CallsSpoken,
    calls_together,
)
from refengine.testing.subject_worlds.unusual import Spoken, unusual
from refengine.testing.subject_worlds.words import Words
from tests.judging_support import judged_in, of_family


class Form(NamedTuple):
    """Both forms of an agent, with a gap for what it does around a call of a tool."""

    old: str
    new: str
    around: str


STRUCT = Form(
    """
from refengine import AgentMiddleware, ToolCallResult, ToolMiddleware, interrupt
{guard}
def subject(world):
    memo = {{}}
    def invokable(inner):
        async def call(ctx, input):
            return await guard(world, memo, ctx, input, inner)
        return call
    def before(ctx, state):
        memo.pop("answer", None)
    tools = ToolMiddleware(invokable, None)
    return [AgentMiddleware(before_chat_model=before, wrap_tool_call=tools)]
""",
    """
from refengine import ToolCallResult, interrupt
{guard}
def subject(world):
    memo = {{}}
    class Guard:
        name = "guard"
        def before_agent(self, ctx, config):
            config.instruction += "\\n"
            return ctx
        def before_model_rewrite_history(self, ctx, messages):
            memo.pop("answer", None)
            return ctx, messages
        async def wrap_invokable_tool_call(self, ctx, input, next):
            return await guard(world, memo, ctx, input, next)
    return [Guard()]
""",
    "async def guard(world, memo, ctx, input, next):",
)
GRAPH = Form(
    """
from langgraph.prebuilt import create_react_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from langchain_core.tools import tool
def subject(world):
    lc, memo = world.as_langchain(), {{}}
    @tool
    def delete_file(path: str) -> str:
        "Delete a file."
{guard}
    return create_react_agent(
        lc.model, [*lc.tools, delete_file], checkpointer=InMemorySaver()
    )
""",
    """
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from langchain_core.tools import tool
def subject(world):
    lc, memo = world.as_langchain(), {{}}
    @tool
    def delete_file(path: str) -> str:
        "Delete a file."
{guard}
    return create_agent(
        lc.model, [*lc.tools, delete_file], checkpointer=InMemorySaver()
    )
""",
    "",
)
REVIEWED = """
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
@tool
def pay(order: str, amount: int) -> str:
    "Give money back."
    return f"paid {{amount}} for {{order}}"
def review(state):
    refused = []
    for call in state["messages"][-1].tool_calls:
        asked = call["args"].get("amount")
        if call["name"] != "pay" or not isinstance(asked, int) or asked <= 100:
            continue
        if not interrupt({{"order": call["args"]["order"], "amount": asked}}):
            said = ToolMessage("refused", tool_call_id=call["id"])
            {guard}
    return {{"messages": refused}}
def subject(world):
    lc = world.as_langchain()
    tools, saver = [*lc.tools, pay], InMemorySaver()
"""
REVIEW = Form(
    f"""from langgraph.prebuilt import create_react_agent
{REVIEWED}
    return create_react_agent(
        lc.model, tools, post_model_hook=review, checkpointer=saver
    )
""",
    f"""from langchain.agents import create_agent
from langchain.agents.middleware import after_model
{REVIEWED}
    @after_model
    def reviews(state, runtime):
        return review(state)
    return create_agent(lc.model, tools, middleware=[reviews], checkpointer=saver)
""",
    "",
)
FLOW = Form(
    """
from compat.dialects.flow import LlmAgent
from compat.dialects.playing.flow_world import as_flow
{guard}
def subject(world):
    flow, memo = as_flow(world), {{}}
    def lookup(order: str):
        return {{"order": order}}
    def before(tool_context, tool, args):
        return guard(world, memo, tool, args)
    tools = [*flow.tools, lookup]
    return LlmAgent(name="desk", model=flow.model, tools=tools, before_tool=before)
""",
    """
from compat.dialects.flow import LlmAgent, Plugin
from compat.dialects.playing.flow_world import as_flow
{guard}
def subject(world):
    flow, memo = as_flow(world), {{}}
    def lookup(order: str):
        return {{"order": order}}
    def model(callback_context, llm_request):
        memo.clear()
    def before(tool_context, tool, args):
        return guard(world, memo, tool, args)
    agent = LlmAgent(name="desk", model=flow.model, tools=[*flow.tools, lookup])
    return agent, [Plugin(name="guard", before_model=model, before_tool=before)]
""",
    "def guard(world, memo, tool, args):",
)

APPROVED = """
    if input.name != "send_mail":
        return await next(ctx, input)
    {said}
    return await next(ctx, input) if said else ToolCallResult("refused")
"""
ASKED = 'said = interrupt({"tool": input.name, "arguments": input.arguments})'
ONCE = f"""
    if "answer" not in memo:
        {ASKED.replace("said", 'memo["answer"]')}
    said = memo["answer"]
"""
CACHED = """
    key = {key}
    if key not in memo:
        memo[key] = await next(ctx, input)
    return memo[key]
"""
DELETED = """
        if {said} != "yes":
            return "refused"
        world.effect("deleted", path)
        return path
"""
QUESTION = 'interrupt({"tool": "delete_file", "path": path})'
KEPT = f'memo.setdefault("said", memo.get("said") or {QUESTION})'
LOOKED = """
    if tool.name == "lookup"{only}:
        world.effect("looked", args)
    if tool.name != "lookup":
        memo["other"] = True
"""
PORTS = {
    "one answer for all calls that are asked about": (
        *(STRUCT, APPROVED.format(said=ASKED), APPROVED.format(said=ONCE.strip())),
        "wrong",
    ),
    "each call is asked about": (
        *(STRUCT, APPROVED.format(said=ASKED), APPROVED.format(said=ASKED)),
        "right",
    ),
    "a result that is kept by the tool's name": (
        STRUCT,
        CACHED.format(key="input.name, input.arguments"),
        *(CACHED.format(key="input.name"), "wrong"),
    ),
    "an own tool that asks once for two calls": (
        *(GRAPH, DELETED.format(said=QUESTION), DELETED.format(said=KEPT)),
        "wrong",
    ),
    "an own tool that asks for each call": (
        *(GRAPH, DELETED.format(said=QUESTION), DELETED.format(said=QUESTION)),
        "right",
    ),
    "an own tool that asks in a key that nobody reads": (
        GRAPH,
        DELETED.format(said=QUESTION),
        *(DELETED.format(said=QUESTION.replace("path", "file", 1)), "wrong"),
    ),
    "an own tool that says more when it asks": (
        GRAPH,
        DELETED.format(said=QUESTION),
        *(DELETED.format(said=QUESTION.replace("}", ', "why": "as asked"}')), "right"),
    ),
    "the last of two refusals alone, of calls that are asked about by what they cost": (
        *(REVIEW, "refused.append(said)", "refused = [said]"),
        "wrong",
    ),
    "each refusal of calls that are asked about by what they cost": (
        *(REVIEW, "refused.append(said)", "refused.append(said)"),
        "right",
    ),
    # In three of five seeds no world showed this, nor what is the other way round.
    "an own tool that does not count behind one of the world's": (
        FLOW,
        LOOKED.format(only=""),
        *(LOOKED.format(only=' and not memo.get("other")'), "wrong"),
    ),
    "an own tool beside any other": (
        *(FLOW, LOOKED.format(only=""), LOOKED.format(only="")),
        "right",
    ),
}


@pytest.mark.parametrize("which", PORTS)
def test_who_takes_one_call_of_an_answer_for_all_of_them_diverges(
    tmp_path: Path, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "TRIES_IN_A_FOLDER", 1)  # nobody reads the world
    form, *guards, port = PORTS[which]
    bodies = [f"{form.around}{x}" if form.around else x.strip("\n") for x in guards]
    old, new = (
        text.format(guard=body) for text, body in zip(form[:2], bodies, strict=True)
    )
    seed = len(which) % 5
    verdict = judged_in(of_family(FAMILY), tmp_path, old, new, seed=seed)

    assert verdict.fault is None
    assert verdict.sufficient == (port == "right")


EVERY = CallsSpoken(makes=True, wraps=True, asks=True, direct=True)


@pytest.mark.parametrize("by_number", [True, False])
def test_each_kind_of_call_stands_on_both_sides_of_each_other(by_number: bool) -> None:
    worlds = [w for _, w in calls_together(Words(), EVERY, by_number=by_number)]
    answers = [
        [_kind(call.name, call.arguments) for call in parse_message(each).tool_calls]
        for world in worlds
        for each in world["model_script"]
    ]
    kinds = {"own", "unfit"} if by_number else {"direct", "unfit"}
    pairs = permutations(["world", "unknown", *kinds], 2)

    assert all([*pair] in answers for pair in pairs)
    assert all([kind, kind] in answers for kind in ("world", *kinds))


def _kind(name: str, arguments: str) -> str:
    if name == ABSENT:
        return "unknown"
    if "unfit" in arguments or arguments == "not json":
        return "unfit"
    return "own" if name.startswith("<own") else name if name == "direct" else "world"


def test_answer_that_fits_a_schema_stands_on_both_sides_of_a_call() -> None:
    words = Words(typical_answers=(("Reply", '{"text": "a"}'),))

    made = calls_together(words, CallsSpoken.of(["tool("]), by_number=True)

    answers = [
        [call.name for call in parse_message(each).tool_calls]
        for _, world in made
        for each in world["model_script"]
    ]
    assert ["Reply", "<own 0>"] in answers
    assert ["<own 0>", "Reply"] in answers


def test_who_says_nothing_of_calls_has_no_such_worlds() -> None:
    assert not [*calls_together(Words(), CallsSpoken(), by_number=False)]
    assert CallsSpoken.of(["x = 1"]) == CallsSpoken()


def test_such_worlds_are_ordinary_ones() -> None:
    spoken = Spoken.of(["@tool(return_direct=True)", "interrupt(x)"])
    worlds = [*calls_together(Words(), spoken.calls, by_number=False)]

    assert worlds
    assert [unusual(read_scenario(w, "t"), spoken) for _, w in worlds] == [None] * len(
        worlds
    )

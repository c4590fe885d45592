"""What was reported in public about ports, each with the verdict that is right."""

from collections.abc import Sequence
from pathlib import Path

from compat.migration.check import check_all, code_of
from compat.migration.corpus import Corpus, MigrationWorld
from compat.migration.judge import Terms
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.report.migration import lines
from compat.verdicts.migration import Migration
from refengine.testing.scenario_files import read_scenario

FAILS = {
    "agent": {"tools": [{"name": "look", "error": "boom"}]},
    "model_script": ["assistant:[c1:look({})]", "assistant:done"],
    "runs": [{"input": ["user:hi"]}],
}
TURNS = {
    "agent": {"tools": [{"name": "look", "result": "r"}, {"name": "see"}]},
    "model_script": [
        "assistant:[c1:look({})]",
        "assistant:done",
        "assistant:[c2:see({})]",
        "assistant:done",
    ],
    "runs": [{"input": ["user:hi"]}, {"input": ["user:more"], "continues": True}],
}
COUNTS = """
from collections import Counter
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState

class State(AgentState):
    used: Counter

def subject(world):
    lc = world.as_langchain()

    def count(state):
        used = MADE
        for call in getattr(state["messages"][-1], "tool_calls", ()):
            used[call["name"]] += 1
        world.effect("used", dict(used))
        return {"used": used}

    return create_react_agent(
        lc.model, lc.tools, post_model_hook=count, state_schema=State, MORE
    )
"""
COPIED = 'Counter(state.get("used") or {})'
AS_IT_IS = 'state.get("used") or Counter()'
SAVER = "checkpointer=InMemorySaver()"
CHAIN = """
from langchain_core.runnables import RunnableLambda

def subject(world):
    return RunnableLambda(world.as_langchain().model.invoke)
"""


REVIEWED = """
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

@tool
def refund(order: str) -> str:
    "Pay money back."
    return "refunded " + order

def review(state):
    last = state["messages"][-1]
    if not isinstance(last, AIMessage) or not last.tool_calls:
        return {"messages": []}
    refused = [
        ToolMessage("no", tool_call_id=call["id"], name=call["name"])
        for call in last.tool_calls
        if not interrupt({"call_id": call["id"]})
    ]
    return {"messages": refused}
"""
REVIEWS = """
from langgraph.prebuilt import create_react_agent
from reviewed import InMemorySaver, refund, review

def subject(world):
    return create_react_agent(
        world.as_langchain().model,
        [refund],
        post_model_hook=review,
        checkpointer=InMemorySaver(),
    )
"""
JUMPS = """
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, hook_config
from reviewed import AIMessage, InMemorySaver, refund, review

class Review(AgentMiddleware):
    def after_model(self, state, runtime):
        return review(state)

class Note(AgentMiddleware):
    @hook_config(can_jump_to=["tools"])
    def after_model(self, state, runtime):
        last = [m for m in state["messages"] if isinstance(m, AIMessage)][-1]
        return {"jump_to": "tools"} if JUMP and last.tool_calls else None

def subject(world):
    return create_agent(
        world.as_langchain().model,
        [refund],
        middleware=[Note(), Review()],
        checkpointer=InMemorySaver(),
    )
"""
DENIES = {
    "agent": {},
    "model_script": ['assistant:[c1:<own 0>({"string": "a"})]', "assistant:done"],
    "runs": [
        {
            "input": ["user:hi"],
            "denies": ["c1"],
            "replies": [{"kind": "no", "value": False}],
        }
    ],
}


def counting(made: str, more: str = "") -> str:
    """Return a subject that counts calls in its state."""
    return COUNTS.replace("MADE", made).replace("MORE", more)


def judged(
    folder: Path, old: str, new: str, given: Sequence[object] = (FAILS, TURNS)
) -> Migration:
    """Return the verdict of two files of these texts in a few worlds."""
    refs = []
    for name, text in (("old", old), ("new", new)):
        (folder / f"{name}.py").write_text(text, "utf-8")
        refs.append(parse_ref(f"{folder}/{name}.py"))
    worlds = [read_scenario(each, "a world") for each in given]
    made = tuple(MigrationWorld(each, "by hand", fixed=True) for each in worlds)
    sides = {"new": (refs[1], Terms())}
    corpus = Corpus(made, 0, slow=True)
    found = check_all(refs[0], sides, corpus, CheckOptions(), explain=True)
    return found["new"].verdict


def test_a_checkpointer_alone_changes_nothing_for_its_callers(tmp_path: Path) -> None:
    verdict = judged(tmp_path, counting(COPIED), counting(COPIED, SAVER))

    assert verdict.sufficient


def test_a_value_that_comes_back_as_another_type_is_found(tmp_path: Path) -> None:
    verdict = judged(tmp_path, counting(AS_IT_IS), counting(AS_IT_IS, SAVER))

    assert code_of(verdict) == 1
    assert verdict.failures["new"]


def test_a_tool_that_runs_against_a_no_is_told_first(tmp_path: Path) -> None:
    (tmp_path / "reviewed.py").write_text(REVIEWED, "utf-8")
    wrong = JUMPS.replace("JUMP and", "True and")

    verdict = judged(tmp_path, REVIEWS, wrong, [DENIES])
    report = " ".join(" ".join(map(str, lines(verdict))).split())

    assert verdict.divergence is not None
    assert verdict.divergence.code == "AGAINST_NO"
    assert "although the person said no." in report
    assert "person_denies" in report


def test_a_review_that_nothing_jumps_past_holds(tmp_path: Path) -> None:
    (tmp_path / "reviewed.py").write_text(REVIEWED, "utf-8")
    right = JUMPS.replace("JUMP and", "False and")

    verdict = judged(tmp_path, REVIEWS, right, [DENIES])

    assert verdict.sufficient


def test_a_chain_is_no_graph_and_may_be_judged_as_a_program(tmp_path: Path) -> None:
    verdict = judged(tmp_path, CHAIN, counting(COPIED))
    report = str(next(lines(verdict)))

    assert code_of(verdict) == 2
    assert "RunnableLambda is no graph" in report
    assert "--old-cmd" in report

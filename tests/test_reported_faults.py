"""What was reported in public about ports, each with the verdict that is right."""

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


def counting(made: str, more: str = "") -> str:
    """Return a subject that counts calls in its state."""
    return COUNTS.replace("MADE", made).replace("MORE", more)


def judged(folder: Path, old: str, new: str) -> Migration:
    refs = []
    for name, text in (("old", old), ("new", new)):
        (folder / f"{name}.py").write_text(text, "utf-8")
        refs.append(parse_ref(f"{folder}/{name}.py"))
    worlds = [read_scenario(each, "a world") for each in (FAILS, TURNS)]
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


def test_a_chain_is_no_graph_and_may_be_judged_as_a_program(tmp_path: Path) -> None:
    verdict = judged(tmp_path, CHAIN, counting(COPIED))
    report = str(next(lines(verdict)))

    assert code_of(verdict) == 2
    assert "RunnableLambda is no graph" in report
    assert "--old-cmd" in report

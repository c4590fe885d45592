"""Migrations of graphs, judged on the real frameworks, each side in its child."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compat.migration.check import check_all, corpus_of
from compat.migration.judge import Terms
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions

OLD = """
from langgraph.prebuilt import create_react_agent

def plain(world):
    face = world.as_langchain()
    return create_react_agent(face.model, face.tools, prompt=face.system_prompt)

def older(world, hook):
    face = world.as_langchain()
    return create_react_agent(
        face.model, face.tools, prompt=face.system_prompt, pre_model_hook=hook
    )

def trims(world):
    return older(world, lambda state: {"llm_input_messages": state["messages"][-3:]})

def only_async(world):
    async def hook(state):
        return {"llm_input_messages": state["messages"][-3:]}
    return older(world, hook)
"""
NEWER = """
from langchain.agents import create_agent
from langchain.agents.middleware import before_model, wrap_model_call
from langchain_core.messages import RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

def newer(world, *middleware, **more):
    face = world.as_langchain()
    return create_agent(
        face.model,
        face.tools,
        system_prompt=face.system_prompt,
        middleware=middleware,
        **more,
    )

def plain(world):
    return newer(world)

def persists(world):
    @before_model
    def trim(state, runtime):
        kept = state["messages"][-3:]
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]}
    return newer(world, trim)
"""
"""A port to create_agent, with the middleware that it is given."""
NEW = (
    NEWER
    + """
def trims(world):
    @wrap_model_call
    def trim(request, handler):
        return handler(request.override(messages=request.messages[-3:]))
    return newer(world, trim)

def only_async(world):
    @wrap_model_call
    async def trim(request, handler):
        return await handler(request.override(messages=request.messages[-3:]))
    return newer(world, trim)
"""
)


SHARE = 4
"""One world of so many; CI judges a folder of such ports in all of them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("graphs")
    (made / "old.py").write_text(OLD)
    (made / "new.py").write_text(NEW)
    return made


def judged(folder: Path, old: str, new: str) -> Any:
    refs = [
        parse_ref(f"{folder}/{name}") for name in (f"old.py:{old}", f"new.py:{new}")
    ]
    how = CheckOptions(examples=8)
    corpus = corpus_of(refs, how)
    corpus = replace(corpus, worlds=corpus.worlds[::SHARE])
    news = {"new": (refs[1], Terms())}
    return check_all(refs[0], news, corpus, how, explain=True)["new"].verdict


def test_agents_without_middleware_do_the_same(folder) -> None:
    verdict = judged(folder, "plain", "plain")

    assert (verdict.holds, verdict.fault) == ("identical", None)
    assert set(verdict.exercise["new"].hooks) == {"node model", "node tools"}
    assert set(verdict.exercise["new"].frameworks) >= {"langchain", "langgraph"}


def test_port_that_can_no_longer_be_run_async_is_found_with_the_reason(folder) -> None:
    verdict = judged(folder, "trims", "trims")

    assert (verdict.holds, verdict.divergence.code) == ("same-state", "WAY_LOST")
    ((side, cause),) = verdict.divergence.causes
    assert side == "new"
    assert cause.startswith("no async run: Asynchronous implementation of")
    assert verdict.exercise["old"].ways == ("async", "sync")
    assert verdict.exercise["new"].ways == ("sync",)


def test_port_that_persists_what_was_for_the_model_alone_is_found(folder) -> None:
    verdict = judged(folder, "trims", "persists")

    assert verdict.holds == "same-answer"
    assert verdict.divergence.code in {
        "STATE_LOST",
        "PAIRING",
    }  # calls or their results
    assert len(verdict.world.model_script) <= 3


def test_port_that_cannot_be_run_in_the_only_way_there_was_is_found(folder) -> None:
    verdict = judged(folder, "only_async", "trims")

    assert not verdict.sufficient
    assert verdict.divergence.difference.channel in {
        "errors",
        "model_calls",
        "requests",
    }


def test_port_in_the_only_way_there_was_is_not_accused(folder) -> None:
    verdict = judged(folder, "only_async", "only_async")

    assert verdict.holds == "identical"

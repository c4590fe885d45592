"""Generated Flow worlds: small trees of agents with tools, hooks, sessions and turns.

They know the domain: tools that fail the nth time, models that fail, answers in
chunks, replies after a transfer, confirmations that are answered yes and no, initial
state. Each is about something (``themes.py``). What comes first in a choice is the
plainest, so that failures shrink to it. Needs the extra ``testing``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from compat.engines.flow.drawn_hooks import (
    KEYS,
    drawn_callbacks,
    drawn_plugins,
    drawn_processors,
    state_ops,
)
from compat.engines.flow.operations import AGENT_HOOKS, CALLBACKS
from compat.engines.flow.scenario import FlowScenario
from compat.engines.flow.themes import THEMES, FlowTheme

Doc: TypeAlias = "dict[str, Any]"
Draw: TypeAlias = Any  # what a composite strategy draws with

TEXTS: Final = ("a", "b", "Ünï")
TRANSFER: Final = "transfer_to_agent"
SCHEMA: Final[Doc] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
}

_KEY: Final = re.compile(r"\bx\b")
_OUTCOMES: Final[Sequence[Doc]] = (
    *({"result": each} for each in ({"v": 1}, "text", {}, None, [1])),
    {"error": "broken"},
)
_CUTS: Final = (("h", "i"), ("hi",), ("h", "", "i"), ("h", "i", "!"))
_OF_KIND: Final[dict[str, Sequence[Doc]]] = {
    "late": [{"result": each} for each in (None, {}, {"v": 0})],
    "fails": [{"error": "broken"}],
    "bare": [{"result": each} for each in ("text", [1], 0, True)],
}
"""The outcomes of tools of a kind; others have any."""


def flow_worlds(
    themes: Sequence[FlowTheme] = THEMES,
) -> st.SearchStrategy[FlowScenario]:
    """Return what draws scenarios of any shape, about any of these."""
    documents = _documents(st.sampled_from(themes))
    return documents.map(lambda doc: FlowScenario.model_validate(doc, strict=False))


@st.composite
def _documents(draw: Draw, themes: st.SearchStrategy[FlowTheme]) -> Doc:
    theme: FlowTheme = draw(themes)
    agent = draw(_trees(theme))
    if theme.instructions and draw(_rarely()):
        agent |= {"global_instruction": "House rules."} if _asks(agent) else {}
    names = sorted({tool["name"] for tool in _tools_of(agent) if "name" in tool})
    sessions: Doc = {"s": {"state": draw(_states(theme.least_state))}}
    if draw(st.integers(0, 3)) == 1:
        sessions["z"] = {"user": draw(st.sampled_from(("u", "w")))}
    return {
        "agent": agent,
        "plugins": []
        if agent.get("kind") == "parallel"
        else draw(drawn_plugins(theme)),
        "sessions": sessions,
        "turns": draw(_turns(theme, tuple(sessions), names)),
    }


def _asks(agent: Doc) -> bool:
    return bool(agent.get("kind", "llm") == "llm")


def _tools_of(agent: Doc) -> Sequence[Doc]:
    found = list(agent.get("tools", ()))
    for each in agent.get("sub_agents", ()):
        found.extend(_tools_of(each))
    return found


def _states(least: int) -> st.SearchStrategy[Doc]:
    values = st.sampled_from(("a", 0, 1, None, [1], {"k": "v"}))
    keys = st.sampled_from(KEYS[:3])
    return st.dictionaries(keys, values, min_size=least, max_size=max(least, 2))


@st.composite
def _trees(draw: Draw, theme: FlowTheme) -> Doc:
    shape = draw(st.sampled_from(theme.shapes))
    if shape in {"one", "family"}:
        one = _agents(theme, "a", ()) if shape == "one" else _families(theme)
        plain: Doc = draw(one)
        return plain
    if shape == "tool":
        agent: Doc = draw(_agents(theme, "a", (), calls=("b",)))
        inner = draw(_agents(theme, "b", ()))
        tool = {"agent": inner, "skip_summarization": draw(_rarely())}
        agent["tools"].append(tool)
        return agent
    workflow: Doc = draw(_workflows(theme))
    return workflow


@st.composite
def _workflows(draw: Draw, theme: FlowTheme) -> Doc:
    kind = draw(st.sampled_from(("sequential", "loop", "parallel")))
    names = ("a", "b")[: draw(st.integers(1, 2))]
    below = [draw(_agents(theme, name, ())) for name in names]
    made: Doc = {"name": "w", "kind": kind, "sub_agents": below}
    if kind == "loop":
        made["max_iterations"] = draw(st.integers(1, 2))
    made["callbacks"] = draw(drawn_callbacks(theme, AGENT_HOOKS))
    if kind == "parallel":
        made["sub_agents"] = [_with_own_state(each) for each in below]
    return made


def _with_own_state(agent: Doc) -> Doc:
    """Return an agent that shares no state with others: what they see is luck."""
    own: Doc = json.loads(_KEY.sub(f"x_{agent['name']}", json.dumps(agent)))
    return own


@st.composite
def _families(draw: Draw, theme: FlowTheme) -> Doc:
    """Draw an agent with one or two below it, all of which may hand over."""
    names = ("a", "b", "c")[: draw(st.integers(2, 3))]
    family: list[Doc] = [draw(_agents(theme, each, names)) for each in names]
    root, *below = family
    root["sub_agents"] = below
    return root


def _rarely() -> st.SearchStrategy[bool]:
    return st.integers(0, 5).map(lambda number: number == 1)


@st.composite
def _agents(
    draw: Draw,
    theme: FlowTheme,
    name: str,
    family: Sequence[str],
    calls: Sequence[str] = (),
) -> Doc:
    tools: list[Doc] = draw(_tool_sets(theme, name))
    called = (*(each["name"] for each in tools), *calls)
    agent: Doc = {
        "name": name,
        "instruction": draw(st.sampled_from(theme.instructions)),
        "tools": tools,
        "script": draw(_scripts(theme, name, called, family)),
        "callbacks": draw(drawn_callbacks(theme, CALLBACKS)),
    }
    if theme.structured:
        agent |= {"output_schema": SCHEMA, "model": "other"}
    if theme.processes:
        agent["processors"] = draw(drawn_processors())
    if draw(_rarely()):
        agent["include_contents"] = "none"
    if draw(_rarely()):
        agent["output_key"] = "said"
    if family and draw(_rarely()):
        agent["disallow_transfer_to_peers"] = True
    return agent


@st.composite
def _tool_sets(draw: Draw, theme: FlowTheme, agent: str) -> list[Doc]:
    tools: list[Doc] = draw(
        st.lists(
            _tools(theme, agent),
            min_size=min(theme.least_tools, len(set(theme.tools))),
            max_size=max(2, theme.least_tools),
            unique_by=lambda each: each["name"],
        )
    )
    twin = theme.twins and draw(st.booleans())
    return [*tools, {**tools[0], "outcomes": [{"result": {"v": 2}}]}] if twin else tools


@st.composite
def _tools(draw: Draw, theme: FlowTheme, agent: str) -> Doc:
    kind = draw(st.sampled_from(theme.tools))
    outcomes = st.sampled_from(_OF_KIND.get(kind, _OUTCOMES))
    most = 1 if kind == "late" else 2
    tool: Doc = {
        "name": f"{kind}_{agent}",
        "outcomes": draw(st.lists(outcomes, min_size=1, max_size=most)),
    }
    if kind == "asks":
        tool["needs_confirmation"] = True
    elif kind == "late":
        tool["long_running"] = True
    tool["do"] = draw(_doing(kind))
    return tool


def _doing(kind: str) -> st.SearchStrategy[list[Doc]]:
    """Draw what a tool of a kind does before its result."""
    if kind in {"asks", "fails", "bare"}:
        return st.just([])
    if kind == "flags":
        flags = [{"op": "skip_summarization", "value": each} for each in (False, True)]
        return st.sampled_from(flags).map(lambda each: [each])
    if kind == "state":
        value = st.sampled_from(({"k": 1}, {"m": 2}, "v"))
        return value.map(
            lambda each: [{"op": "write_state", "key": "x", "value": each}]
        )
    asked = [{"op": "ask_confirmation", "hint": "sure?"}] if kind == "confirms" else []
    return st.lists(_of_tool(), max_size=2).map(lambda todo: [*asked, *todo])


def _of_tool() -> st.SearchStrategy[Doc]:
    others: Sequence[Doc] = (
        {"op": "skip_summarization", "value": True},
        {"op": "escalate", "value": True},
        {"op": "save_artifact", "name": "f", "text": "one"},
    )
    return st.one_of(state_ops(), st.sampled_from(others))


@st.composite
def _scripts(
    draw: Draw, theme: FlowTheme, name: str, tools: Sequence[str], family: Sequence[str]
) -> list[Doc]:
    least = 1 if len(theme.answers) < len(THEMES[0].answers) else 0
    answers = st.lists(_answers(theme, tools, family), min_size=least, max_size=3)
    script: list[Doc] = [*draw(answers), {"text": draw(st.sampled_from(TEXTS))}]
    return _with_ids(script, name) if draw(st.booleans()) else script


def _with_ids(script: Sequence[Doc], name: str) -> list[Doc]:
    """Return answers whose calls have ids of the model's own."""
    return [
        {
            **answer,
            "calls": [
                {**call, "id": f"{name}{at}.{place}"}
                for place, call in enumerate(answer["calls"])
            ],
        }
        if "calls" in answer
        else answer
        for at, answer in enumerate(script)
    ]


@st.composite
def _answers(
    draw: Draw, theme: FlowTheme, tools: Sequence[str], family: Sequence[str]
) -> Doc:
    possible = [each for each in theme.answers if "call" not in each or tools]
    possible = [each for each in possible if "transfer" not in each or family]
    kind = draw(st.sampled_from(possible or ("text",)))
    if kind in {"call", "calls", "partial calls"}:
        many = 1 if kind == "call" else 2
        names = draw(st.lists(st.sampled_from(tools), min_size=many, max_size=many))
        args = {"request": "r"} if "b" in names else {}
        made = [{"name": each, "args": dict(args)} for each in names]
        return {"calls": made} if kind != "partial calls" else _partial(calls=made)
    if kind in {"transfer", "transfers"}:
        most = 1 if kind == "transfer" else 2
        targets = st.sampled_from((*family, "ghost"))
        names = draw(st.lists(targets, min_size=most, max_size=most))
        return {"calls": [{"name": TRANSFER, "args": {"agent_name": x}} for x in names]}
    if kind == "chunks":
        cut = draw(st.sampled_from(_CUTS))
        *first, last = [{"text": each} for each in cut]
        return {"chunks": [*first, {**last, "finish_reason": "STOP"}]}
    return {"text": {"text": draw(st.sampled_from(TEXTS))}, **_PLAIN}[kind]


def _partial(**said: Any) -> Doc:  # noqa: ANN401  # fields of an answer
    """Return an answer that a model gives in two responses, the first a piece."""
    return {"responses": [{**said, "partial": True}, {"text": "done"}]}


_PLAIN: Final[dict[str, Doc]] = {
    "thought": {"parts": [{"text": "hm", "thought": True}, {"text": "so"}]},
    "error": {"error": "model down"},
    "code": {"error_code": "SAFETY", "error_message": "no"},
    "unknown": {"calls": [{"name": "ghost"}]},
    "answer": {"calls": [{"name": "set_model_response", "args": {"answer": "yes"}}]},
    "bytes": {"chunks": [{"text": "h"}, {"parts": [{"blob": "b"}]}, {"text": "i"}]},
    "partial": {"responses": [{"text": "h", "partial": True}]},
    "nothing": {"responses": [{"usage": 1}, {"text": "so"}]},
}
"""Answers that are always the same."""


@st.composite
def _turns(
    draw: Draw, theme: FlowTheme, sessions: Sequence[str], tools: Sequence[str]
) -> list[Doc]:
    asking = [each for each in tools if each.startswith(("asks", "confirms"))]
    late = [each for each in tools if each.startswith("late")]
    forms = [
        *(["text"] if "text" in theme.forms or not asking else []),
        *(["confirms"] * 3 if asking and "confirms" in theme.forms else []),
        *(["late"] if late and "late" in theme.forms else []),
    ]
    turns: list[Doc] = []
    for _ in range(draw(st.integers(1, 3))):
        turn: Doc = {"session": draw(st.sampled_from(sessions))}
        form = draw(st.sampled_from(forms)) if turns else "text"
        if form == "text":
            turn["text"] = draw(st.sampled_from(TEXTS))
        elif form == "confirms":
            answer = {"confirmed": draw(st.booleans()), "wrapped": draw(_rarely())}
            of = draw(st.sampled_from(("*", *asking)))
            turn["confirms"] = [{"of": of, **answer}]
        else:
            turn["late"] = [{"of": draw(st.sampled_from(late)), "result": {"v": 9}}]
        turn["stream"] = draw(st.booleans() if theme.streams else _rarely())
        turn["fresh"] = draw(_rarely())
        turns.append(turn)
    return turns

"""Generated Flow worlds: small trees of agents with tools, hooks, sessions and turns.

They know the domain: tools that fail the nth time, models that fail, answers in chunks,
replies after a transfer, confirmations that are answered yes and no, initial state.
What comes first in a choice is the plainest, so that failures shrink to it. Needs the
extra ``testing``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from compat.engines.flow.operations import AGENT_HOOKS, CALLBACKS, OF_HOOK, RUN_HOOKS
from compat.engines.flow.scenario import FlowScenario

Doc: TypeAlias = "dict[str, Any]"
Draw: TypeAlias = Any  # what a composite strategy draws with

KEYS: Final = ("x", "app:x", "user:x", "temp:x")
TEXTS: Final = ("a", "b", "Ünï")
TRANSFER: Final = "transfer_to_agent"

_INSTRUCTIONS: Final = ("", "Be brief.", "Say {x?}.", "Say {x}.", "{app:x?} {{x?}} {}")


_KEY: Final = re.compile(r"\bx\b")
_OF_STATE: Final = ("count_state", "read_state")
_OUTCOMES: Final[Sequence[Doc]] = (
    *({"result": each} for each in ({"v": 1}, "text", {}, None, [1])),
    {"error": "broken"},
)


def flow_worlds() -> st.SearchStrategy[FlowScenario]:
    """Return what draws scenarios of any shape."""
    return _documents().map(lambda doc: FlowScenario.model_validate(doc, strict=False))


@st.composite
def _documents(draw: Draw) -> Doc:
    agent = draw(_trees())
    names = sorted({tool["name"] for tool in _tools_of(agent) if "name" in tool})
    sessions: Doc = {"s": {"state": draw(_states())}}
    if draw(st.integers(0, 3)) == 1:
        sessions["z"] = {"user": draw(st.sampled_from(("u", "w")))}
    return {
        "agent": agent,
        "plugins": [] if agent.get("kind") == "parallel" else draw(_plugins()),
        "sessions": sessions,
        "turns": draw(_turns(tuple(sessions), names)),
    }


def _tools_of(agent: Doc) -> Sequence[Doc]:
    found = list(agent.get("tools", ()))
    for each in agent.get("sub_agents", ()):
        found.extend(_tools_of(each))
    return found


def _states() -> st.SearchStrategy[Doc]:
    values = st.sampled_from((0, 1, "a", None, [1], {"k": "v"}))
    return st.dictionaries(st.sampled_from(KEYS[:3]), values, max_size=2)


@st.composite
def _trees(draw: Draw) -> Doc:
    shape = draw(st.sampled_from(("one", "one", "family", "workflow", "tool")))
    if shape in {"one", "family"}:
        plain: Doc = draw(_agents("a", ()) if shape == "one" else _families())
        return plain
    if shape == "tool":
        agent: Doc = draw(_agents("a", (), calls=("b",)))
        tool = {"agent": draw(_agents("b", ())), "skip_summarization": draw(_rarely())}
        agent["tools"].append(tool)
        return agent
    kind = draw(st.sampled_from(("sequential", "loop", "parallel")))
    below = [draw(_agents(name, ())) for name in ("a", "b")[: draw(st.integers(1, 2))]]
    made: Doc = {"name": "w", "kind": kind, "sub_agents": below}
    if kind == "loop":
        made["max_iterations"] = draw(st.integers(1, 2))
    made["callbacks"] = draw(_callbacks(AGENT_HOOKS))
    if kind == "parallel":
        made["sub_agents"] = [_with_own_state(each) for each in below]
    return made


def _with_own_state(agent: Doc) -> Doc:
    """Return an agent that shares no state with others: what they see is luck."""
    own: Doc = json.loads(_KEY.sub(f"x_{agent['name']}", json.dumps(agent)))
    return own


@st.composite
def _families(draw: Draw) -> Doc:
    """Draw an agent with one or two below it, all of which may hand over."""
    names = ("a", "b", "c")[: draw(st.integers(2, 3))]
    family: list[Doc] = [draw(_agents(each, names)) for each in names]
    root, *below = family
    root["sub_agents"] = below
    return root


def _rarely() -> st.SearchStrategy[bool]:
    return st.integers(0, 5).map(lambda number: number == 1)


@st.composite
def _agents(
    draw: Draw, name: str, family: Sequence[str], calls: Sequence[str] = ()
) -> Doc:
    tools = draw(st.lists(_tools(name), max_size=2, unique_by=lambda x: x["name"]))
    called = (*(each["name"] for each in tools), *calls)
    agent: Doc = {
        "name": name,
        "instruction": draw(st.sampled_from(_INSTRUCTIONS)),
        "tools": tools,
        "script": draw(_scripts(called, family)),
        "callbacks": draw(_callbacks(CALLBACKS)),
    }
    if draw(_rarely()):
        agent["include_contents"] = "none"
    if draw(_rarely()):
        agent["output_key"] = "said"
    if family and draw(_rarely()):
        agent["disallow_transfer_to_peers"] = True
    return agent


@st.composite
def _tools(draw: Draw, agent: str) -> Doc:
    kind = draw(st.sampled_from(("plain", "plain", "asks", "late", "confirms")))
    tool: Doc = {"name": f"{kind}_{agent}"}
    outcomes = st.lists(st.sampled_from(_OUTCOMES), min_size=1, max_size=2)
    tool["outcomes"] = draw(outcomes)
    if kind == "asks":
        tool["needs_confirmation"] = True
    elif kind == "late":
        tool["long_running"] = True
        tool["outcomes"] = [{"result": draw(st.sampled_from((None, {}, {"v": 0})))}]
    todo = draw(st.lists(_of_tool(), max_size=2))
    asked = [{"op": "ask_confirmation", "hint": "sure?"}] if kind == "confirms" else []
    tool["do"] = [*asked, *todo]
    return tool


def _of_tool() -> st.SearchStrategy[Doc]:
    return st.one_of(
        _writes(),
        st.sampled_from(
            (
                {"op": "skip_summarization", "value": True},
                {"op": "escalate", "value": True},
                {"op": "save_artifact", "name": "f", "text": "one"},
            )
        ),
    )


def _writes() -> st.SearchStrategy[Doc]:
    ops: list[Doc] = [{"op": op, "key": key} for op in _OF_STATE for key in KEYS]
    ops.extend({"op": "write_state", "key": key, "value": ["w"]} for key in KEYS)
    return st.sampled_from(ops)


@st.composite
def _scripts(draw: Draw, tools: Sequence[str], family: Sequence[str]) -> list[Doc]:
    answers = st.lists(_answers(tools, family), max_size=3)
    return [*draw(answers), {"text": draw(st.sampled_from(TEXTS))}]


@st.composite
def _answers(draw: Draw, tools: Sequence[str], family: Sequence[str]) -> Doc:
    kinds = ["text", "chunks", "thought", "error", "code", "unknown"]
    kinds[1:1] = ["call", "call", "calls"] if tools else []
    kinds[1:1] = ["transfer", "transfer"] if family else []
    kind = draw(st.sampled_from(kinds))
    if kind in {"call", "calls"}:
        most = 1 if kind == "call" else 2
        names = draw(st.lists(st.sampled_from(tools), min_size=1, max_size=most))
        args = {"request": "r"} if "b" in names else {}
        return {"calls": [{"name": each, "args": dict(args)} for each in names]}
    if kind == "transfer":
        target = draw(st.sampled_from((*family, "ghost")))
        return {"calls": [{"name": TRANSFER, "args": {"agent_name": target}}]}
    return {
        "text": {"text": draw(st.sampled_from(TEXTS))},
        "chunks": {"chunks": [{"text": "h"}, {"text": "i", "finish_reason": "STOP"}]},
        "thought": {"parts": [{"text": "hm", "thought": True}, {"text": "so"}]},
        "error": {"error": "model down"},
        "code": {"error_code": "SAFETY", "error_message": "no"},
        "unknown": {"calls": [{"name": "ghost"}]},
    }[kind]


def _callbacks(hooks: Sequence[str]) -> st.SearchStrategy[Doc]:
    return st.lists(st.sampled_from(hooks), max_size=2, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries(
            {each: st.lists(_todo(each), min_size=1, max_size=2) for each in chosen}
        )
    )


def _plugins() -> st.SearchStrategy[list[Doc]]:
    hooks = (*RUN_HOOKS, *CALLBACKS)
    chosen = st.lists(st.sampled_from(hooks), max_size=3, unique=True)
    todo = chosen.flatmap(
        lambda names: st.fixed_dictionaries({each: _todo(each) for each in names})
    )
    return st.lists(todo, max_size=2).map(
        lambda made: [{"name": f"p{at}", "hooks": each} for at, each in enumerate(made)]
    )


def _todo(hook: str) -> st.SearchStrategy[list[Doc]]:
    """Draw what a hook does: mostly nothing that ends it."""
    return st.lists(_ops(hook), max_size=2)


def _ops(hook: str) -> st.SearchStrategy[Doc]:
    given = {"result": {"from": hook}} if "tool" in hook else {"text": f"from {hook}"}
    ops: list[st.SearchStrategy[Doc]] = [
        st.just({"op": "return", "on_call": 1, **given}),
        st.just({"op": "raise", "text": f"{hook} fails", "on_call": 2}),
    ]
    if "write_state" in OF_HOOK[hook]:
        ops[:0] = [_writes(), _writes()]
    if "edit_request" in OF_HOOK[hook]:
        ops.append(st.just({"op": "edit_request", "append_instruction": "More."}))
    if "edit_args" in OF_HOOK[hook]:
        ops.append(st.just({"op": "edit_args", "values": {"y": 1}}))
    return st.one_of(ops)


@st.composite
def _turns(draw: Draw, sessions: Sequence[str], tools: Sequence[str]) -> list[Doc]:
    turns: list[Doc] = []
    asking = [each for each in tools if each.startswith(("asks", "confirms"))]
    late = [each for each in tools if each.startswith("late")]
    for _ in range(draw(st.integers(1, 3))):
        turn: Doc = {"session": draw(st.sampled_from(sessions))}
        forms = [
            "text",
            *(["confirms"] * 3 if asking else []),
            *(["late"] if late else []),
        ]
        form = draw(st.sampled_from(forms)) if turns else "text"
        if form == "text":
            turn["text"] = draw(st.sampled_from(TEXTS))
        elif form == "confirms":
            answer = {"confirmed": draw(st.booleans()), "wrapped": draw(_rarely())}
            turn["confirms"] = [{"of": draw(st.sampled_from((*asking, "*"))), **answer}]
        else:
            turn["late"] = [{"of": draw(st.sampled_from(late)), "result": {"v": 9}}]
        turn["stream"] = draw(_rarely())
        turn["fresh"] = draw(_rarely())
        turns.append(turn)
    return turns

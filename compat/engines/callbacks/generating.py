"""Generated worlds of sessions with callbacks: clients, listeners, sessions, failures.

They know the domain: tools that fail, models that fail, callbacks that raise, states
that a client loads, clients that come and go. What comes first in a choice is the
plainest, so that failures shrink to it. Needs the extra ``testing``.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from compat.dialects.callbacks import CALLBACK_TYPES
from compat.engines.callbacks.scenario import CallbacksScenario

Doc: TypeAlias = "dict[str, Any]"
Draw: TypeAlias = Any  # what a composite strategy draws with

TYPES: Final = tuple(CALLBACK_TYPES)
SHARED: Final = ("on_agent_step", "on_tool_execution_end", "on_error")
OLD: Final = ("on_agent_step", "on_tool_call_start")
TEXTS: Final = ("a", "b ", "Ünï", "")
TOOLS: Final = ("f", "g", "broken")
STATES: Final[tuple[Any, ...]] = (
    None,
    {},
    {"messages": [{"role": "user", "content": "old"}], "mood": "good"},
)


def callbacks_worlds_drawn() -> st.SearchStrategy[CallbacksScenario]:
    """Return what draws scenarios of any shape."""
    made = st.one_of(_sessions(), _sessions(), _compared())
    return made.map(lambda doc: CallbacksScenario.model_validate(doc, strict=False))


def _rarely() -> st.SearchStrategy[bool]:
    return st.integers(0, 4).map(lambda number: number == 1)


@st.composite
def _sessions(draw: Draw) -> Doc:
    names = ("a", "b")[: draw(st.integers(0, 2))]
    clients = [{"name": name, "hears": draw(_hears(TYPES))} for name in names]
    connect = [{"do": "connect", "client": name} for name in names]
    if draw(st.booleans()):
        connect.append({"do": "listen", "hears": draw(_hears(SHARED))})
    turns = draw(st.lists(_turns(names), min_size=1, max_size=3))
    turns[0]["before"] = connect
    doc: Doc = {**draw(_worlds()), "clients": clients, "turns": turns}
    if draw(_rarely()):
        doc["middleware"] = draw(_around())
    doc["file"] = draw(_rarely()) and draw(_rarely())
    return doc


@st.composite
def _compared(draw: Draw) -> Doc:
    """Draw a world of old clients, whose versions are compared, or of two stores."""
    if draw(_rarely()):
        doc = draw(_sessions())
        return {**doc, "file": False, "compares": "stores"}
    client = {"name": "a", "old": True, "hears": draw(_hears(OLD))}
    turns = draw(st.lists(_turns(()), min_size=1, max_size=3))
    turns[0]["before"] = [{"do": "connect", "client": "a"}]
    for turn in turns:
        turn["stream"] = False
        turn["before"] = [x for x in turn["before"] if x["do"] != "manage"]
    return {
        **draw(_worlds()),
        "clients": [client],
        "turns": turns,
        "compares": "versions",
    }


@st.composite
def _worlds(draw: Draw) -> Doc:
    tools: list[Doc] = [
        {"name": "f", "text": "one"},
        {"name": "g", "text": "two", "seconds": draw(st.sampled_from((0, 1)))},
        {"name": "broken", "error": "no power"},
    ]
    return {"script": draw(st.lists(_answers(), max_size=4)), "tools": tools}


@st.composite
def _answers(draw: Draw) -> Doc:
    names = draw(st.lists(st.sampled_from(TOOLS), max_size=2))
    calls = [{"name": name, "id": f"c{at}"} for at, name in enumerate(names)]
    answer: Doc = {
        "texts": draw(st.lists(st.sampled_from(TEXTS), max_size=3)),
        "calls": calls,
    }
    if draw(_rarely()):
        answer = {"texts": answer["texts"], "error": "down"}
    return answer


@st.composite
def _hears(draw: Draw, types: tuple[str, ...]) -> Doc:
    all_of_them = draw(st.booleans())
    some = st.lists(st.sampled_from(types), unique=True)
    names = types if all_of_them else draw(some)
    hears: Doc = {name: {} for name in names}
    if "load_agent_storage" in hears:
        hears["load_agent_storage"] = {"gives": draw(st.sampled_from(STATES))}
    if names and draw(_rarely()):
        guilty = draw(st.sampled_from(sorted(names)))
        nth = draw(st.integers(1, 3))
        hears[guilty] = {**hears[guilty], "raises_on": [nth]}
    return hears


@st.composite
def _turns(draw: Draw, clients: tuple[str, ...]) -> Doc:
    session = draw(st.sampled_from(("s", "s", "z")))
    turn: Doc = {"session": session, "before": []}
    turn["texts"] = draw(
        st.lists(st.sampled_from(("hi", "more")), min_size=1, max_size=2)
    )
    if clients and draw(_rarely()):
        do = draw(st.sampled_from(("remove", "set", "connect", "connect_by_client")))
        happens: Doc = {"do": do, "client": draw(st.sampled_from(clients))}
        if do == "set":
            happens["hears"] = draw(_hears(TYPES))
        turn["before"] = [happens]
    elif draw(_rarely()):
        turn["before"] = [{"do": draw(st.sampled_from(("restart", "manage")))}]
    turn["stream"] = draw(_rarely())
    if draw(_rarely()):
        turn["cancel_after"] = 0.5
    return turn


@st.composite
def _around(draw: Draw) -> list[Doc]:
    does = draw(st.sampled_from(("hands_on", "hands_on", "drops")))
    first: Doc = {"name": "outer", "does": does, "of": draw(st.sampled_from(TYPES))}
    return [first, {"name": "inner"}] if does == "hands_on" else [first]

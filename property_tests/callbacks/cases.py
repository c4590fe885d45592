"""Fixed worlds of sessions with callbacks: for each clause some that show it.

They are written as short as they can be; a world is for one clause, and every check
looks at it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from compat.dialects.callbacks import CALLBACK_TYPES
from compat.engines.callbacks.scenario import CallbacksScenario
from property_tests.dialects.dialect import JudgedWorld

Data: TypeAlias = "dict[str, Any]"

STEP, TOOL_START, TOOL_END = (
    "on_agent_step",
    "on_tool_call_start",
    "on_tool_execution_end",
)
START, END, SAVE = "on_session_start", "on_session_end", "on_state_storage"
LOAD, ERROR = "load_agent_storage", "on_error"
EVERYTHING: Final = tuple(CALLBACK_TYPES)
SHARED: Final = (STEP, TOOL_END, ERROR)


def hears(*names: str, **special: Data) -> Data:
    """Return what somebody listens to; ``special`` has what a callback does."""
    return {name: special.get(name, {}) for name in (*names, *special)}


def client(name: str = "a", *names: str, **special: Data) -> Data:
    """Return a client that hears these, or everything."""
    heard = hears(*(names or (() if special else EVERYTHING)), **special)
    return {"name": name, "hears": heard}


def do(what: str, name: str = "", **more: Any) -> Data:  # noqa: ANN401  # fields of a spec
    """Return something that happens before a session."""
    return {"do": what, **({"client": name} if name else {}), **more}


def says(*texts: str, call: Sequence[str] = (), **more: Any) -> Data:  # noqa: ANN401  # fields of an answer
    """Return an answer of these texts that calls these tools."""
    calls = [{"name": name, "id": f"c{at}"} for at, name in enumerate(call)]
    return {"texts": list(texts), "calls": calls, **more}


WORKS: Final = (
    {"name": "f", "text": "one"},
    {"name": "g", "text": "two", "seconds": 1},
    {"name": "broken", "error": "no power"},
)
SCRIPT: Final = (says("let ", "me see", call=("f",)), says("it is one"))


def world(*clients: Data, turns: Any = None, **more: Any) -> Data:  # noqa: ANN401  # fields of a scenario
    """Return a world in which the clients are connected before its first session."""
    connected = [do("connect", each["name"]) for each in clients]
    given: list[Data] = [{}] if turns is None else list(turns)
    first = {**given[0], "before": [*connected, *given[0].get("before", ())]}
    base: Data = {"script": list(SCRIPT), "tools": list(WORKS)}
    return {**base, "clients": list(clients), "turns": [first, *given[1:]], **more}


def listening(*names: str, turns: Any = None, **more: Any) -> Data:  # noqa: ANN401  # fields of a scenario
    """Return a world with a listener and no client, as the first version has it."""
    given: list[Data] = [{}] if turns is None else list(turns)
    first = {**given[0], "before": [do("listen", hears=hears(*names))]}
    return world(turns=[first, *given[1:]], **more)


def _telling() -> Iterator[tuple[str, Data]]:
    both = [{"before": [do("listen", hears=hears(*SHARED))]}]
    for clause in ("CB-001", "CB-002", "CB-003"):
        yield clause, world(client())
        yield clause, listening(*EVERYTHING)
    yield "CB-003", world(client(), script=[says(error="down")])
    yield "CB-003", listening(*EVERYTHING, script=[says(error="down")])
    for clause in ("CB-004", "CB-005", "CB-006", "CB-007", "CB-008"):
        yield clause, world(client(), turns=[{"texts": ["hi", "more"]}])
        yield clause, listening(*EVERYTHING)
    yield "CB-004", listening(STEP)
    several = [says("a", call=("g", "f")), says(call=("broken",))]
    for clause in ("CB-007", "CB-008"):
        yield clause, world(client(), script=several)
        yield clause, listening(*EVERYTHING, script=several)
    for clause in ("CB-009",):
        yield clause, world(client(), script=[says("a", error="down")], turns=both)
        yield clause, listening(*EVERYTHING, script=[says(error="down")])
        yield clause, listening(*SHARED, script=[says(error="down")])
    yield "CB-010", world(client(), client("b"), turns=both)
    yield "CB-010", world(client("a", STEP), turns=both)
    yield "CB-011", world(client("a", STEP), turns=both)
    yield "CB-011", listening(*SHARED)
    yield "CB-012", listening(STEP, TOOL_START)
    yield "CB-012", listening(END)
    yield "CB-013", world(client("a", START, END))
    row = {"name": "on_cost", "owners": ["client", "listener"]}
    paying = [{"name": "f", "emits": "on_cost"}]
    both = [{"before": [do("listen", hears=hears("on_cost"))]}]
    more: Data = {"tools": paying, "rows": [row]}
    yield "CB-014", world(client("a", "on_cost"), turns=both, **more)
    yield "CB-014", listening("on_cost", **more)
    yield "CB-015", world(client("a", SAVE), turns=[{"texts": ["hi", "more"]}])
    yield "CB-015", listening(*EVERYTHING, turns=[{"texts": ["hi", "more"]}])


def _state(*texts: str, **more: Any) -> Data:  # noqa: ANN401  # what a state holds besides
    messages = [{"role": "user", "content": each} for each in texts]
    return {"messages": messages, **more}


def _loads(name: str, given: Any) -> Data:  # noqa: ANN401  # a value of JSON
    return client(name, **{LOAD: {"gives": given}})


def _keeping() -> Iterator[tuple[str, Data]]:
    early = _loads("a", None)
    yield "CB-020", world(early, _loads("b", _state("old")), _loads("c", _state("x")))
    yield "CB-020", world(_loads("a", _state("old")), _loads("b", _state("x")))
    empty = _loads("b", {})
    then = [{}, {"before": [do("connect", "b")]}]
    yield "CB-021", {**world(turns=then), "clients": [empty]}
    yield "CB-021", world(_loads("a", {}), _loads("b", _state("old")))
    yield "CB-022", world(early, turns=[{}, {}])
    yield "CB-022", listening(STEP, turns=[{}, {}])
    yield "CB-022", world(client(), turns=[{}, {}])
    yield "CB-023", world(_loads("a", _state("old", "older")))
    yield "CB-024", world(_loads("a", _state("old", mood="good", seen=[1, None])))
    yield "CB-030", world(client("a", SAVE))
    yield "CB-030", listening(*EVERYTHING)
    for clause in ("CB-031", "CB-034"):
        yield clause, world(client(), turns=[{}, {"session": "z"}])
        yield clause, listening(STEP, turns=[{}, {"session": "z"}])
    lossy = client("a", **{SAVE: {"raises_on": [1]}})
    yield "CB-032", world(lossy)
    heard = {"before": [do("listen", hears=hears(**{SAVE: {"raises_on": [1]}}))]}
    yield "CB-032", world(turns=[heard])
    breaking = [says("a"), says("b", error="down")]
    yield "CB-033", world(client(), script=breaking, turns=[{}, {}])
    yield "CB-033", listening(STEP, script=breaking, turns=[{}, {}])
    for file in (False, True):
        anew = [{}, {"before": [do("restart")]}]
        yield "CB-035", world(client(), turns=anew, file=file)


def _wiring() -> Iterator[tuple[str, Data]]:
    yield "CB-040", world(client("a", STEP), client("b", STEP))
    twice = [{"before": [do("connect", "a"), do("connect_by_client", "a")]}]
    yield "CB-041", world(client("a", STEP), turns=twice)
    itself = [{"before": [do("connect_by_client", "a")]}]
    yield "CB-042", {**world(turns=itself), "clients": [client("a", STEP)]}
    changed = [{"before": [do("set", "a", hears=hears(STEP))]}]
    yield "CB-043", world(client("a", START), turns=changed)
    gone = [{"before": [do("set", "a", hears={})]}]
    yield "CB-043", world(client("a", STEP), turns=gone)
    away = [{}, {"before": [do("remove", "a")]}]
    yield "CB-044", world(client(), client("b", STEP), turns=away)
    yield "CB-044", world(client(), turns=away)
    yield (
        "CB-045",
        {**world(turns=[{"before": [do("remove", "a")]}]), "clients": [client()]},
    )
    yield "CB-046", world(client("a", STEP), turns=[{"before": [do("manage")]}])
    yield "CB-046", world(turns=[{"before": [do("manage")]}])


def _failing() -> Iterator[tuple[str, Data]]:
    for name in (STEP, TOOL_START, TOOL_END, "on_llm_text_delta", START, END):
        guilty = client("a", **{name: {"raises_on": [1]}})
        for clause in ("CB-050", "CB-051"):
            yield clause, world(guilty, client("b"))
    heard = hears(ERROR, **{STEP: {"raises_on": [1, 2]}})
    for clause in ("CB-050", "CB-051"):
        yield clause, world(client(), turns=[{"before": [do("listen", hears=heard)]}])
        yield clause, world(turns=[{"before": [do("listen", hears=heard)]}])
    bad = hears(**{STEP: {"raises_on": [1]}, ERROR: {"raises_on": [1]}})
    yield "CB-052", world({"name": "a", "hears": bad})
    yield "CB-052", world(turns=[{"before": [do("listen", hears=bad)]}])
    slow = [says("a", call=("g",))]
    yield "CB-053", world(client(), script=slow, turns=[{"cancel_after": 0.5}])
    yield "CB-053", listening(*EVERYTHING, script=slow, turns=[{"cancel_after": 0.5}])
    yield "CB-053", listening(STEP, script=slow, turns=[{"cancel_after": 0.5}])
    around = [{"name": "outer"}, {"name": "inner"}]
    yield "CB-060", world(client("a", STEP, LOAD), middleware=around)
    yield "CB-060", listening(STEP, TOOL_END, middleware=around)
    drops = [{"name": "outer", "does": "drops", "of": STEP}]
    yield "CB-061", world(client("a", STEP, START), middleware=drops)
    yield "CB-061", listening(STEP, TOOL_END, middleware=drops)


def _wholes() -> Iterator[tuple[str, Data]]:
    yield "CB-070", world(client(), turns=[{"stream": True, "texts": ["hi", "more"]}])
    failing = [says("a", call=("broken",))]
    yield "CB-070", world(client(), script=failing, turns=[{"stream": True}])
    for taken in (1, 4):
        leaving = [{"stream": True, "leave_after": taken}]
        yield "CB-071", world(client(), turns=leaving)
        yield "CB-071", listening(*EVERYTHING, turns=leaving)
    old: Data = {"name": "a", "old": True}
    several = [says("a", call=("f", "g")), says("b")]
    for special in ({}, {STEP: {"raises_on": [2]}}, {TOOL_START: {"raises_on": [1]}}):
        told: Data = {**old, "hears": special}
        script = {"script": several, "compares": "versions"}
        yield "CB-080", world(told, turns=[{}, {"texts": ["a", "b"]}], **script)
    yield "CB-081", world(client(), turns=[{}, {}], compares="stores")
    anew = [{}, {"before": [do("restart")]}]
    yield "CB-081", listening(STEP, turns=anew[:1], compares="stores")
    yield "CB-081", world(turns=anew, compares="stores")


@cache
def callbacks_worlds() -> tuple[JudgedWorld, ...]:
    """Return the fixed worlds, in the order of their clauses."""
    made = (*_telling(), *_keeping(), *_wiring(), *_failing(), *_wholes())
    return tuple(
        JudgedWorld(
            CallbacksScenario.model_validate_json(json.dumps(data)), clause, fixed=True
        )
        for clause, data in made
    )

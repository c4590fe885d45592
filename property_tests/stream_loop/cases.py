"""Fixed worlds of the stream loop: for each clause some that show it.

They are written as short as they can be; a world is for one clause, and every check
looks at it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, TypeAlias

from compat.engines.stream_loop.scenario import LoopScenario
from property_tests.dialects.dialect import JudgedWorld

Data: TypeAlias = "dict[str, Any]"
Answer: TypeAlias = "list[Data]"


def say(*texts: str) -> Answer:
    """Return an answer that is said in these chunks."""
    return [{"text": each} for each in texts]


def call(*names: str, text: str = "so", arguments: str = "{}") -> Answer:
    """Return an answer that says something and calls tools, each in one piece."""
    made = [
        {"name": name, "id": f"c{at}", "arguments": arguments}
        for at, name in enumerate(names)
    ]
    return [*([{"text": text}] if text else []), *({"calls": [each]} for each in made)]


def tool(name: str, *outcomes: Data) -> Data:
    """Return a tool with these outcomes."""
    return {"name": name, "outcomes": list(outcomes) or [{"text": "ok"}]}


def again(result: Any = 1, follow_up: Any = True, **more: Any) -> Data:  # noqa: ANN401, FBT002  # a value of JSON
    """Return an outcome that asks for another round."""
    return {"result": result, "follow_up": follow_up, **more}


def given(**more: Any) -> Data:  # noqa: ANN401  # fields of a scenario
    """Return a world with one turn, unless it has others."""
    return {"turns": [{"input": "hi"}], **more}


def turn(**more: Any) -> list[Data]:  # noqa: ANN401  # fields of a turn
    """Return one turn."""
    return [{"input": "hi", **more}]


ASKS: Final = tool("f", again())
QUIET: Final = tool("g")


def looping(*script: Answer, **more: Any) -> Data:  # noqa: ANN401  # fields of a scenario
    """Return a world whose tool f always asks for another round, and g never does."""
    return given(**{"script": list(script), "tools": [ASKS, QUIET], **more})


def _rounds() -> Iterator[tuple[str, Data]]:
    yield "LOOP-001", looping(call("g", text="done"))
    yield "LOOP-001", looping(call("f"), say("the ", "end"))
    yield "LOOP-001", looping()
    yield "LOOP-002", looping(call("f"), say("end"))
    yield "LOOP-002", looping(say("end"))
    yield "LOOP-003", looping(call("f"))
    for value in (1, "true", {"yes": True}):
        odd = tool("f", again(1, value))
        yield "LOOP-004", looping(call("f"), tools=[odd])
    yield "LOOP-005", looping(call("f", "g"))
    yield "LOOP-005", looping(call("g", "f"))
    yield "LOOP-005", looping(call("g", "f", "g"))
    for result in ({"b": [1, None, 2.5], "a": "é\u2028"}, "text", 1e21, True):
        yield "LOOP-006", looping(call("f"), tools=[tool("f", again(result))])
    two = [tool("f", again("one", seconds=2)), tool("h", again("two"))]
    yield "LOOP-007", looping(call("f", "h"), tools=two)
    yield "LOOP-008", looping(call("f"), next_prompt="go on")
    yield "LOOP-009", looping(call("f"), call("f"))
    yield "LOOP-009", looping(call("f"), instruction="be brief")
    yield "LOOP-010", looping(call("f", "g"), call("f", text=""))
    two = [tool("f", again(seconds=2)), QUIET]
    yield "LOOP-010", looping(call("f", "g"), tools=two)
    yield "LOOP-011", looping(*(call("f") for _ in range(5)))
    for most in (1, 2, 4):
        script = [call("f") for _ in range(6)]
        yield "LOOP-012", looping(*script, turns=turn(max_iterations=most))
    for odd_number in (0, -1, 2.5, True, "NaN", 0.0):
        script = [call("f") for _ in range(6)]
        yield "LOOP-013", looping(*script, turns=turn(max_iterations=odd_number))
    script = [call("f", text=each) for each in ("a", "b", "c")]
    yield "LOOP-014", looping(*script)
    yield "LOOP-015", looping(*script, turns=turn(max_iterations=2))
    yield "LOOP-016", looping(call("f"), call("f"), next_prompt="")
    yield "LOOP-017", looping(call("f"), instruction="be brief")
    yield "LOOP-017", looping(call("g"), instruction="be brief")
    yield "LOOP-018", looping(say("a"), turns=[*turn(), *turn(continues=True)])
    yield "LOOP-018", looping(say("a"), turns=[*turn(), *turn()])
    yield "LOOP-019", looping(call("g"), turns=[*turn(), *turn(continues=True)])
    yield "LOOP-019", looping(call("f"), call("g"))


def piece(index: int, arguments: str, **more: Any) -> Data:  # noqa: ANN401  # fields of a piece
    """Return a chunk with a piece of a call."""
    return {"calls": [{"index": index, "arguments": arguments, **more}]}


MIXED: Final = (
    {"text": "so"},
    piece(0, "{", name="f", id="x"),
    piece(1, '{"b":', name="g"),
    piece(0, "}"),
    {"text": "and"},
    piece(1, "2}"),
)
"""Two calls whose arguments are interleaved, with text between."""
SLOW: Final = (
    tool("f", {"text": "one", "seconds": 2}),
    tool("g", {"text": "two", "seconds": 1}),
)
FAILS: Final = tool("broken", {"error": "no power"})


def quiet(*script: Answer, **more: Any) -> Data:  # noqa: ANN401  # fields of a scenario
    """Return a world in which no tool asks for another round."""
    tools = [tool("f", {"text": "one"}), QUIET]
    return given(**{"script": list(script), "tools": tools, **more})


def _streaming() -> Iterator[tuple[str, Data]]:
    yield "LOOP-020", quiet(say("the ", "", "end"))
    yield "LOOP-020", quiet([*say("a", "b"), {"error": "broken"}])
    for clause in ("LOOP-021", "LOOP-022", "LOOP-023", "LOOP-025"):
        yield clause, quiet(list(MIXED))
        yield clause, quiet(call("f", "g"))
    for clause in ("LOOP-023", "LOOP-024", "LOOP-026", "LOOP-028"):
        yield clause, quiet(call("f", "g"), tools=list(SLOW))
    yield "LOOP-025", looping(call("f"), call("f", arguments='{"n":2}'))
    yield "LOOP-027", quiet(call("f", "g"), tools=[tool("f", {"text": '"q"'}), QUIET])
    yield "LOOP-029", quiet([*say("a"), {"error": "broken"}])
    yield "LOOP-029", quiet(call("f"))
    breaking_off = {"on_chunk": {"raises_on": [1]}}
    yield "LOOP-029", quiet(say("a", "b"), callbacks=breaking_off)


def _breaking() -> Iterator[tuple[str, Data]]:
    failing = [FAILS, QUIET]
    yield "LOOP-030", quiet(call("broken", "g"), tools=failing)
    yield "LOOP-031", quiet(call("missing"))
    yield "LOOP-031", quiet(call("f"), tools=[tool("f", {"fault": "odd"})])
    yield "LOOP-032", quiet(call("f"), tools=[tool("f", {"fault": "cancelled"})])
    broken = [*say("so"), {"error": "broken"}]
    for clause in ("LOOP-033", "LOOP-034", "LOOP-035"):
        yield clause, quiet(broken)
    yield "LOOP-035", quiet(call("f"))
    yield "LOOP-035", looping(call("f"))
    slow = {"tools": list(SLOW)}
    yield "LOOP-036", quiet(call("f"), limits={"round_seconds": 1.5}, **slow)
    waiting = [*say("a"), {"text": "b", "seconds": 2}]
    yield "LOOP-036", quiet(waiting, limits={"round_seconds": 1.5})
    yield "LOOP-037", quiet(call("f", "g"), limits={"tool_seconds": 1.5}, **slow)
    yield "LOOP-038", quiet(call("f", "g"), limits={"calls_per_round": 1})
    long = call("f", arguments='{"a":"long"}')
    yield "LOOP-038", quiet(long, limits={"argument_chars": 5})
    yield "LOOP-039", quiet(call("f"), limits={"result_chars": 2})
    asks = [tool("f", again("long enough"))]
    yield "LOOP-039", looping(call("f"), tools=asks, limits={"result_chars": 3})
    for after in (0.5, 1.5):
        turns = turn(cancel_after=after)
        yield "LOOP-040", quiet(call("f", "g"), turns=turns, **slow)
    for name in ("on_chunk", "on_tool_call", "on_part_event", "on_tool_result"):
        special = {name: {"raises_on": [1]}}
        yield "LOOP-041", quiet(call("f"), callbacks=special)
    both = {"on_chunk": {"raises_on": [1]}, "on_error": {"raises_on": [1]}}
    yield "LOOP-042", quiet(say("a"), callbacks=both)
    yield "LOOP-043", looping(call("f"), say("end"))
    yield "LOOP-043", quiet(say("end"))
    yield "LOOP-044", quiet(call("f", "g"), tools=list(SLOW))


def _parts() -> Iterator[tuple[str, Data]]:
    for clause in ("LOOP-050", "LOOP-051", "LOOP-052", "LOOP-053", "LOOP-055"):
        yield clause, quiet(list(MIXED))
        yield clause, looping(call("f"), say("a", "b"))
    yield "LOOP-053", quiet(say("a", "b", "c"))
    yield "LOOP-054", quiet(call("f", "g"), tools=list(SLOW))
    yield "LOOP-054", quiet(call("f", "missing"), tools=[tool("f", {"text": ""})])
    yield "LOOP-056", quiet([*say("so"), {"error": "broken"}])
    yield "LOOP-056", quiet([*MIXED[:3], {"error": "broken"}])
    turns = turn(cancel_after=0.5)
    yield "LOOP-056", quiet(call("f"), turns=turns, tools=list(SLOW))
    yield "LOOP-057", quiet(list(MIXED), compares="cuts")
    yield "LOOP-057", quiet(say("two words"), call("f"), compares="cuts")


def _forms() -> Iterator[tuple[str, Data]]:
    for clause, compares in (("LOOP-060", "forms"), ("LOOP-061", "adapted")):
        yield clause, quiet(call("f", "g"), tools=list(SLOW), compares=compares)
        yield clause, quiet(list(MIXED), compares=compares)
        yield clause, quiet([*say("so"), {"error": "broken"}], compares=compares)
        yield clause, quiet(call("broken"), tools=[FAILS], compares=compares)
        two = [*turn(), *turn(continues=True)]
        yield clause, quiet(say("a"), turns=two, compares=compares)


@cache
def loop_worlds() -> tuple[JudgedWorld, ...]:
    """Return the fixed worlds, in the order of their clauses."""
    made = (*_rounds(), *_streaming(), *_breaking(), *_parts(), *_forms())
    return tuple(
        JudgedWorld(
            LoopScenario.model_validate_json(json.dumps(data)), clause, fixed=True
        )
        for clause, data in made
    )

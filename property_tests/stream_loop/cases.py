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


@cache
def loop_worlds() -> tuple[JudgedWorld, ...]:
    """Return the fixed worlds, in the order of their clauses."""
    return tuple(
        JudgedWorld(
            LoopScenario.model_validate_json(json.dumps(data)), clause, fixed=True
        )
        for clause, data in _rounds()
    )

"""What a judgement shows of a world: observations in lines, and a failing decision."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from compat.verdicts.conformance import ClauseFailure, SeenLine
from property_tests.check import Decision, PlayedWorld
from property_tests.variants import ABOUT
from refengine.messages import Json
from refengine.testing.trace import Observation, Trace, to_json

WHOLE: Final = 600
"""Values of so many characters are shown whole, longer ones where they differ."""


def failure_of(case: PlayedWorld, decision: Decision) -> ClauseFailure:
    """Return the event: what was asked, both values, what was seen around it.

    Of long values only the part is kept in which they differ, at ``path``.
    """
    found = decision.difference
    expected, got = to_json(decision.expected), to_json(decision.got)
    path = ""
    if found is not None:
        path = found[0]
        if len(json.dumps([expected, got])) > WHOLE:
            _, expected, got = found
    return ClauseFailure(
        variant=decision.variant,
        asked=decision.claim,
        expected=shown_value(expected),
        got=shown_value(got),
        path=path,
        around=around(case[decision.variant].trace, decision.at),
        **world_of(case, decision.variant),
    )


def world_of(case: PlayedWorld, variant: str) -> dict[str, Any]:
    """Return the fields of a failure that tell its world, also as it was played."""
    scenario = case.scenario.model_dump(mode="json", exclude_defaults=True)
    found = case[variant].scenario.model_dump(mode="json", exclude_defaults=True)
    played = found if found != scenario else None
    return {"scenario": scenario, "played": played, "how": ABOUT.get(variant, "")}


def shown_value(value: Json) -> Any:  # noqa: ANN401  # JSON values
    """Return the value with lone surrogates written out, so that it can be stored."""
    return _plain(value)


def _plain(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value


NEAR: Final = 4
"""So many observations before and after the deciding one are shown."""
LONGEST: Final = 160
"""So many characters of one observation are shown."""


def around(trace: Trace, at: Observation | None) -> tuple[SeenLine, ...]:
    """Return the observations near the deciding one, or the last ones if there is none.

    A check that misses something has no observation to point to; then the end of the
    session shows how far it came.
    """
    middle = len(trace) if at is None else at.seq
    near = trace[max(middle - NEAR, 0) : middle + NEAR + 1]
    return tuple(
        SeenLine(mark=">" if each is at else " ", text=line(each)) for each in near
    )


def lines(trace: Trace) -> list[str]:
    """Return a whole trace, one line an observation."""
    return [line(each) for each in trace]


def line(seen: Observation) -> str:
    """Return one observation: number, run, call, kind, and what it holds."""
    where = f"{seen.seq:>4}  run {seen.run}" if seen.run else f"{seen.seq:>4}  build"
    call = f" {seen.call_id}" if seen.call_id is not None else ""
    return _short(f"{where}{call}  {seen.kind}  {_data(seen)}".rstrip())


def _data(seen: Observation) -> str:
    data = cast("Mapping[str, Json]", to_json(seen.data))
    return "  ".join(f"{key}: {_value(value)}" for key, value in data.items())


def _value(value: Json) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list) and value and all(map(_is_message, value)):
        messages = cast("Sequence[Mapping[str, Any]]", value)
        return " | ".join(map(_message, messages[-NEAR:]))
    if _is_message(value):
        return _message(cast("Mapping[str, Any]", value))
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _is_message(value: Json) -> bool:
    return isinstance(value, Mapping) and "role" in value


def _message(message: Mapping[str, Any]) -> str:
    calls = "".join(
        f"[{call.get('id', '')}:{call['name']}({call.get('arguments', '')})]"
        for call in message.get("tool_calls", ())
    )
    whose = f"({message.get('tool_call_id')})" if message["role"] == "tool" else ""
    named = f" {message['name']!r}" if message.get("name") else ""
    return f"{message['role']}{named}{whose}:{message.get('content', '')}{calls}"


def _short(text: str) -> str:
    plain = text.encode("utf-8", "backslashreplace").decode()
    plain = plain.replace("\n", "\\n").replace("\r", "\\r")
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1]}…"

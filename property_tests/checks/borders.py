"""What cannot be kept is refused where it is put in (contract SER, MSG; seed 000).

What an error has to name is looked for in its text, which is the engine's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from refengine.messages import Json
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.notation import parse_message
from refengine.testing.ops import CtxSet, EditWithMessage, Op, RunLocalSet
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.trace import to_json

ERROR: Final = "NotKeepableError"
LARGEST: Final = 2**63 - 1


def values(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a value nobody can keep ends the run, naming who put it in and where."""
    for run in case.played.runs:
        found = next(_unkeepable(run.agent, messages=False), None)
        if found is not None and case.scenario.keeps:
            owner, hook, what = found
            error = run.error
            text = "" if error is None else str(error.data.get("error"))
            claim = "the error that names the hook, whose it is, and the value"
            named = [f"'{owner}'", hook, f"'{what}'"]
            got = [each for each in named if each in text]
            yield Decision(claim, [ERROR, *named], [run.failed_as, *got], error)


def messages(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that extra of a new message is looked at exactly where runs are kept."""
    for run in case.played.runs:
        found = next(_unkeepable(run.agent, messages=True), None)
        if found is None:
            continue
        owner, hook, _ = found
        text = "" if run.error is None else str(run.error.data.get("error"))
        refused = run.failed_as == ERROR and owner in text and hook in text
        claim = "whether a message with extra that cannot be kept is refused there"
        yield Decision(claim, case.scenario.keeps, refused, run.error or run.end)


def _unkeepable(agent: AgentSpec, *, messages: bool) -> Iterator[tuple[str, str, str]]:
    """Yield who puts in what cannot be kept, in which hook, and what it is called."""
    for handler in agent.handlers:
        for op in handler.before_model or ():
            name = _name_of(op, messages=messages)
            if name is not None:
                yield handler.id, "before_model_rewrite_history", name


def _name_of(op: Op, *, messages: bool) -> str | None:
    if not messages and isinstance(op, CtxSet | RunLocalSet):
        return None if _keepable(cast("Json", op.value)) else op.key
    if messages and isinstance(op, EditWithMessage):
        extra = to_json(parse_message(op.msg).extra)
        return None if _keepable(extra) else "extra"
    return None


def _keepable(value: Json) -> bool:
    if is_mapping(value):
        return all(map(_keepable, cast("Mapping[str, Json]", value).values()))
    if is_list(value):
        return all(map(_keepable, cast("list[Json]", value)))
    return type(value) is not int or -LARGEST - 1 <= value <= LARGEST


def _refuses(*, messages: bool, scenario: Scenario) -> bool:
    return any(
        True
        for agent in scenario.all_agents
        for _ in _unkeepable(agent, messages=messages)
    )


def _has_values(scenario: Scenario) -> bool:
    return _refuses(messages=False, scenario=scenario)


def _has_messages(scenario: Scenario) -> bool:
    return _refuses(messages=True, scenario=scenario)


NEEDS: Final = frozenset(("resume", "before_model"))
CHECKS: Final = (
    Check(clause="MSG-019", decide=messages, needs=NEEDS, meant=_has_messages),
    Check(clause="SER-007", decide=values, needs=NEEDS, meant=_has_values),
)

"""What cannot be kept is refused where it is put in (contract SER; seed 000).

What an error has to name is looked for in its text, which is the engine's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from refengine.messages import Json
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.ops import CtxSet, RunLocalSet
from refengine.testing.scenario import AgentSpec, Scenario

ERROR: Final = "NotKeepableError"
LARGEST: Final = 2**63 - 1


def values(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a value nobody can keep ends the run, naming who put it in and where."""
    for run in case.played.runs:
        found = next(_unkeepable(run.agent), None)
        if found is not None and case.scenario.keeps:
            owner, hook, what = found
            error = run.error
            text = "" if error is None else str(error.data.get("error"))
            claim = "the error that names the hook, whose it is, and the value"
            named = [f"'{owner}'", hook, f"'{what}'"]
            got = [each for each in named if each in text]
            yield Decision(claim, [ERROR, *named], [run.failed_as, *got], error)


def _unkeepable(agent: AgentSpec) -> Iterator[tuple[str, str, str]]:
    """Yield who puts in what cannot be kept, in which hook, and what it is called."""
    for handler in agent.handlers:
        for op in handler.before_model or ():
            if not isinstance(op, CtxSet | RunLocalSet):
                continue
            if not _keepable(cast("Json", op.value)):
                yield handler.id, "before_model_rewrite_history", op.key


def _keepable(value: Json) -> bool:
    if is_mapping(value):
        return all(map(_keepable, cast("Mapping[str, Json]", value).values()))
    if is_list(value):
        return all(map(_keepable, cast("list[Json]", value)))
    return type(value) is not int or -LARGEST - 1 <= value <= LARGEST


def _has_values(scenario: Scenario) -> bool:
    return any(True for agent in scenario.all_agents for _ in _unkeepable(agent))


NEEDS: Final = frozenset(("resume", "before_model"))
CHECKS: Final = (
    Check(clause="SER-007", decide=values, needs=NEEDS, meant=_has_values),
)

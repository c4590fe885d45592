"""Variants: a scenario as it is, and changed in one way that must change little.

A check names those it needs, and each is played once for an engine, whatever number of
checks look at it. A variant that a scenario does not have is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from property_tests.check import PLAYED
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.notation import parse_message
from refengine.testing.ops import ToolSpec
from refengine.testing.scenario import AgentSpec, Scenario, ScriptEntry
from refengine.testing.scenario_files import read_scenario
from refengine.testing.strategies.variants import cut_anywhere, with_identity

Change: TypeAlias = Callable[[Scenario], Scenario | None]

AGAIN: Final = "again"
INVOKED: Final = "invoked"
STREAMED: Final = "streamed"
RECHUNKED: Final = "rechunked"
IDENTITY_FIRST: Final = "identity-first"
IDENTITY_LAST: Final = "identity-last"
BUILT_TWICE: Final = "built-twice"
RUN_TWICE: Final = "run-twice"
PLAIN: Final = "plain"
ADAPTED: Final = "adapted"
UNASKED: Final = "unasked"

PIECE: Final = 3
"""A re-chunked text comes in pieces of so many characters; none falls on a word."""
PIECES: Final = 60
"""A text that would come in many more pieces comes in about so many longer ones: to
read a thousand takes a while, and each is as the others."""


def _as_it_is(scenario: Scenario) -> Scenario:
    return scenario


def _streaming(scenario: Scenario, *, on: bool) -> Scenario:
    runs = [
        each.model_copy(update={"streaming": on}) if each.streaming != on else each
        for each in scenario.runs
    ]
    return scenario.model_copy(update={"runs": tuple(runs)})


def _invoked(scenario: Scenario) -> Scenario:
    return _streaming(scenario, on=False)


def _streamed(scenario: Scenario) -> Scenario:
    return _streaming(scenario, on=True)


def _rechunked(scenario: Scenario) -> Scenario:
    """Stream everything, in pieces of three characters, or of more if it is long.

    So the arguments of calls come in pieces, too. Answers stay that come in chunks of
    their own.
    """
    streamed = _streamed(scenario)
    script = tuple(map(_cut, scenario.model_script))
    agents = tuple(map(_with_cut_tools, scenario.all_agents))
    one = {"agent": agents[0]} if scenario.agent is not None else {"agents": agents}
    return streamed.model_copy(update={"model_script": script, **one})


def _cut(entry: ScriptEntry) -> ScriptEntry:
    if not isinstance(entry, str):
        return entry
    whole = parse_message(entry)
    arguments = sum(len(each.arguments) for each in whole.tool_calls)
    length = len(whole.content) + arguments
    step = _step(length)
    return cut_anywhere(entry, range(step, length, step))


def _step(length: int) -> int:
    """Return how long the pieces of a text of that length are."""
    return max(PIECE, length // PIECES)


def _with_cut_tools(agent: AgentSpec) -> AgentSpec:
    return agent.model_copy(update={"tools": tuple(map(_cut_tool, agent.tools))})


def _cut_tool(tool: ToolSpec) -> ToolSpec:
    if not tool.chunks or any("<" in chunk for chunk in tool.chunks):
        return tool
    text = "".join(tool.chunks)
    step = _step(len(text))
    pieces = [text[at : at + step] for at in range(0, len(text), step)]
    return tool.model_copy(update={"chunks": tuple(pieces) or ("",)})


def _identity_first(scenario: Scenario) -> Scenario:
    return with_identity(scenario, 0)


def _identity_last(scenario: Scenario) -> Scenario:
    return with_identity(scenario, len(scenario.all_agents[0].handlers))


def _built_twice(scenario: Scenario) -> Scenario | None:
    """Build the agent twice, and play all runs on the one, then on the other.

    None where runs are kept: those of the second agent have keys that are taken.
    """
    if scenario.agent is None or scenario.keeps:
        return None
    second = [each.model_copy(update={"agent": 1}) for each in scenario.runs]
    return scenario.model_copy(
        update={
            "agent": None,
            "agents": (scenario.agent, scenario.agent),
            "runs": (*scenario.runs, *second),
        }
    )


def _run_twice(scenario: Scenario) -> Scenario | None:
    """Give the agent its first run twice, each time with the same answers.

    None where runs are kept, as above.
    """
    if scenario.agent is None or not (scenario.runs and scenario.model_script):
        return None
    if scenario.keeps:
        return None
    run = scenario.runs[0]
    steps = min(scenario.agent.max_iterations, 2)
    return scenario.model_copy(
        update={
            "agent": scenario.agent.model_copy(update={"max_iterations": steps}),
            "model_script": scenario.model_script[:1],
            "script_end": "repeat_last",
            "runs": (run, run),
        }
    )


def _plain(scenario: Scenario) -> Scenario:
    """Make coroutine functions of plain hooks, and plain ones of the others."""
    agents = tuple(map(_with_other_hooks, scenario.all_agents))
    one = {"agent": agents[0]} if scenario.agent is not None else {"agents": agents}
    return scenario.model_copy(update=one)


def _with_other_hooks(agent: AgentSpec) -> AgentSpec:
    structs = [e.model_copy(update={"waits": not e.waits}) for e in agent.middlewares]
    handlers = [
        each
        if each.same_as is not None
        else each.model_copy(update={"plain": not each.plain})
        for each in agent.handlers
    ]
    changed = {"middlewares": tuple(structs), "handlers": tuple(handlers)}
    return agent.model_copy(update=changed)


def _structs_only(scenario: Scenario) -> Scenario | None:
    """Return a scenario in which adapted structs must not differ from native ones."""
    return scenario if any(a.middlewares for a in scenario.all_agents) else None


def _unasked(scenario: Scenario) -> Scenario | None:
    """Return the scenario in which nobody asks anything, and nothing is kept.

    None where an answer becomes part of a text, where objects made anew count from one
    again, and where a run goes on with other options: those runs are not the same.
    """
    if not scenario.keeps or any(run.options for run in scenario.runs):
        return None
    text = scenario.model_dump_json(exclude_defaults=True)
    anew = any(run.rebuild for run in scenario.runs) and '"on_call"' in text
    if anew or "<answer>" in text or "<resume_data>" in text:
        return None
    doc = _without_questions(scenario.model_dump(mode="json", exclude_defaults=True))
    doc["runs"] = [
        {key: value for key, value in run.items() if key != "checkpoint"}
        for run in doc["runs"]
        if "resume" not in run
    ]
    return read_scenario(doc, "a world in which nobody asks")


def _without_questions(value: Any) -> Any:  # noqa: ANN401  # JSON values
    """Return a part of a scenario without what interrupts a run."""
    if is_list(value):
        return [_without_questions(each) for each in value if not _asks(each)]
    if is_mapping(value):
        return {
            key: part if key == "parameters" else _quiet(key, part)
            for key, part in value.items()
            if key not in {"ask", "interrupt"}
        }
    return value


def _quiet(key: str, part: Any) -> Any:  # noqa: ANN401  # as above
    """Return the value of a key; a callback of a struct that only asks stays one."""
    left = _without_questions(part)
    return left or ([{"op": "record"}] if key in _CALLBACKS and part else left)


_CALLBACKS: Final = frozenset(("before_chat_model", "after_chat_model"))
"""Without an operation a struct has none, where a handler's hook stays."""


def _asks(op: Any) -> bool:  # noqa: ANN401  # as above
    return is_mapping(op) and op.get("op") in {"ask", "interrupt"}


CHANGES: Final[Mapping[str, Change]] = MappingProxyType(
    {
        PLAYED: _as_it_is,
        AGAIN: _as_it_is,
        INVOKED: _invoked,
        STREAMED: _streamed,
        RECHUNKED: _rechunked,
        IDENTITY_FIRST: _identity_first,
        IDENTITY_LAST: _identity_last,
        BUILT_TWICE: _built_twice,
        RUN_TWICE: _run_twice,
        PLAIN: _plain,
        ADAPTED: _structs_only,
        UNASKED: _unasked,
    }
)
"""Every variant, and how its scenario is made; ``adapted`` also changes the door."""

LOTS: Final[tuple[frozenset[str], ...]] = (
    frozenset((AGAIN, RUN_TWICE)),
    frozenset((IDENTITY_FIRST, IDENTITY_LAST)),
    frozenset((BUILT_TWICE, PLAIN)),
)
"""Variants that generated worlds share among them: each is played in one lot.

They are about the engine and not about the world, so that another world tells more than
one more variant of the same; all others, and all of a fixed case, are always played.
"""


def allotted(variants: Iterable[str], lot: int | None) -> tuple[str, ...]:
    """Return those of the variants that a world of this lot is played in, None: all."""
    if lot is None:
        return tuple(variants)
    others = frozenset[str]().union(*LOTS) - LOTS[lot % len(LOTS)]
    return tuple(each for each in variants if each not in others)


ABOUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        PLAYED: "",
        AGAIN: "played a second time",
        INVOKED: "no run streams",
        STREAMED: "every run streams",
        RECHUNKED: f"every run streams, its texts cut after {PIECE} characters or more",
        IDENTITY_FIRST: "with a first handler that changes nothing",
        IDENTITY_LAST: "with a last handler that changes nothing",
        BUILT_TWICE: "all runs on one agent, then on another that is built alike",
        RUN_TWICE: "the first run twice on one agent",
        PLAIN: "coroutine functions for plain hooks, and plain ones for the others",
        ADAPTED: "struct middlewares as adapted handlers",
        UNASKED: "nobody asks, and nothing is kept",
    }
)
"""What each variant is, for a reader of a report; "" for the scenario as it is."""

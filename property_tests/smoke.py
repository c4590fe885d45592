"""The first stage: whether the door works, before anything is judged through it.

What fails here is wrong in the adapter, not in the engine behind it: an engine that
cannot be asked cannot be judged. Beyond these there is no conformance without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from compat.engines.loading import Loaded
from compat.verdicts.conformance import SmokeResult
from property_tests.shapes import Watched
from property_tests.smoke_seen import (
    RESULT,
    Seen,
    Wrong,
    entered,
    model_swallowed,
    no_hook,
    not_answered,
    not_built,
    not_run,
    tool_swallowed,
)
from refengine.testing.clock import run
from refengine.testing.reading import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import Trace

Agent: TypeAlias = "dict[str, Any]"  # an agent of a scenario, as JSON

CALL: Final = "assistant:[call-1:echo({})]"
ECHO: Final[Agent] = {"name": "echo", "result": RESULT}
FAILS: Final[Agent] = {**ECHO, "error": "canary"}
RECORD: Final = [{"op": "record"}]


def _of_handler(hook: str, what: object) -> tuple[str, Agent]:
    return hook, {"handlers": [{"id": "h", hook: what}]}


HOOKS: Final[Mapping[str, tuple[str, Agent]]] = MappingProxyType(
    {
        "before_model": _of_handler("before_model", RECORD),
        "wrap_tool": _of_handler("wrap_invokable", {}),
        "after_model": _of_handler("after_model", RECORD),
        "wrap_model": _of_handler("wrap_model", {}),
        "before_agent": _of_handler("before_agent", RECORD),
        "struct_model_hooks": (
            "before_chat_model",
            {"middlewares": [{"id": "m", "before_chat_model": RECORD}]},
        ),
        "struct_tool_wrappers": (
            "wrap_tool_call.invokable",
            {"middlewares": [{"id": "m", "wrap_tool_call": {"invokable": {}}}]},
        ),
        "tool_call_middlewares": (
            "tool_call_middlewares.invokable",
            {"tool_call_middlewares": [{"id": "w"}]},
        ),
    }
)
"""A hook and an agent that has no other, by the capability that it needs."""


@dataclass(frozen=True, slots=True)
class Smoke:
    """One check: a world, what is asked for in it, and what is wrong ("": nothing)."""

    name: str
    asked: str
    agent: Agent
    script: tuple[object, ...]
    wrong: Wrong


def smoke(loaded: Loaded) -> list[SmokeResult]:
    """Return whether the door to an engine works, in five checks and a look at types.

    Nothing that the engine raises comes out of this: it is what was seen.
    """
    played = [(each, _played(loaded, each)) for each in _checks(loaded.capabilities)]
    results = [_result(loaded.name, each, seen) for each, seen in played]
    results += _canary(loaded)
    faults = [text for _, seen in played for text in seen.faults]
    unique = list(dict.fromkeys(faults))
    asked = "events and outcomes have the types that the contract names"
    results.append(_told(loaded.name, "types", asked, "; ".join(unique)))
    return results


def _checks(capabilities: frozenset[str]) -> Iterator[Smoke]:
    plain: Agent = {"instruction": "Be kind.", "tools": [ECHO]}
    answer = ("assistant:from the script",)
    built = "an agent with a model, a tool and no extension is built"
    answers = "the model is asked once, and its answer is the event and the answer"
    runs = "a tool that the model calls is executed once, and the model sees its result"
    yield Smoke("builds", built, plain, answer, not_built)
    yield Smoke("answers", answers, plain, answer, not_answered)
    yield Smoke("tools", runs, plain, (CALL, "assistant:done"), not_run)
    found = next((HOOKS[each] for each in HOOKS if each in capabilities), None)
    if found is None:
        yield Smoke("hooks", "a hook of ours is declared", plain, answer, no_hook)
        return
    hook, extended = found
    asked = f"a hook is entered, {hook}, and none that its extension does not have"
    agent = {**plain, **extended}
    yield Smoke("hooks", asked, agent, (CALL, "assistant:done"), entered(hook))


def _canary(loaded: Loaded) -> Iterator[SmokeResult]:
    """Yield one result of two worlds: the model raises, and a tool does."""
    model = "what the model raises ends the run with that error, after one tool call"
    tool = "what a tool raises ends the run, or is told to the model"
    plain: Agent = {"tools": [ECHO]}
    fails: Agent = {"tools": [FAILS]}
    script = (CALL, {"error": "canary"})
    worlds = (
        Smoke("canary", model, plain, script, model_swallowed),
        Smoke("canary", tool, fails, (CALL, "assistant:done"), tool_swallowed),
    )
    found = [(each, _played(loaded, each)) for each in worlds]
    wrong = [(each, seen) for each, seen in found if seen.broke or each.wrong(seen)]
    if wrong:
        yield _result(loaded.name, *wrong[0])
    else:
        yield _told(loaded.name, "canary", f"{model}; {tool}", "")


def _played(loaded: Loaded, check: Smoke) -> Seen:
    scenario = {
        "agent": {"name": "smoke", **check.agent},
        "model_script": list(check.script),
        "runs": [{"input": ["user:hello"]}],
    }
    watched = Watched(loaded.engine)
    trace, broke = Trace(), ""
    try:
        trace = run(play(read_scenario(scenario), watched))
    except Exception as error:  # noqa: BLE001  # whatever a stranger's door raises
        broke = f"playing it raised {type(error).__name__}: {error}"
    faults = tuple(map(str, watched.faults))
    return Seen(trace, faults, tuple(watched.raised), broke)


def _result(engine: str, check: Smoke, seen: Seen) -> SmokeResult:
    wrong = seen.broke or check.wrong(seen)
    if wrong and not seen.broke:
        wrong = f"{wrong}; seen: {seen.told}"
    return _told(engine, check.name, check.asked, wrong)


def _told(engine: str, name: str, asked: str, wrong: str) -> SmokeResult:
    return SmokeResult(
        engine=engine, name=name, passed=not wrong, asked=asked, got=wrong
    )

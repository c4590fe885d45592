"""The first stage: whether the door works, before anything is judged through it.

What fails here is wrong in the adapter, not in the engine behind it: an engine that
cannot be asked cannot be judged. Beyond these there is no conformance without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from compat.engines.loading import LoadedEngine
from compat.report.conform_text import counted
from compat.verdicts.conformance import SmokeResult
from property_tests.shapes import WatchedDoor
from refengine.messages import Message
from refengine.testing.clock import run
from refengine.testing.json_values import is_mapping
from refengine.testing.scenario_files import read_scenario
from refengine.testing.scripted import ScriptedError
from refengine.testing.session import play
from refengine.testing.trace import Observation, Trace

Wrong: TypeAlias = "Callable[[DoorTrial], str]"

RESULT: Final = "the tool's own words"
"""What the tool of every world gives."""


@dataclass(frozen=True, slots=True)
class DoorTrial:
    """One world played through the door, as far as it went.

    ``raised`` are the errors that its runs reported. ``broke`` says what came out of
    the door instead of a trace.
    """

    trace: Trace
    faults: tuple[str, ...]
    raised: tuple[Exception, ...]
    broke: str = ""

    @property
    def answer(self) -> str | None:
        """The text of the answer that the last run ended with."""
        for end in self.trace.of("run_end"):
            found = end.data["answer"]
            return found.content if isinstance(found, Message) else None
        return None

    @property
    def brief(self) -> str:
        """What was seen, in brief."""
        if self.broke:
            return self.broke
        return ", ".join(map(_brief, self.trace)) or "nothing at all"


def not_built(seen: DoorTrial) -> str:
    """Return why no agent was built, "" if one was."""
    if seen.trace.of("build"):
        return ""
    return f"it was refused: {_first(seen.trace.of('build_error'), 'error')}"


def not_answered(seen: DoorTrial) -> str:
    """Return what is wrong with the one answer of a run without tools."""
    if len(seen.trace.of("model_request")) != 1:
        return f"the model was asked {_times(seen.trace.of('model_request'))}"
    texts = [_text(each) for each in _events(seen, "model")]
    if texts != ["from the script"]:
        return f"the events of the model were {texts}"
    if seen.answer != "from the script":
        return f"the answer was {seen.answer!r}"
    return ""


def not_run(seen: DoorTrial) -> str:
    """Return what is wrong with the one tool call, its event and its result."""
    starts = seen.trace.of("tool_start")
    if len(starts) != 1:
        return f"the tool was executed {_times(starts)}"
    if starts[0].call_id != "call-1":
        return (
            f"the tool was executed under the call id {starts[0].call_id!r}, not"
            " 'call-1': call it with the context that doors.at_call(ctx, run, call.id)"
            " makes"
        )
    events = len(_events(seen, "tool"))
    if events != 1:
        return f"the consumer was told of {counted(events, 'tool result')}"
    requests = seen.trace.of("model_request")
    if len(requests) != 2:
        return f"the model was asked {_times(requests)}"
    results = [each for each in _messages(requests[1]) if each.role == "tool"]
    if [(m.content, m.tool_call_id) for m in results] != [(RESULT, "call-1")]:
        return f"the model was shown the results {results}"
    return ""


def entered(hook: str) -> Wrong:
    """Return what tells whether that hook was entered, and no other."""

    def wrong(seen: DoorTrial) -> str:
        entered = {str(each.data["hook"]) for each in seen.trace.of("hook_enter")}
        others = ", ".join(sorted(entered - {hook}))
        if others:
            return f"{others} was entered: a handler's hooks are those in its ``hooks``"
        return "" if entered else "no hook was entered"

    return wrong


def model_swallowed(seen: DoorTrial) -> str:
    """Return what became of an error of the model, after a tool call."""
    executed, results = len(seen.trace.of("tool_start")), len(_events(seen, "tool"))
    if results != executed:
        return f"tool results told: {results}, and tools executed: {executed}"
    return "" if _surfaced(seen) else "the run did not report that error"


def tool_swallowed(seen: DoorTrial) -> str:
    """Return what became of an error of a tool."""
    if not seen.trace.of("tool_start"):
        return "the tool was not executed"
    if _surfaced(seen):
        return ""
    requests = seen.trace.of("model_request")
    results = [each for each in requests[1:] if _has_result(each)]
    return "" if results else "nobody was told of it"


def _times(seen: Sequence[Observation]) -> str:
    return counted(len(seen), "time")


def _has_result(request: Observation) -> bool:
    return any(each.role == "tool" for each in _messages(request))


def _surfaced(seen: DoorTrial) -> bool:
    """Tell whether a run ended with the very error that the world raised."""
    ends = [each.data["status"] for each in seen.trace.of("run_end")]
    return ends == ["error"] and any(map(_is_canary, seen.raised))


def _is_canary(error: BaseException) -> bool:
    at: BaseException | None = error
    passed: set[int] = set()
    while at is not None and id(at) not in passed:
        if isinstance(at, ScriptedError):
            return True
        passed.add(id(at))
        cause = getattr(at, "cause", None)
        inner = cause if isinstance(cause, BaseException) else None
        at = inner or at.__cause__ or at.__context__
    return False


def _events(seen: DoorTrial, kind: str) -> list[Observation]:
    return [each for each in seen.trace.of("event") if each.data.get("kind") == kind]


def _text(event: Observation) -> str:
    stream = cast("list[str] | None", event.data.get("stream"))
    shown = "".join(stream) if stream is not None else str(event.data.get("message"))
    return shown.removeprefix("assistant:")


def _messages(request: Observation) -> list[Message]:
    return list(cast("list[Message]", request.data["messages"]))


def _first(found: Trace, key: str) -> str:
    if not found:
        return "nobody says why"
    error = cast("Mapping[str, object]", found[0].data[key])
    return str(error.get("text", error))


def _brief(each: Observation) -> str:
    error = each.data.get("error")
    results = [each.data.get(key) for key in ("kind", "hook", "name", "status")]
    results.append(error["text"] if is_mapping(error) else each.data.get("class"))
    return " ".join([each.kind, *(str(v) for v in results if isinstance(v, str))])


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
    claim: str
    agent: Agent
    script: tuple[object, ...]
    wrong: Wrong


def smoke(loaded: LoadedEngine) -> list[SmokeResult]:
    """Return whether the door to an engine works, in five checks and a look at types.

    Nothing that the engine raises comes out of this: it is what was seen.
    """
    played = [(each, _played(loaded, each)) for each in _checks(loaded.capabilities)]
    results = [_result(loaded.name, each, seen) for each, seen in played]
    results += _canary(loaded)
    faults = [text for _, seen in played for text in seen.faults]
    unique = list(dict.fromkeys(faults))
    claim = "events and outcomes have the types that the contract names"
    results.append(_smoke_result(loaded.name, "types", claim, "; ".join(unique)))
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
    if found is None:  # an engine without hooks is judged by all that needs none
        return
    hook, extended = found
    claim = f"a hook is entered, {hook}, and none that its extension does not have"
    agent = {**plain, **extended}
    yield Smoke("hooks", claim, agent, (CALL, "assistant:done"), entered(hook))


def _canary(loaded: LoadedEngine) -> Iterator[SmokeResult]:
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
        yield _smoke_result(loaded.name, "canary", f"{model}; {tool}", "")


def _played(loaded: LoadedEngine, check: Smoke) -> DoorTrial:
    scenario = {
        "agent": {"name": "smoke", **check.agent},
        "model_script": list(check.script),
        "runs": [{"input": ["user:hello"]}],
    }
    watched = WatchedDoor(loaded.engine)
    trace, broke = Trace(), ""
    try:
        trace = run(play(read_scenario(scenario), watched))
    except Exception as error:  # noqa: BLE001  # whatever a stranger's door raises
        broke = f"playing it raised {type(error).__name__}: {error}"
    faults = tuple(map(str, watched.faults))
    return DoorTrial(trace, faults, tuple(watched.raised), broke)


def _result(engine: str, check: Smoke, seen: DoorTrial) -> SmokeResult:
    wrong = seen.broke or check.wrong(seen)
    if wrong and not seen.broke:
        wrong = f"{wrong}; seen: {seen.brief}"
    return _smoke_result(engine, check.name, check.claim, wrong)


def _smoke_result(engine: str, name: str, claim: str, wrong: str) -> SmokeResult:
    return SmokeResult(
        engine=engine, name=name, passed=not wrong, asked=claim, got=wrong
    )

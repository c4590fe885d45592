"""What the checks of the first stage see of a world, and what is wrong with it.

Each returns "" if nothing is, else what was seen instead, in words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from refengine.messages import Message
from refengine.testing.narrowing import is_mapping
from refengine.testing.scripted import ScriptedError
from refengine.testing.trace import Observation, Trace

Wrong: TypeAlias = "Callable[[Seen], str]"

RESULT: Final = "the tool's own words"
"""What the tool of every world gives."""


@dataclass(frozen=True, slots=True)
class Seen:
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
    def told(self) -> str:
        """What was seen, in brief."""
        if self.broke:
            return self.broke
        return ", ".join(map(_brief, self.trace)) or "nothing at all"


def not_built(seen: Seen) -> str:
    """Return why no agent was built, "" if one was."""
    if seen.trace.of("build"):
        return ""
    return f"it was refused: {_first(seen.trace.of('build_error'), 'error')}"


def not_answered(seen: Seen) -> str:
    """Return what is wrong with the one answer of a run without tools."""
    if len(seen.trace.of("model_request")) != 1:
        return f"the model was asked {len(seen.trace.of('model_request'))} times"
    texts = [_text(each) for each in _events(seen, "model")]
    if texts != ["from the script"]:
        return f"the events of the model were {texts}"
    if seen.answer != "from the script":
        return f"the answer was {seen.answer!r}"
    return ""


def not_run(seen: Seen) -> str:
    """Return what is wrong with the one tool call, its event and its result."""
    starts = seen.trace.of("tool_start")
    if len(starts) != 1:
        return f"the tool was executed {len(starts)} times"
    if starts[0].call_id != "call-1":
        return f"the tool was executed under the call id {starts[0].call_id!r}"
    told = len(_events(seen, "tool"))
    if told != 1:
        return f"the consumer was told of {told} tool results"
    requests = seen.trace.of("model_request")
    if len(requests) != 2:
        return f"the model was asked {len(requests)} times"
    results = [each for each in _messages(requests[1]) if each.role == "tool"]
    if [(m.content, m.tool_call_id) for m in results] != [(RESULT, "call-1")]:
        return f"the model was shown the results {results}"
    return ""


def entered(hook: str) -> Wrong:
    """Return what tells whether that hook was entered, and no other."""

    def wrong(seen: Seen) -> str:
        entered = {str(each.data["hook"]) for each in seen.trace.of("hook_enter")}
        others = ", ".join(sorted(entered - {hook}))
        if others:
            return f"{others} was entered: a handler's hooks are those in its ``hooks``"
        return "" if entered else "no hook was entered"

    return wrong


def no_hook(_: Seen) -> str:
    """Say that there is nothing to enter."""
    return "the engine declares no capability that a hook of ours could stand for"


def model_swallowed(seen: Seen) -> str:
    """Return what became of an error of the model, after a tool call."""
    executed, told = len(seen.trace.of("tool_start")), len(_events(seen, "tool"))
    if told != executed:
        return f"{told} tool results were told, and {executed} tools were executed"
    return "" if _surfaced(seen) else "the run did not report that error"


def tool_swallowed(seen: Seen) -> str:
    """Return what became of an error of a tool."""
    if not seen.trace.of("tool_start"):
        return "the tool was not executed"
    if _surfaced(seen):
        return ""
    requests = seen.trace.of("model_request")
    told = [each for each in requests[1:] if _has_result(each)]
    return "" if told else "nobody was told of it"


def _has_result(request: Observation) -> bool:
    return any(each.role == "tool" for each in _messages(request))


def _surfaced(seen: Seen) -> bool:
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


def _events(seen: Seen, kind: str) -> list[Observation]:
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
    told = [each.data.get(key) for key in ("kind", "hook", "name", "status")]
    told.append(error["text"] if is_mapping(error) else each.data.get("class"))
    return " ".join([each.kind, *(str(v) for v in told if isinstance(v, str))])

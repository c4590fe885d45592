"""The self-test of a driver that plays a stream loop: small worlds of that dialect."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compat.drivers.checked import FunctionChecked, judged, lacking
from compat.drivers.loops import RemoteStreamLoop
from compat.engines.stream_loop.playing import play_loop
from compat.engines.stream_loop.scenario import LoopScenario
from refengine.testing.trace import ObservationKind, Trace


@dataclass(frozen=True, slots=True)
class SmallLoopWorld:
    """A world that shows a function, and what its trace has to hold."""

    function: str
    needs: tuple[str, ...]
    doc: Mapping[str, Any]
    holds: Callable[[Trace], bool]
    wanted: str

    def check(self, door: RemoteStreamLoop) -> FunctionChecked:
        """Play it, if the driver declares what it needs."""
        missing = lacking(self.function, self.needs, door.capabilities)
        if missing is not None:
            return missing
        doc = {"turns": [{"input": "hi"}], **self.doc}
        scenario = LoopScenario.model_validate_json(json.dumps(doc))
        trace = play_loop(scenario, door)
        return judged(self.function, self.holds(trace), self.wanted, _errors(trace))


def _errors(trace: Trace) -> Sequence[str]:
    ends: list[Any] = [each.data.get("error") for each in trace.of("run_end")]
    return [str(each["text"]) for each in ends if each]


def _text(trace: Trace) -> str | None:
    result: Any = trace.of("run_end")[-1].data.get("result")
    return None if result is None else str(result["text"])


def _told(callback: str) -> Callable[[Trace], bool]:
    return lambda trace: any(
        each.data.get("callback") == callback for each in trace.of("event")
    )


def _says(kind: ObservationKind, text: str) -> Callable[[Trace], bool]:
    return lambda trace: any(text in str(each.data) for each in trace.of(kind))


CALLS: Final = [[{"text": "so"}, {"calls": [{"name": "f", "arguments": "{}"}]}]]
TOOL: Final = {"name": "f", "outcomes": [{"text": "r"}]}
SLOW: Final = {"name": "f", "outcomes": [{"text": "r", "seconds": 9}]}
ASKING: Final = {"name": "f", "outcomes": [{"result": 1, "follow_up": True}]}
FAILING: Final = {"name": "f", "outcomes": [{"error": "no power"}]}

LOOP_WORLDS: Final = (
    SmallLoopWorld(
        "run, model, pull",
        (),
        {"script": [[{"text": "do"}, {"text": "ne"}]]},
        lambda trace: _text(trace) == "done",
        "the text that the model streams comes back",
    ),
    SmallLoopWorld(
        "tool",
        (),
        {"script": CALLS, "tools": [TOOL]},
        lambda trace: len(trace.of("tool_end")) == 1,
        "the tool is called once",
    ),
    SmallLoopWorld(
        "callback",
        (),
        {"script": CALLS, "tools": [TOOL]},
        lambda trace: _told("on_chunk")(trace) and _told("on_tool_result")(trace),
        "text and result are told",
    ),
    SmallLoopWorld(
        "loops",
        ("loops",),
        {"script": CALLS, "tools": [ASKING]},
        lambda trace: len(trace.of("model_request")) == 2,  # the second is asked for
        "a result that asks for another round leads to one",
    ),
    SmallLoopWorld(
        "parts",
        ("parts",),
        {"script": CALLS, "tools": [TOOL]},
        lambda trace: _told("on_part_event")(trace) and _told("on_parts_change")(trace),
        "changes of parts and what they make are told",
    ),
    SmallLoopWorld(
        "an error keeps its number",
        ("errors",),
        {"script": [[{"error": "broken"}]]},
        _says("run_end", "ScriptedLoopError"),
        "the error that breaks a stream comes out unchanged",
    ),
    SmallLoopWorld(
        "tool that fails",
        ("errors", "status"),
        {"script": CALLS, "tools": [FAILING]},
        _says("event", "ScriptedLoopError: no power"),
        "its result says so",
    ),
    SmallLoopWorld(
        "sleep, abandon",
        ("limits",),
        {"script": CALLS, "tools": [SLOW], "limits": {"tool_seconds": 1}},
        _says("tool_error", "'cancelled': True"),
        "a tool whose time is up is stopped",
    ),
    SmallLoopWorld(
        "cancel",
        ("cancellation",),
        {
            "script": CALLS,
            "tools": [SLOW],
            "turns": [{"input": "hi", "cancel_after": 1}],
        },
        _says("run_end", "'cancelled': True"),
        "a run that is cancelled says so",
    ),
    SmallLoopWorld(
        "log, now",
        ("logs",),
        {"script": CALLS, "tools": [TOOL]},
        _says("effect", "'loop_ended'"),
        "how the run ended is logged",
    ),
    SmallLoopWorld(
        "warning",
        ("loops", "prompts"),
        {"script": CALLS, "tools": [ASKING], "next_prompt": ""},
        lambda trace: bool(trace.of("warning") or len(trace.of("model_request")) > 1),
        "an empty prompt gives a warning, or is sent",
    ),
)
"""A world for each function that a stream loop has of its own."""

"""The self-test of a driver that plays sessions: small worlds of callbacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from compat.drivers.checked import FunctionChecked, judged, lacking
from compat.drivers.sessions import RemoteCallbacks
from compat.engines.callbacks.playing import play_callbacks
from compat.engines.callbacks.scenario import CallbacksScenario
from refengine.testing.trace import ObservationKind, Trace


@dataclass(frozen=True, slots=True)
class SmallSessionWorld:
    """A world that shows a function, and what its trace has to hold."""

    function: str
    needs: tuple[str, ...]
    doc: Mapping[str, Any]
    holds: Callable[[Trace], bool]
    wanted: str

    def check(self, door: RemoteCallbacks) -> FunctionChecked:
        """Play it, if the driver declares what it needs."""
        missing = lacking(self.function, self.needs, door.capabilities)
        if missing is not None:
            return missing
        scenario = CallbacksScenario.model_validate_json(json.dumps(self.doc))
        trace = play_callbacks(scenario, door)
        ends = [each.data.get("error") for each in trace.of("run_end", "effect")]
        errors = [str(each) for each in ends if each]
        return judged(self.function, self.holds(trace), self.wanted, errors)


def _says(kind: ObservationKind, text: str) -> Callable[[Trace], bool]:
    return lambda trace: any(text in str(each.data) for each in trace.of(kind))


HI: Final = [{"texts": ["hi"]}]
CALLS: Final = [{"texts": ["so"], "calls": [{"id": "1", "name": "f"}]}]
CONNECT: Final = [{"do": "connect", "client": "a"}]


def _client(**hears: Any) -> dict[str, Any]:  # noqa: ANN401  # a scenario's JSON
    return {
        "clients": [{"name": "a", "hears": hears}],
        "turns": [{"before": CONNECT}],
    }


SESSION_WORLDS: Final = (
    SmallSessionWorld(
        "run, model, pull",
        (),
        {"script": [{"texts": ["do", "ne"]}], "turns": [{}]},
        _says("run_end", "'content': 'done'"),
        "the answer that the model streams comes back",
    ),
    SmallSessionWorld(
        "session stored",
        (),
        {"script": [{"texts": ["done"]}], "turns": [{}]},
        _says("checkpoint", "'content': 'done'"),
        "what the session ended with is stored",
    ),
    SmallSessionWorld(
        "tool",
        (),
        {"script": CALLS, "tools": [{"name": "f"}], "turns": [{}]},
        lambda trace: len(trace.of("tool_end")) == 1,
        "the tool is called once",
    ),
    SmallSessionWorld(
        "session connect, callback",
        ("clients",),
        {"script": CALLS, "tools": [{"name": "f"}], **_client(on_agent_step={})},
        _says("event", "on_agent_step"),
        "a client is told of a step",
    ),
    SmallSessionWorld(
        "load_agent_storage",
        ("clients",),
        _client(load_agent_storage={"gives": {"messages": [], "mood": "good"}}),
        _says("run_end", "'mood': 'good'"),
        "a session goes on from the state that a client gives",
    ),
    SmallSessionWorld(
        "session listen",
        ("listener",),
        {
            "script": CALLS,
            "tools": [{"name": "f"}],
            "turns": [
                {"before": [{"do": "listen", "hears": {"on_tool_execution_end": {}}}]}
            ],
        },
        _says("event", "on_tool_execution_end"),
        "the listener hears of the end of a tool",
    ),
    SmallSessionWorld(
        "hook around_callback, next",
        ("middleware", "clients"),
        {"middleware": [{"name": "m"}], **_client(on_session_end={})},
        lambda trace: (
            bool(trace.of("hook_exit")) and _says("event", "on_session_end")(trace)
        ),
        "a delivery passes through the middleware around it",
    ),
    SmallSessionWorld(
        "run as a stream, close",
        ("stream",),
        {"turns": [{"stream": True, "leave_after": 2}]},
        _says("run_end", "'left': 2"),
        "facts are pulled until the reader leaves",
    ),
    SmallSessionWorld(
        "cancel",
        ("cancellation",),
        {"script": [{"texts": ["so"], "seconds": 9}], "turns": [{"cancel_after": 1}]},
        _says("run_end", "'cancelled': True"),
        "a session that is cancelled says so",
    ),
    SmallSessionWorld(
        "restart",
        ("restart",),
        {"turns": [{}, {"before": [{"do": "restart"}]}]},
        lambda trace: str(trace.of("checkpoint")[-1].data).count("'hi'") > 1,
        "a session goes on from what was stored before",
    ),
)
"""A world for each function that sessions have of their own."""

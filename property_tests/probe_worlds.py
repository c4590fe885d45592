"""The small worlds of ``probing``: each shows that a capability is there.

What tells it stands in the trace: that a hook was entered, that a word of it reached
the model, the history or the consumer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from property_tests.late import LateEngine
from refengine.errors import HookReturnError, ToolResultTypeError
from refengine.messages import Message
from refengine.testing.clock import run
from refengine.testing.doors import Engine
from refengine.testing.json_values import is_list
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import Trace

Agent: TypeAlias = "dict[str, Any]"
Shows: TypeAlias = Callable[[Trace], bool]

CALL: Final = "assistant:[c1:t({})]"
TOOL: Final[Agent] = {"name": "t", "result": "r"}
STREAMED: Final[Agent] = {"name": "t", "kind": "streamable", "chunks": ["r", "s"]}
FAILS: Final[Agent] = {"error": "probe"}
_CALLS: Final = "assistant:[c1:t({})]"
RECORD: Final = [{"op": "record"}]
NOTE: Final = [{"op": "append", "msg": "user:probe"}]
PREFIX: Final[Agent] = {"prefix_result": "probe "}
PASS: Final[Agent] = {"ctx_append": {"key": "h", "text": "probe"}}


@dataclass(frozen=True, slots=True)
class ProbeWorld:
    """A small world and what shows in its trace that the capability is there."""

    agent: Agent
    shows: Shows
    script: tuple[object, ...] = (CALL, "assistant:done")
    run: Agent | None = None
    more: tuple[Agent, ...] = ()
    late: bool = False
    """Whether the consumer is slow to look at what it is told."""

    def trace(self, engine: Engine) -> Trace:
        """Play it; raises what the engine raises."""
        runs = [{"input": ["user:hi"], **(self.run or {})}, *self.more]
        agent = {"tools": [TOOL], **self.agent}
        scenario = {"agent": agent, "model_script": [*self.script], "runs": runs}
        played = LateEngine(engine) if self.late else engine
        return run(play(read_scenario(scenario), played))


def _handler(shows: Shows, **hooks: object) -> ProbeWorld:
    return ProbeWorld({"handlers": [{"id": "h", **hooks}]}, shows)


def _struct(shows: Shows, **fields: object) -> ProbeWorld:
    return ProbeWorld({"middlewares": [{"id": "m", **fields}]}, shows)


def _entered(hook: str) -> Shows:
    def shows(trace: Trace) -> bool:
        return any(each.data["hook"] == hook for each in trace.of("hook_enter"))

    return shows


def _completed(trace: Trace) -> bool:
    return [each.data["status"] for each in trace.of("run_end")] == ["completed"]


def _sent(trace: Trace) -> bool:
    """Tell whether the model was sent a message with the word in it."""
    requests = (cast("list[Message]", e.data["messages"]) for e in trace.of(REQUEST))
    return any("probe" in each.content for sent in requests for each in sent)


def _kept(trace: Trace) -> bool:
    """Tell whether a run ended with a message with the word in it."""
    ends = (cast("list[Message]", e.data["messages"]) for e in trace.of("run_end"))
    return any("probe" in each.content for kept in ends for each in kept)


def _reached_consumer(trace: Trace) -> bool:
    """Tell whether the consumer was told of an answer with the word in it."""
    return any("probe" in str(dict(each.data)) for each in trace.of("event"))


def _streamed_to_consumer(trace: Trace) -> bool:
    """Tell whether such an answer came as a stream."""
    streams = [each.data.get("stream") for each in trace.of("event")]
    return any("probe" in str(each) for each in streams)


def _executed(trace: Trace) -> bool:
    return bool(trace.of("tool_start"))


def _has_context(trace: Trace) -> bool:
    """Tell whether a hook or a tool further on was given the value."""
    seen = trace.of("hook_enter", "tool_start")
    return any("probe" in str(each.data.get("ctx")) for each in seen)


def _has_options(trace: Trace) -> bool:
    requests = trace.of(REQUEST)
    return bool(requests) and requests[0].data["options"] == {"probe": 1}


def _as_written(trace: Trace) -> bool:
    return [each.data["arguments"] for each in trace.of("tool_start")] == ["probe"]


def _one_by_one(trace: Trace) -> bool:
    calls = [(e.kind, e.call_id) for e in trace.of("tool_start", "tool_end")]
    first = [("tool_start", "c1"), ("tool_end", "c1")]
    return calls == [*first, ("tool_start", "c2"), ("tool_end", "c2")]


def _both_ran(trace: Trace) -> bool:
    """Tell whether both calls of a message ran, and were told under their ids."""
    return _calls_told(trace) == ["c1", "c2"] and len(trace.of("tool_end")) == 2


def _both_told(trace: Trace) -> bool:
    """Tell whether both calls of one id ran, and were told."""
    return _calls_told(trace) == ["c1", "c1"] and len(trace.of("tool_end")) == 2


def _calls_told(trace: Trace) -> list[str | None]:
    told = (each.call_id for each in trace.of("event") if each.data["kind"] == "tool")
    return sorted(told, key=str)


def _all_begun(trace: Trace) -> bool:
    """Tell whether both calls had begun before one of them was over."""
    calls = [each.kind for each in trace.of("tool_start", "tool_end")]
    return calls[:2] == ["tool_start", "tool_start"]


def _called_twice(trace: Trace) -> bool:
    return len(trace.of("tool_start")) == 2


def _ended_directly(trace: Trace) -> bool:
    ends = [each.data["status"] for each in trace.of("run_end")]
    return ends == ["returned_directly"]


def _in_chunks(trace: Trace) -> bool:
    """Tell whether the consumer was given more than one chunk of an answer."""
    streams = [each.data.get("stream") for each in trace.of("event")]
    return any(is_list(each) and len(each) > 1 for each in streams)


def _kept_value(trace: Trace) -> bool:
    """Tell whether a hook put down the value that another one had kept."""
    return any("probe" in str(dict(each.data)) for each in trace.of("effect"))


def _twice_seen(trace: Trace) -> bool:
    """Tell whether the model was sent, or the run kept, what two extensions did."""
    requests = trace.of(REQUEST, "run_end")
    sent = (cast("list[Message]", each.data["messages"]) for each in requests)
    return any(str(each).count("probe") >= 2 for each in sent)


def _half_sent(trace: Trace) -> bool:
    requests = (cast("list[Message]", e.data["messages"]) for e in trace.of(REQUEST))
    return any("\ud83d" in each.content for sent in requests for each in sent)


def _waited(trace: Trace) -> bool:
    """Tell whether each answer was taken before anything came of it."""
    kinds = [each.kind for each in trace]
    follows = [kinds[at + 1] for at, kind in enumerate(kinds) if kind in GIVES]
    return bool(follows) and set(follows) == {"event"}


def _two(extensions: str, hook: str, does: object) -> ProbeWorld:
    """Return an agent of two extensions, of which the second one does something."""
    two: list[Agent] = [{"id": name, hook: does} for name in "gh"]
    return ProbeWorld({extensions: two}, _twice_seen)


def _crowd(extensions: str, hook: str) -> ProbeWorld:
    """Return an agent of very many extensions, the last of which adds a word."""
    many: list[Agent] = [{"id": f"x{at}", hook: RECORD} for at in range(CROWD)]
    return ProbeWorld({extensions: [*many, {"id": "last", hook: NOTE}]}, _sent)


def _refused(trace: Trace) -> bool:
    """Tell whether a run ended with the error of what gave back another shape."""
    return any(each.data.get("class") in REFUSALS for each in trace.of("event")[-1:])


def _left_whole(trace: Trace) -> bool:
    """Tell whether a run was cancelled, and left a result for its call."""
    (end,) = trace.of("run_end")
    kept = cast("list[Message]", end.data["messages"])
    return end.data["status"] == "cancelled" and kept[-1].role == "tool"


def _handed_back(trace: Trace) -> bool:
    """Tell whether a run that failed has the result that came before."""
    (end,) = trace.of("run_end")
    kept = cast("list[Message]", end.data["messages"])
    return end.data["status"] == "error" and any(each.role == "tool" for each in kept)


REQUEST: Final = "model_request"
REFUSALS: Final = (HookReturnError.__name__, ToolResultTypeError.__name__)
GIVES: Final = frozenset(("model_response", "tool_end"))
"""What an event tells of, where nobody wraps the model and the tools."""
CROWD: Final = 1_000
_SLOW: Final[Agent] = {"name": "slow", "result": "r", "delay_ms": 50}
_FAST: Final[Agent] = {"name": "fast", "result": "r"}
_ASKS: Final[Agent] = {
    "name": "t",
    "result": "<answer>",
    "body": [{"op": "ask", "payload": "?"}],
}
_BOTH: Final = "assistant:[c1:slow({})][c2:fast({})]"
_TWICE: Final = "assistant:[c1:t({})][c1:t({})]"
_KEEP: Final = [{"op": "runlocal_set", "key": "k", "value": "probe"}]
_FIND: Final = [{"op": "runlocal_get", "key": "k"}]

WORLDS: Final[Mapping[str, tuple[ProbeWorld, ...]]] = MappingProxyType(
    {
        "before_agent": (_handler(_entered("before_agent"), before_agent=RECORD),),
        "before_model": (_handler(_sent, before_model=NOTE),),
        "after_model": (_handler(_kept, after_model=NOTE),),
        "after_agent": (_handler(_entered("after_agent"), after_agent=RECORD),),
        "wrap_model": (
            _handler(_reached_consumer, wrap_model={"set_content": "probe"}),
        ),
        "wrap_tool": (_handler(_sent, wrap_invokable=PREFIX),),
        "wrap_streamable": (
            ProbeWorld(
                {
                    "tools": [STREAMED],
                    "handlers": [{"id": "h", "wrap_streamable": PREFIX}],
                },
                _sent,
            ),
        ),
        "many_extensions": (
            _crowd("handlers", "before_model"),
            _crowd("middlewares", "before_chat_model"),
        ),
        "adapted_structs": (_struct(_sent, wrap_tool_call={"invokable": PREFIX}),),
        "struct_tools": (
            ProbeWorld(
                {"tools": [], "middlewares": [{"id": "m", "additional_tools": [TOOL]}]},
                _executed,
            ),
        ),
        "struct_instruction": (_struct(_sent, additional_instruction="probe"),),
        "struct_model_hooks": (_struct(_sent, before_chat_model=NOTE),),
        "struct_tool_wrappers": (_struct(_sent, wrap_tool_call={"invokable": PREFIX}),),
        "tool_call_middlewares": (
            ProbeWorld({"tool_call_middlewares": [{"id": "w", **PREFIX}]}, _sent),
        ),
        "unknown_tools_handler": (
            ProbeWorld(
                {"unknown_tools_handler": "probe"},
                _sent,
                ("assistant:[c1:nowhere({})]", "assistant:done"),
            ),
        ),
        "sequential": (
            ProbeWorld(
                {"tools": [_SLOW, _FAST], "sequential": True},
                _one_by_one,
                (_BOTH, "assistant:done"),
            ),
        ),
        "parallel_calls": (
            ProbeWorld({"tools": [_SLOW, _FAST]}, _both_ran, (_BOTH, "assistant:done")),
        ),
        "equal_call_ids": (ProbeWorld({}, _both_told, (_TWICE, "assistant:done")),),
        "concurrent_calls": (
            ProbeWorld(
                {"tools": [_SLOW, _FAST]}, _all_begun, (_BOTH, "assistant:done")
            ),
        ),
        "return_directly": (
            ProbeWorld({"return_directly": {"t": True}}, _ended_directly),
        ),
        "streaming": (
            ProbeWorld({}, _in_chunks, ("assistant:well done",), {"streaming": True}),
        ),
        "streamable_tools": (
            ProbeWorld({"tools": [{**STREAMED, "chunks": ["pro", "be"]}]}, _sent),
        ),
        "edited_config": (
            _handler(
                _sent, before_agent=[{"op": "append_instruction", "text": "probe"}]
            ),
        ),
        "several_handlers": (
            _two("handlers", "before_model", NOTE),
            _two("handlers", "after_model", NOTE),
            _two("handlers", "wrap_invokable", PREFIX),
            _two("handlers", "wrap_model", {"append_input": "user:probe"}),
            _two("middlewares", "before_chat_model", NOTE),
            _two("middlewares", "wrap_tool_call", {"invokable": PREFIX}),
            _two("middlewares", "additional_instruction", "probe"),
        ),
        "next_twice": (
            _handler(_called_twice, wrap_invokable={"call_next": 2}),
            _struct(_called_twice, wrap_tool_call={"invokable": {"call_next": 2}}),
            ProbeWorld({"tool_call_middlewares": [{"call_next": 2}]}, _called_twice),
        ),
        "run_locals": (
            _handler(_kept_value, before_model=_KEEP, after_model=_FIND),
            _handler(_kept_value, before_model=_KEEP, after_agent=_FIND),
            _handler(
                _kept_value, before_model=_KEEP, wrap_invokable={"runlocal_get": "k"}
            ),
            _struct(_kept_value, before_chat_model=_KEEP, after_chat_model=_FIND),
        ),
        "lone_surrogates": (
            ProbeWorld({}, _half_sent, run={"input": ["user:<u+d83d>"]}),
        ),
        "context": (
            _handler(
                _has_context,
                before_model=[{"op": "ctx_set", "key": "h", "value": "probe"}],
                wrap_invokable={},
            ),
            _handler(_has_context, wrap_invokable=PASS),
            _struct(_has_context, wrap_tool_call={"invokable": PASS}),
            ProbeWorld({"tool_call_middlewares": [{"id": "w", **PASS}]}, _has_context),
        ),
        "run_options": (ProbeWorld({}, _has_options, run={"options": {"probe": 1}}),),
        "streamed_model_wraps": (
            ProbeWorld(
                {"handlers": [{"id": "h", "wrap_model": {"set_content": "probe"}}]},
                _streamed_to_consumer,
                ("assistant:done",),
                {"streaming": True},
            ),
        ),
        "arguments_text": (
            ProbeWorld({}, _as_written, ("assistant:[c1:t(probe)]", "assistant:done")),
        ),
        "resume": (
            ProbeWorld(
                {"tools": [_ASKS]},
                _sent,
                run={"checkpoint": "kept"},
                more=({"resume": "kept", "answers": {"*": "probe"}},),
            ),
        ),
        "cancellation": (
            ProbeWorld(
                {"tools": [_SLOW]},
                _left_whole,
                ("assistant:[c1:slow({})]", "assistant:done"),
                {"cancel": {"when": "tool_start"}},
            ),
        ),
        "failed_history": (ProbeWorld({}, _handed_back, (_CALLS, FAILS)),),
        "retry": (
            ProbeWorld(
                {"retry": {"max_retries": 1}}, _completed, (FAILS, "assistant:done")
            ),
        ),
        "fall_back": (
            ProbeWorld(
                {"retry": {"fall_back": ["other"]}},
                _completed,
                (FAILS, "assistant:done"),
            ),
        ),
        "run_context": (
            ProbeWorld({}, _has_context, run={"doors": {"context": {"h": "probe"}}}),
        ),
        "actions": (
            ProbeWorld(
                {"tools": [{**TOOL, "action": {"transfer_to": "probe"}}]},
                _reached_consumer,
            ),
        ),
        "own_errors": (
            ProbeWorld({"tools": [{**TOOL, "result": "7", "as_json": True}]}, _refused),
        ),
        "lock_step": (ProbeWorld({}, _waited, late=True),),
    }
)
"""The worlds of each capability; one of them has to show it."""

UNDER: Final[Mapping[str, tuple[str, str, ProbeWorld]]] = MappingProxyType(
    {
        # Nobody calls the hook: what can be shown is that it is taken.
        "after_agent": (
            "after_agent",
            "never",
            _handler(_completed, after_agent=RECORD),
        ),
        # A tool's error ends no run; that of a hook does.
        "own_errors": (
            "wrapper_raises",
            "answered",
            _handler(_refused, before_model=[{"op": "give_back", "shape": "nothing"}]),
        ),
    }
)
"""By capability: under this option of this posture another world shows it."""

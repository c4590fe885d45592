"""What an engine can do, found by trying: declared is not yet shown.

Each capability has a small world, or several where different extensions can show it,
and what tells from a trace that it is there. A door that refuses has it not; one that
takes the extension and forgets it has it not, either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from compat.engines.capabilities import CAPABILITIES, Refusing
from compat.engines.loading import LoadedEngine
from property_tests.playing import StructsAdapted
from refengine.messages import Message
from refengine.profile import Profile
from refengine.testing.clock import run
from refengine.testing.doors import Engine
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import Trace

Agent: TypeAlias = "dict[str, Any]"
Shows: TypeAlias = Callable[[Trace], bool]

CALL: Final = "assistant:[c1:t({})]"
TOOL: Final[Agent] = {"name": "t", "result": "r"}
STREAMED: Final[Agent] = {"name": "t", "kind": "streamable", "chunks": ["r", "s"]}
FAILS: Final[Agent] = {"error": "probe"}
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

    def trace(self, engine: Engine) -> Trace:
        """Play it; raises what the engine raises."""
        runs = [{"input": ["user:hi"], **(self.run or {})}, *self.more]
        agent = {"tools": [TOOL], **self.agent}
        scenario = {"agent": agent, "model_script": [*self.script], "runs": runs}
        return run(play(read_scenario(scenario), engine))


def probe(loaded: LoadedEngine) -> tuple[frozenset[str], frozenset[str]]:
    """Return what is declared and not found, and what is found and not declared."""
    engine = loaded.engine.engine if isinstance(loaded.engine, Refusing) else None
    tried = [each for each in CAPABILITIES if _is_cheap(each, loaded)]
    found = frozenset(_found(engine or loaded.engine, loaded.profile, tried))
    return loaded.capabilities - found, found - loaded.capabilities


def _is_cheap(capability: str, loaded: LoadedEngine) -> bool:
    """Tell whether to look: an engine not made for crowds may take minutes with one."""
    return capability != "many_extensions" or capability in loaded.capabilities


def _found(
    engine: Engine, profile: Profile, capabilities: Iterable[str]
) -> Iterator[str]:
    for capability in capabilities:
        adapted = capability == "adapted_structs"
        tried = StructsAdapted(engine, profile) if adapted else engine
        worlds = _worlds_of(capability, profile)
        if any(_shown(each, tried) for each in worlds):
            yield capability


def _worlds_of(capability: str, profile: Profile) -> tuple[ProbeWorld, ...]:
    if capability == "after_agent" and profile.after_agent == "never":
        # A profile under which nobody calls it: what can be shown is that it is taken.
        return (_handler(_completed, after_agent=RECORD),)
    return WORLDS[capability]


def _shown(world: ProbeWorld, engine: Engine) -> bool:
    try:
        return world.shows(world.trace(engine))
    except Exception:  # noqa: BLE001  # what breaks down shows nothing
        return False


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


def _crowd(extensions: str, hook: str) -> ProbeWorld:
    """Return an agent of very many extensions, the last of which adds a word."""
    many: list[Agent] = [{"id": f"x{at}", hook: RECORD} for at in range(CROWD)]
    return ProbeWorld({extensions: [*many, {"id": "last", hook: NOTE}]}, _sent)


def _left_whole(trace: Trace) -> bool:
    """Tell whether a run was cancelled, and left a result for its call."""
    (end,) = trace.of("run_end")
    kept = cast("list[Message]", end.data["messages"])
    return end.data["status"] == "cancelled" and kept[-1].role == "tool"


REQUEST: Final = "model_request"
CROWD: Final = 1_000
_SLOW: Final[Agent] = {"name": "slow", "result": "r", "delay_ms": 50}
_FAST: Final[Agent] = {"name": "fast", "result": "r"}
_ASKS: Final[Agent] = {
    "name": "t",
    "result": "<answer>",
    "body": [{"op": "ask", "payload": "?"}],
}
_BOTH: Final = "assistant:[c1:slow({})][c2:fast({})]"

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
        "streamable_tools": (
            ProbeWorld({"tools": [{**STREAMED, "chunks": ["pro", "be"]}]}, _sent),
        ),
        "edited_config": (
            _handler(
                _sent, before_agent=[{"op": "append_instruction", "text": "probe"}]
            ),
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
                _reached_consumer,
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
        "retry": (
            ProbeWorld(
                {"retry": {"max_retries": 1}}, _completed, (FAILS, "assistant:done")
            ),
        ),
    }
)
"""The worlds of each capability; one of them has to show it."""

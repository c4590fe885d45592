"""Which worlds are unusual: no application meets them.

A vendor's interface or the framework would refuse such a world, or never produce it:
results without a call, input that does not end with the user, equal ids of calls, lone
surrogates, a tool that returns directly where neither side speaks of that, and two
tools of one name where a side binds them to the model by itself: vendors refuse that
request, which a framework does not send. Where
calls are tasks, two at one time of a tool that fails by their count are luck. So is
unusual what a migration declares outside of what its subjects are for. Unknown tools,
refused arguments, long and empty texts are ordinary (verdicts, Migration).

A divergence in unusual worlds alone is told apart from one that a user would meet.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from types import MappingProxyType
from typing import Final, TypeAlias

from refengine.messages import Message, join_chunks
from refengine.testing.notation import (
    BORDER,
    SURROGATE,
    parse_chunk,
    parse_message,
)
from refengine.testing.own_tools import is_own
from refengine.testing.scenario import (
    ModelChunks,
    ModelFailure,
    RunSpec,
    Scenario,
    ScriptEntry,
)
from refengine.testing.subject_worlds.calls_together import SILENT, CallsSpoken
from refengine.testing.subject_worlds.code_tokens import script_tools

NO_DIRECT: Final = "no tool returns directly"
TOOLS: Final = "at least one tool"
ENDS_WITH_USER: Final = "input ends with the user"
NONE_FAILS: Final = "no tool fails"
KNOWN_CALLED: Final = "only known tools are called"
OWN_NAMES: Final = "no two tools have one name"
ALONE: Final = "no other extensions"
WHOLE: Final = "no run streams"
ONE_PART: Final = "no message has several texts"
BINDS: Final = "bind_tools"
"""How a source speaks of binding tools to a model by itself."""
DIRECT: Final = re.compile(r"returns?[_ ]?direct", re.IGNORECASE)
"""How a source speaks of tools that return directly, whatever its framework."""
READ: Final = 4096
"""So many messages are remembered: those of a few long worlds."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What two sides say of the worlds they are used in.

    ``direct`` is whether either speaks of tools that return directly; ``outside`` is
    what the settings declare, in the words of ``OUTSIDE``, ``own_tools`` are those that
    they make, and ``calls`` is what they say of calls that come together. Where the
    calls of an answer are ``tasks``, who comes first is luck; ``binds`` is whether a
    side binds tools to a model by itself. Frameworks that ``pair`` refuse a call
    without a result, some in newer releases only, as vendors do.
    """

    direct: bool = False
    outside: tuple[str, ...] = ()
    own_tools: frozenset[str] = frozenset()
    calls: CallsSpoken = SILENT
    tasks: bool = False
    binds: bool = False
    pair: bool = False

    @classmethod
    def of(cls, sources: Iterable[str], outside: Sequence[str] = ()) -> Spoken:
        """Return what these sources say, and what is declared."""
        texts = (*sources,)
        direct = any(DIRECT.search(text) is not None for text in texts)
        own = frozenset[str]().union(*map(script_tools, texts))
        calls = CallsSpoken.of(texts, direct=direct)
        binds = any(BINDS in text for text in texts)
        return cls(direct, tuple(outside), own, calls, binds=binds)


UNSPOKEN: Final = Spoken()

Reasons: TypeAlias = "Callable[[Scenario], str | None]"


def unusual(scenario: Scenario, spoken: Spoken) -> str | None:
    """Return why no application meets this world, None if it is an ordinary one."""
    reasons: list[Reasons] = [
        _orphans,
        _ends_otherwise,
        _equal_ids,
        _surrogates,
        *(OUTSIDE[each] for each in spoken.outside if each != KNOWN_CALLED),
    ]
    if KNOWN_CALLED in spoken.outside:
        reasons.append(partial(_calls_unknown, own=spoken.own_tools))
    if not spoken.direct:
        reasons.append(_direct)
    if spoken.tasks:
        reasons.append(_raced)
    if spoken.binds:
        reasons.append(_equal_names)
    if spoken.pair:
        reasons.append(_unanswered)
    return next(filter(None, (reason(scenario) for reason in reasons)), None)


def _ends_otherwise(scenario: Scenario) -> str | None:
    for number, run in enumerate(scenario.runs, 1):
        last = run.input[-1] if run.input else ""
        if run.resume is None and (not last or _read(last).role != "user"):
            return f"the input of run {number} does not end with the user"
    return None


def _orphans(scenario: Scenario) -> str | None:
    answered = {id_ for entry in scenario.model_script for id_ in _ids_of(entry)}
    for thread in _threads(scenario.runs):
        called: set[str | None] = set(answered) if len(thread) > 1 else set()
        for message in _given(thread):
            if message.role == "tool" and message.tool_call_id not in called:
                return f"the result {message.tool_call_id!r} has no call before it"
            called |= {call.id for call in message.tool_calls}
    return None


def _unanswered(scenario: Scenario) -> str | None:
    for thread in _threads(scenario.runs):
        given = [*_given(thread)]
        answered = {each.tool_call_id for each in given if each.role == "tool"}
        for call in (call for each in given for call in each.tool_calls):
            if call.id not in answered:
                return f"the call {call.id!r} has no result in what is given"
    return None


def _equal_ids(scenario: Scenario) -> str | None:
    asked = [id_ for entry in scenario.model_script for id_ in _ids_of(entry)]
    if scenario.script_end == "repeat_last" and scenario.model_script:
        asked += _ids_of(scenario.model_script[-1])
    times = Counter(asked)
    twice = [id_ for id_, asks in times.items() if asks > 1]
    for thread in _threads(scenario.runs):
        past = Counter(call.id for each in _given(thread) for call in each.tool_calls)
        for id_ in (*twice, *past):
            if times[id_] + past[id_] > 1:
                return f"{times[id_] + past[id_]} calls have the id {id_!r}"
    return None


def _raced(scenario: Scenario) -> str | None:
    """Tell where two calls of an answer are counted, and which is the first is luck.

    One who tries again comes before the other call or behind it, as tasks come.
    """
    if scenario.way != "async":
        return None
    counted = {
        tool.name
        for agent in scenario.all_agents
        for tool in agent.tools
        if any(each.on_call is not None for each in tool.body)
    }
    for entry in scenario.model_script:
        for name, times in Counter(_names_of(entry)).items():
            if times > 1 and name in counted:
                return f"{times} calls of {name!r} at one time, which counts them"
    return None


def _surrogates(scenario: Scenario) -> str | None:
    # In JSON as it is dumped, one stands as it is written, never as an escape.
    found = SURROGATE.search(scenario.model_dump_json(exclude_defaults=True))
    return None if found is None else f"a text holds the lone surrogate {found[0]}"


def _direct(scenario: Scenario) -> str | None:
    for agent in scenario.all_agents:
        for name, flag in sorted(agent.return_directly.items()):
            if flag:
                return f"the tool {name!r} returns directly"
    return None


def _without_tools(scenario: Scenario) -> str | None:
    none = any(not agent.tools for agent in scenario.all_agents)
    return "an agent has no tools" if none else None


def _fails(scenario: Scenario) -> str | None:
    for agent in scenario.all_agents:
        for tool in agent.tools:
            raises = any(each.op == "error" for each in tool.body)
            if raises or tool.error is not None or tool.stream_error is not None:
                return f"the tool {tool.name!r} fails"
    return None


def _calls_unknown(
    scenario: Scenario, own: AbstractSet[str] = frozenset()
) -> str | None:
    known = {tool.name for agent in scenario.all_agents for tool in agent.tools} | own
    for entry in scenario.model_script:
        for name in _names_of(entry):
            if name not in known and not is_own(name):
                return f"the model calls {name!r}, which is not a tool of the agent's"
    return None


def _equal_names(scenario: Scenario) -> str | None:
    for agent in scenario.all_agents:
        brought = (each.additional_tools for each in agent.middlewares)
        names = Counter(tool.name for tool in chain(agent.tools, *brought))
        for name, times in names.items():
            if times > 1:
                return f"{times} tools have the name {name!r}"
    return None


def _beside_others(scenario: Scenario) -> str | None:
    others = any(
        (*each.middlewares, *each.handlers, *each.tool_call_middlewares)
        for each in scenario.all_agents
    )
    return "an agent has extensions of its own" if others else None


def _in_parts(scenario: Scenario) -> str | None:
    found = BORDER in scenario.model_dump_json(exclude_defaults=True)
    return "a message has several texts" if found else None


def _streams(scenario: Scenario) -> str | None:
    for number, run in enumerate(scenario.runs, 1):
        if run.streaming:
            return f"run {number} streams"
    return None


OUTSIDE: Final[Mapping[str, Reasons]] = MappingProxyType(
    {
        NO_DIRECT: _direct,
        TOOLS: _without_tools,
        ENDS_WITH_USER: _ends_otherwise,
        NONE_FAILS: _fails,
        KNOWN_CALLED: _calls_unknown,
        OWN_NAMES: _equal_names,
        ALONE: _beside_others,
        WHOLE: _streams,
        ONE_PART: _in_parts,
    }
)
"""What a migration may declare: no world that breaks one of these is ordinary."""
PROPOSED: Final = (NONE_FAILS, KNOWN_CALLED, OWN_NAMES, ALONE)
"""Those of which two engines may do otherwise, whatever a port does."""


def declarable(
    scenario: Scenario, own: AbstractSet[str] = frozenset()
) -> Iterator[tuple[str, str]]:
    """Yield what may be declared of two engines so that this world is unusual, why.

    ``own`` are tools that the subject brings, which nobody calls unknown.
    """
    for name in PROPOSED:
        known = name == KNOWN_CALLED
        why = _calls_unknown(scenario, own) if known else OUTSIDE[name](scenario)
        if why is not None:
            yield name, why


def _threads(runs: Sequence[RunSpec]) -> list[list[RunSpec]]:
    """Return runs with the turns that continue them."""
    threads: list[list[RunSpec]] = []
    for run in runs:
        if threads and (run.continues or run.resume is not None):
            threads[-1].append(run)
        else:
            threads.append([run])
    return threads or [[]]


def _given(thread: Iterable[RunSpec]) -> Iterator[Message]:
    return (_read(text) for run in thread for text in run.input)


def _ids_of(entry: ScriptEntry) -> list[str]:
    """Return the ids of an answer's calls; pieces of one call are one."""
    if isinstance(entry, ModelFailure):
        return []
    if not isinstance(entry, ModelChunks):
        return [call.id for call in _read(entry).tool_calls]
    found: dict[object, str] = {}
    for at, text in enumerate(entry.chunks):
        for number, call in enumerate(parse_chunk(text).tool_calls):
            place = (at, number) if call.index is None else call.index
            if call.id:
                found[place] = call.id
    return list(found.values())


def _names_of(entry: ScriptEntry) -> list[str]:
    """Return the names of the tools that an answer calls."""
    if isinstance(entry, ModelFailure):
        return []
    if isinstance(entry, ModelChunks):
        answer = join_chunks(map(parse_chunk, entry.chunks))
        return [call.name for call in answer.tool_calls]
    return [call.name for call in _read(entry).tool_calls]


@lru_cache(maxsize=READ)
def _read(text: str) -> Message:
    """Return a message that is only looked at.

    Reasons read the same texts one after the other, and so do worlds that are made
    smaller.
    """
    return parse_message(text)

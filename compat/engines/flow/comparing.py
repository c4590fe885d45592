"""What two Flow engines saw of one scenario, in a form in which it can be compared.

Ids are renamed in the order in which they come. What the models were told to give is
left out, since it is the world's own. Texts of errors are an engine's wording, as are
the notes that it adds to instructions; those of a world are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from compat.engines.flow.scenario import FlowAgentSpec, FlowScenario
from refengine.messages import Json
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.projection import TraceEntries
from refengine.testing.trace import Observation, Trace

_OWN_ID: Final = re.compile(
    r"\b(?:adk-|e-)?(?:id\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"
)
_INPUTS: Final = frozenset(("model_chunk", "model_response", "model_error"))
_OUTSIDE: Final = frozenset(("event", "run_end", "checkpoint"))
_IDENTITY: Final = re.compile(
    r"You are (?:the agent with the internal|an agent\. Your internal) name"
    r" (?:is )?[`\"](\w+)[`\"]\."
)
_PLUGIN: Final = re.compile(r"during '(\w+?)(?:_callback)?' callback")
_TRANSFER: Final = re.compile(
    r"\s*You (?:can hand over|have a list of other agents to transfer).*", re.DOTALL
)
_STRUCTURED: Final = re.compile(r"\s*IMPORTANT: [^\n]*\bset_model_response\b[^\n]*")
_TARGET: Final = re.compile(r"^(?:- |Agent name: )(\w+)", re.MULTILINE)
_HINT: Final = re.compile(
    r"may tool '\w+' run\?[^\"]*|Please approve or reject the tool call[^\"]*"
)
_WAITS: Final = re.compile(
    r"(?:Error: )?agent '(\w+)' (?:waits for .*, which a tool cannot be told"
    r"|stopped waiting on unresolved long-running tool .*)"
)
_OWN_TOOLS: Final = frozenset(("transfer_to_agent", "set_model_response"))
_ERROR: Final = re.compile(r"(?!ScriptedFlow)\w*Error|Exception")
_REFUSED: Final = re.compile(
    r"This tool call is rejected\.|error tool \"\w+\" call is rejected"
)
_AVAILABLE: Final = re.compile(r"(Available tools: )([^\n\\]*)")
_LATER: Final = re.compile(r"\s*NOTE: This is a long-running operation\.[^\n]*")


def comparable_flow(trace: Trace, scenario: FlowScenario) -> list[Json]:
    """Return what was seen, for a comparison with what another engine saw.

    Within a run that streams, or in which agents run in parallel, only what belongs
    together is in order: an engine may be ahead of its consumer, and branches of each
    other, as may an agent that is called as a tool beside another call. When one of
    them fails, how far the others were is luck, and what is kept of them: of that run
    it is compared that it began and how it ended, and nothing is of those behind it.
    """
    return [cast("Json", entry) for _, entry in _told(trace, scenario)]


def flow_entries(trace: Trace, scenario: FlowScenario) -> TraceEntries:
    """Return the same as projections read it: an entry for each observation.

    ``lane`` is what an entry is in order with. What is luck has no kind.
    """
    lanes = _lanes(scenario)
    found: list[dict[str, Any]] = [
        {
            "kind": each.kind if each.kind in _INPUTS else "",
            "run": each.run,
            "lane": _lane(each.kind, each.data, lanes, scenario, each.run),
        }
        for each in trace
    ]
    for place, entry in _told(trace, scenario):
        row = {**entry["data"], "kind": entry["kind"], "call": entry["call_id"] or ""}
        found[place].update(row)
    return TraceEntries(found)


def _told(
    trace: Trace, scenario: FlowScenario
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield what is compared, lane by lane of each run, with its place in the trace."""
    lanes, names = _lanes(scenario), _Names(scenario)
    entries = [
        (each.run, _lane(each.kind, each.data, lanes, scenario, each.run), at, each)
        for at, each in _without_luck(trace, scenario)
        if each.kind not in _INPUTS
    ]
    for *_, place, each in sorted(entries, key=lambda entry: entry[:3]):
        told = _by_lane(each.canonical(), lanes)
        plain = {key: _without_wording(x) for key, x in told.items() if key != "seq"}
        yield place, cast("Mapping[str, Any]", names.of_entry(plain))


def _without_luck(
    trace: Trace, scenario: FlowScenario
) -> Iterator[tuple[int, Observation]]:
    """Yield what was seen, up to a run in which one of several at once failed."""
    lanes, always = _lanes(scenario), bool(dict(_branches(scenario.agent)))
    sided = {each.run for each in trace if always or _agent_of(each.data) in lanes}
    ends = (each for each in trace.of("run_end") if "error" in each.data)
    failed = next((each.run for each in ends if each.run in sided), None)
    for at, each in enumerate(trace):
        frames = each.run == failed and each.kind in {"run_start", "run_end"}
        if failed is None or each.run < failed or frames:
            yield at, each


def _by_lane(entry: dict[str, Any], lanes: Mapping[str, str]) -> dict[str, Any]:
    """Return an entry with the events that are kept in the order of their branches."""
    if entry["kind"] != "checkpoint" or not lanes:
        return entry
    kept = entry["data"]
    events = sorted(kept["events"], key=lambda each: lanes.get(each["author"], ""))
    return {**entry, "data": {**kept, "events": events}}


def _lanes(scenario: FlowScenario) -> Mapping[str, str]:
    """Return for each agent beside others in whose branch it is, or in which tool."""
    beside = (pair for each in scenario.agents() for pair in _beside(each))
    return {**dict(_branches(scenario.agent)), **dict(beside)}


def _branches(agent: FlowAgentSpec) -> Iterator[tuple[str, str]]:
    for child in agent.sub_agents:
        if agent.kind == "parallel":
            yield from ((each.name, child.name) for each in child.tree())
        else:
            yield from _branches(child)


def _beside(agent: FlowAgentSpec) -> Iterator[tuple[str, str]]:
    """Yield the agents in tools that an agent's model calls beside other tools."""
    several = [each.calls for each in agent.script if len(each.calls) > 1]
    called = {call.name for calls in several for call in calls}
    for tool in agent.tools:
        if tool.agent is not None and tool.called in called:
            yield from ((each.name, tool.called) for each in tool.agent.tree())


def _agent_of(data: Mapping[str, Any]) -> str:
    """Return whose an observation is, empty if it is not an agent's."""
    event: Any = data.get("event") or {}
    return str(data.get("agent") or event.get("author") or "")


def _lane(
    kind: str,
    data: Mapping[str, Any],
    lanes: Mapping[str, str],
    scenario: FlowScenario,
    run: int,
) -> str:
    if kind in {"run_end", "checkpoint"}:
        return "~~"
    streams = run > 0 and scenario.turns[run - 1].stream
    outside = kind in _OUTSIDE or data.get("hook") == "on_event"
    return lanes.get(_agent_of(data), "") + ("~" if streams and outside else "")


class _Names:
    """Names for ids in the order in which they come: of events, of runs, of calls.

    Partial events are chunks, whose ids and actions have names of their own. A run has
    the number of the turn in which it came first, and says whether that turn answers
    something.
    """

    def __init__(self, scenario: FlowScenario) -> None:
        self._known: dict[str, dict[str, str]] = {}
        self._turns, self._kind = scenario.turns, ""

    def of_entry(self, entry: Mapping[str, Any]) -> Json:
        """Return an observation with names in place of ids."""
        run = cast("int", entry["run"])
        turn = self._turns[run - 1] if run else None
        answers = turn is not None and bool(turn.confirms or turn.late)
        self._kind = f"{'answer' if answers else 'run'} {run}"
        return cast("Json", self.named(entry))

    def named(self, value: Any, kind: str = "call") -> Any:  # noqa: ANN401  # any JSON value
        """Return a value with a name for each id of an engine's own in it."""
        if isinstance(value, str):
            return _OWN_ID.sub(lambda found: self._name(found[0], kind), value)
        if is_list(value):
            return [self.named(each) for each in value]
        if not is_mapping(value):
            return value
        event = "author" in value
        chunk = event and bool(value.get("partial"))
        own = ("chunk" if chunk else "event") if event else "call"
        kinds = {"invocation_id": "run", "id": own}
        keys = {"actions": "actions_of_chunk"} if chunk else {}
        return {
            self.named(keys.get(key, key)): self.named(each, kinds.get(key, "call"))
            for key, each in value.items()
        }

    def _name(self, given: str, kind: str) -> str:
        known = self._known.setdefault(kind, {})
        if kind != "run":
            return known.setdefault(given, f"{kind} {len(known) + 1}")
        within = sum(each.partition(",")[0] == self._kind for each in known.values())
        name = f"{self._kind}, {within} within" if within else self._kind
        return known.setdefault(given, name)


def _without_wording(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return a value without what an engine says in its own words."""
    if isinstance(value, str):
        return _without_notes(value)
    if is_list(value):
        return [_without_wording(each) for each in value]
    if not is_mapping(value):
        return value
    left = {key for key in value if _is_wording(key, value)}
    return {key: _without_wording(x) for key, x in value.items() if key not in left}


def _is_wording(key: str, within: Mapping[str, Any]) -> bool:
    """Tell whether a field holds an engine's words, or nothing at all."""
    if key in {"text", "error"} and "class" in within:
        return bool(_ERROR.fullmatch(str(within["class"])))
    if key == "error_message":
        return bool(_ERROR.fullmatch(str(within.get("error_code"))))
    if key == "hint":
        return not within[key] or bool(_HINT.match(str(within[key])))
    if key == "description" and not _LATER.sub("", str(within[key])):
        return True
    if key in {"description", "title"}:
        return within.get("name") in _OWN_TOOLS or "type" in within
    return key in {"args", "payload", "confirmed"} and not within[key]


def _in_order(found: re.Match[str]) -> str:
    """Return names of tools in one order: in Go they have that of a map, which is luck.

    The order of their declarations is the dialect's.
    """
    return found[1] + ", ".join(sorted(found[2].split(", ")))


def _without_notes(text: str) -> str:
    """Return a text without the notes that an engine adds, in a wording of its own."""
    text = _PLUGIN.sub(r"during '\1' callback", _IDENTITY.sub(r"<agent \1>", text))
    text = _WAITS.sub(r"<agent \1 waits>", text)
    text = _STRUCTURED.sub("<structured>", _LATER.sub("", text))
    text = _AVAILABLE.sub(_in_order, text)
    text = _HINT.sub("<hint>", _REFUSED.sub("<rejected>", text))
    note = _TRANSFER.search(text)
    if note is None:
        return text
    targets = " ".join(_TARGET.findall(note[0]))
    return f"{text[: note.start()]}<targets {targets}>"

"""An agent with hooks beside the reference engine, which plays the same world.

A clause of ``contract.toml`` that says what it ``compares`` is decided here, as those
of dialects are: it fails where its projection of the engine's trace differs from that
of the reference's, under the engine's profile and in the world cut down to what the
engine declares. Of several that differ those fail that do so first.

An entry of a projection is an observation with what is in its data, and besides

- ``call``, the id of the call that it belongs to, if it belongs to one; ``twin`` where
  another call of the same message has that id, too, and ``twins`` where two calls of
  its run do;
- ``left``, which tools the last hook before the agent left: ``none``, ``some``, or
  ``doubled`` where two have one name;
- ``behind``, what the world gave last before it, in its call if it belongs to one, else
  in its run;
- ``outer``, the wrapper of its call, or of its model call, that it was met in: its
  ``extension``, ``position`` and what it had ``seen``;
- ``history``, the messages of its run that the first hook of a pass, the outermost
  wrapper or the model saw, and ``roles``, those of each role; ``unanswered`` if a call
  among those that a model is sent has no result;
- ``opens``, where no other saw the history of its iteration before: a ``run``, or an
  iteration with what was ``kept``, or left by hooks ``after`` the model;
- ``dropped`` of a run's start, what the agent's last run left and this does not have;
- ``waited_s`` of a request behind an error of the model, the seconds between them;
- ``turn``, how many requests the run had sent to the model before;
- ``numbers`` that a refusal at build tells, however their digits are grouped;
- ``part`` of a hook: where in a run it acts, of whichever interface it is; the ``way``
  of one around a tool: ``invokable`` or ``streamable``;
- ``first`` where no other entry of its part and turn, or of its call, came before, or
  where no other hook of these was left before;
- ``sibling`` where another call of the same message had begun before; there were so
  many ``calls``;
- ``waited`` where it is the first of its call behind the start of a tool that takes its
  time;
- ``ended``, how its run did: what a run tells that failed is not what it would else;
- ``failed``, the class of the error that its run ended with;
- ``given`` where the world gave the engine something: that a hook made, say;
- ``resumed`` in a run that goes on;
- ``asked`` of an interrupt: ``anew``, or at an address that was told before, which is
  ``waiting``, ``answered``, or told ``twice`` in that run;
- ``several`` of an error's event, if more than one call may have failed at once;
- ``what`` of an event (``model``, ``tool``, ``error`` and the like), ``shown``, its
  text and calls, however they came in pieces, and its ``pieces`` that hold anything.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import chain
from typing import Final, cast

from compat.profiles.own_words import OwnWords
from property_tests.breaking_off import FailedCalls, short_of_departures
from property_tests.check import Check, Decision
from property_tests.dialects.compared import (
    GIVEN,
    ComparedClause,
    Oracle,
    RightTrace,
    first_of,
    lane_decisions,
)
from property_tests.dialects.decision import DialectDecision
from property_tests.registry import Clause, contract
from property_tests.run_histories import RunHistories, has_unanswered
from property_tests.view import HOOKS
from refengine.messages import Json, Message
from refengine.profile import Profile
from refengine.testing.clock import Loops
from refengine.testing.doors import ReferenceEngine
from refengine.testing.json_values import is_list
from refengine.testing.projection import Entry, Projection, TraceEntries, value_at
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.session import play
from refengine.testing.trace import Observation, Trace, to_json

KEPT_WORLDS: Final = 100
"""So many worlds of the reference are kept by who plays each of them once or twice."""

GROUND: Final = Projection(
    of=(
        *("build @call=run", "build_error @call=run"),
        *("model_request messages tools.*.name @call=run", "tool_start name arguments"),
    ),
    lanes="run call",
)
"""What no clause has to fail for that differs behind it: what model and tools were
asked, of which other clauses may still be decided by checks in code.
"""
CONSUMERS: Final = frozenset(("EVT",))
"""The families about what the consumer of a run gets, as are projections of events."""
DEEP: Final = 1_000
"""So many extensions are very many: as deep as Python's stack is by default."""
EMPTY: Final = re.compile(r"assistant:|tool\([^()]*\):")
"""What a trace shows of a chunk that holds nothing."""
PART_OF: Final = {"model_request": "around_model", "tool_start": "around_tool"}
"""The part that stands around what begins, innermost."""
AROUND: Final = frozenset(PART_OF.values())
OUTER: Final = ("extension", "position", "seen")
BEGUN: Final = frozenset(("hook_enter", "hook_exit", *PART_OF))
_PARTS: Final[Mapping[str, str]] = {
    "before_agent": "before_agent",
    "before_chat_model": "before",
    "before_model": "before",
    "wrap_model": "around_model",
    "after_chat_model": "after",
    "after_model": "after",
    "after_agent": "after_agent",
}


@cache
def compared_clauses() -> tuple[ComparedClause, ...]:
    """Return the clauses about agents that are decided by comparison."""
    return tuple(ComparedClause(x) for x in contract().checked if x.compares)


def compared_checks() -> Iterator[Check]:
    """Yield what decides each of these clauses in a world that was played."""
    for each in compared_clauses():
        yield _check_of(each.about)


def _check_of(about: Clause) -> Check:
    several = [set(each.split("|")) for each in about.needs if "|" in each]
    return Check(
        clause=about.id,
        decide=lambda case: case.compared.of(about.id) if case.compared else (),
        needs=frozenset(each for each in about.needs if "|" not in each),
        any_of=frozenset[str]().union(*several),
        compares=True,
    )


def agents_oracle(kept: int = KEPT_WORLDS) -> Oracle:
    """Return what plays worlds on the reference engine, and keeps so many of them."""
    loops = Loops()

    def played(world: Scenario, profile: Profile, _: frozenset[str]) -> Trace:
        return loops.run(play(world, ReferenceEngine(profile)))

    return Oracle(played, agent_entries, kept)


class WorldBeside:
    """One world as an engine played it, beside the reference; compared when asked."""

    def __init__(
        self,
        oracle: Oracle,
        scenario: Scenario,
        trace: Trace,
        profile: Profile,
        capabilities: frozenset[str],
    ) -> None:
        self._oracle, self._scenario, self._trace = oracle, scenario, trace
        self._profile, self._capabilities = profile, capabilities

    def of(self, clause: str) -> Sequence[Decision]:
        """Return a clause's decisions, of those that fail the first alone.

        There are none where the engine did otherwise before, by another clause.
        """
        return self._found.get(clause, ())

    @cached_property
    def _found(self) -> Mapping[str, Sequence[Decision]]:
        right = self._oracle.right(self._scenario, self._profile, frozenset())
        seen = self._seen(right)
        deep = any(map(_is_deep, self._scenario.all_agents))
        found = {
            each.clause: [*_with_consequences(each, each.decisions(right, seen))]
            for each in compared_clauses()
            if (each.about.family == "DEEP") is deep
            and not each.missing(self._profile, self._capabilities)
        }
        before = GROUND.lanes_of(right.entries), GROUND.lanes_of(seen)
        found[""] = list(lane_decisions(GROUND, *before))
        kept = short_of_departures(found, right, seen)
        failing, behind = first_of(kept, right, seen)
        return {
            clause: [*self._told(failing.get(clause), each)]
            for clause, each in kept.items()
            if clause not in behind
        }

    def _seen(self, right: RightTrace) -> Sequence[Entry]:
        """Return the engine's entries, the reference's own where they are the same."""
        seen = self._oracle.entries(self._trace, self._scenario)
        return right.entries if right.same(seen) else seen

    def _told(
        self, failing: DialectDecision | None, all_: Sequence[DialectDecision]
    ) -> Iterator[Decision]:
        held = (each for each in all_ if each.holds)
        for each in (*([failing] if failing else ()), *held):
            at = None if each.place is None else self._trace[each.place]
            yield Decision(each.claim, each.expected, each.got, at)


def _is_deep(agent: AgentSpec) -> bool:
    """Tell whether an agent has so many extensions that a world is for DEEP alone.

    Each other clause is decided by smaller worlds, and would take long in these.
    """
    return len(agent.middlewares) + len(agent.handlers) >= DEEP


def _with_consequences(
    clause: ComparedClause, decisions: Iterable[DialectDecision]
) -> Iterator[DialectDecision]:
    """Yield decisions; nothing that an engine does comes of what its consumer got."""
    for each in decisions:
        yield each if each.holds or _causes(clause) else replace(each, causes=False)


def _causes(clause: ComparedClause) -> bool:
    kinds = {each.kind for one in clause.about.compares for each in one.patterns}
    return clause.about.family not in CONSUMERS and kinds != {"event"}


def agent_entries(trace: Trace, scenario: Scenario) -> TraceEntries:
    """Return a trace of an agent as projections read it."""
    written = dict[int, Json]()
    twins, slow = _twins(trace), _slow(scenario)
    turns, begun = Counter[int](), Counter[tuple[object, ...]]()
    errors = {each.run: each.data.get("class") for each in trace.of("event")}
    ended = {each.run: each.data["status"] for each in trace.of("run_end")}
    resumed = {each.run for each in trace.of("resume")}
    asked = _asked(trace, scenario)
    found: list[dict[str, Json]] = []
    left, open_, histories = "", _OpenWrappers(), RunHistories(scenario)
    gave, begins = dict[object, str](), dict[object, bool]()
    waits, calls, words = _Waits(), FailedCalls(), OwnWords(trace)
    for each in trace:
        row = _alone(each, cast("dict[str, Json]", to_json(each.data, written)), words)
        row["ended"] = str(ended.get(each.run))
        row["failed"] = str(errors.get(each.run))
        row["resumed"] = each.run in resumed
        if each.seq in asked:
            row["asked"] = asked[each.seq]
        row["turn"], row["twins"] = turns[each.run], each.run in twins
        call = (each.run, row["turn"], each.call_id)
        if each.call_id is not None:
            row["call"] = each.call_id
            row["twin"] = each.call_id in twins.get(each.run, ())
            row["waited"], row["calls"] = begins.get(call, False), begun[call[:2]]
            begins[call] = each.kind == "tool_start" and row["name"] in slow
        row["behind"] = gave.get(call if "call" in row else each.run, "")
        waits.look_at(row)
        calls.look_at(row)
        found.append(row)
        if each.kind in GIVEN or "given" in row:
            gave[each.run] = gave[call] = each.kind
        if each.kind in BEGUN:
            row.update(_beginning(row, begun), left=left, outer=open_.around(row))
        histories.look_at(row)
        if row.get("part") == "before_agent" and "given" in row:
            left = _left(row)
        turns[each.run] += each.kind == "model_request"
    for message in written.values():
        words.leave_out_of(message)
    return TraceEntries(found)


def _alone(
    seen: Observation, data: Mapping[str, Json], words: OwnWords
) -> dict[str, Json]:
    """Return what an entry says that needs no other."""
    row: dict[str, Json] = {**data, "kind": seen.kind, "run": seen.run}
    if seen.kind == "event":
        row["what"], row["shown"] = data["kind"], words.shown(seen)
        row["pieces"] = _pieces(seen)
    if seen.kind == "build_error":
        row["numbers"] = [{"number": each} for each in _numbers(data["error"])]
    if seen.kind in HOOKS:
        row["part"] = _PARTS.get(str(data["hook"]), "around_tool")
        row["way"] = str(data["hook"]).rpartition(".")[2].removeprefix("wrap_")
    if seen.kind == "hook_exit":
        row["given"] = True
        if isinstance(data.get("value"), str):
            row["value"] = words.without(str(data["value"]), seen.call_id)
    if seen.kind == "model_request":
        row["unanswered"] = has_unanswered(cast("Sequence[Entry]", data["messages"]))
    return row


class _Waits:
    """How long runs waited behind an error of the model, before it is asked again.

    When that was depends on how long a consumer took for what was told before.
    """

    def __init__(self) -> None:
        self._failed: dict[object, Json] = {}

    def look_at(self, row: dict[str, Json]) -> None:
        """Put down when a model failed, and in a request what time has passed since."""
        if row["kind"] == "model_error":
            self._failed[row["run"]] = row.get("time")
        elif row["kind"] == "model_request" and row["behind"] == "model_error":
            since, until = self._failed.get(row["run"]), row.get("time")
            if isinstance(since, float) and isinstance(until, float):
                row["waited_s"] = round(until - since, 3)


def _numbers(error: Json) -> list[Json]:
    """Return the numbers in an error, each once."""
    plain = re.sub(r"(?<=\d)[,_](?=\d)", "", str(error))
    return [*dict.fromkeys(re.findall(r"\d+", plain))]


def _slow(scenario: Scenario) -> frozenset[str]:
    """Return the names that only tools have which take their time.

    Those that handlers bring are left out: they may take the place of others.
    """
    found = [
        tool
        for agent in scenario.all_agents
        for tool in chain(
            agent.tools, *(each.additional_tools for each in agent.middlewares)
        )
    ]
    return frozenset(tool.name for tool in found) - {
        tool.name for tool in found if not tool.delay_ms
    }


def _beginning(row: Entry, begun: Counter[tuple[object, ...]]) -> Mapping[str, Json]:
    """Tell whether an entry is the first of its part; put down that it has begun."""
    turn, part = (row["run"], row["turn"]), row.get("part") or PART_OF[row["kind"]]
    one = (*turn, part, row.get("call"), row["kind"] == "hook_exit")
    first, calls = not begun[one], begun[turn]
    begun[one] += 1
    begun[turn] += first and "call" in row and row["kind"] != "hook_exit"
    return {"first": first, "sibling": first and calls > 0, "calls": calls}


def _asked(trace: Trace, scenario: Scenario) -> Mapping[int, str]:
    """Return, by its place in the trace, what is known of the address of a question."""
    told: dict[tuple[str | None, object], str] = {}
    found: dict[int, str] = {}
    for each in trace.of("interrupt", "resume", "run_end"):
        spec = scenario.runs[each.run - 1]
        key = spec.resume or spec.checkpoint
        mine = [one for one in told if one[0] == key]
        if each.kind == "interrupt":
            address = key, value_at(each.data, "address.text")
            found[each.seq] = told.get(address, "anew")
            told[address] = "twice"
        elif each.kind == "run_end":
            told.update({one: "waiting" for one in mine if told[one] == "twice"})
        else:
            answers = cast("Mapping[object, Json] | None", each.data["answers"])
            given = (one for one in mine if answers is None or one[1] in answers)
            told.update(dict.fromkeys(given, "answered"))
    return found


class _OpenWrappers:
    """The wrappers that stand open around calls of tools and of the model."""

    def __init__(self) -> None:
        self._open: dict[object, dict[object, Json]] = {}

    def around(self, row: Entry) -> Json:
        """Return which wrapper an entry was met in; put down whether it is one.

        One that is entered again had raised, with all that was further in.
        """
        part = row.get("part") or PART_OF[row["kind"]]
        if part not in AROUND:
            return None
        tool = (row["turn"], row.get("call")) if part == "around_tool" else ()
        inside = self._open.setdefault((row["run"], part, tool), {})
        me = (row.get("hook"), row.get("extension"), row.get("position"))
        while me in inside:
            inside.popitem()
        outer = next(reversed(inside.values()), None)
        if row["kind"] == "hook_enter":
            inside[me] = {name: row.get(name) for name in OUTER}
        return outer


def _left(row: Entry) -> str:
    """Tell which tools a hook before the agent left."""
    found = value_at(row, "value.tools")
    names = found if is_list(found) else ()
    return "doubled" if len({*names}) < len(names) else "some" if names else "none"


def _pieces(event: Observation) -> list[Json]:
    """Return the chunks of an event that hold anything.

    Whether an empty chunk is handed on matters to nobody, and engines differ.
    """
    parts = cast("Iterable[object]", event.data.get("stream", ()))
    return [str(each) for each in parts if not EMPTY.fullmatch(str(each))]


def _twins(trace: Trace) -> Mapping[int, set[str]]:
    """Return, by run, the ids that stand twice among the calls of a message."""
    found = defaultdict[int, set[str]](set)
    for each in trace:
        for message in _messages(each):
            if len(message.tool_calls) > 1:
                ids = Counter(call.id for call in message.tool_calls)
                found[each.run].update(id_ for id_, often in ids.items() if often > 1)
    return {run: ids for run, ids in found.items() if ids}


def _messages(seen: Observation) -> Iterator[Message]:
    """Yield what a model answered, or what a hook made of it."""
    key = "message" if seen.kind == "model_response" else "value"
    value = seen.data.get(key)
    several = isinstance(value, (list, tuple))
    for each in cast("Sequence[object]", value) if several else (value,):
        if isinstance(each, Message):
            yield each

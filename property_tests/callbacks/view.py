"""What the checks of sessions with callbacks read a trace by: plays, sessions, wiring.

Who listens to what in a session follows from what happened before it and from the
profile; what there was to be told is taken from the model and the tools alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from compat.dialects.callbacks import CALLBACK_TYPES
from compat.dialects.callbacks.profile import CallbacksProfile
from compat.engines.callbacks.scenario import (
    CallbacksScenario,
    HappensSpec,
    HeardSpec,
    SessionTurnSpec,
)
from compat.engines.callbacks.world import LISTENER
from property_tests.dialects.dialect import PlayedDialect
from refengine.testing.trace import Observation, Trace

Data: TypeAlias = "Mapping[str, Any]"
Hears: TypeAlias = "Mapping[str, HeardSpec]"

LOAD: Final = "load_agent_storage"
START: Final = "on_session_start"
STEP: Final = "on_agent_step"
TOOL_START: Final = "on_tool_call_start"
TOOL_END: Final = "on_tool_execution_end"
ERROR: Final = "on_error"
SAVE: Final = "on_state_storage"
END: Final = "on_session_end"
SHARED: Final = frozenset((STEP, TOOL_END, ERROR))
"""What an external listener shares with the clients."""
OF_SESSIONS: Final = frozenset((START, END))
"""What the sketch's merge overwrites."""
V1_HEARS: Final = frozenset((STEP, TOOL_START))


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One observation: its place in the trace, its kind, what it says, and when."""

    place: int
    kind: str
    data: Data

    @property
    def name(self) -> str:
        """The callback that was told, "" if it is something else."""
        return str(self.data["callback"]) if self.kind == "event" else ""

    @property
    def who(self) -> str:
        """Who was told, "" if it is something else."""
        return str(self.data["who"]) if self.kind == "event" else ""

    @property
    def told(self) -> list[Any]:
        """What a callback was called with."""
        return list(self.data["data"])


@dataclass(slots=True)
class Wiring:
    """Who is connected and listens to what, as it follows from what happened."""

    order: list[str] = field(default_factory=list[str])
    hears: dict[str, Hears] = field(default_factory=dict[str, "Hears"])
    at_setup: dict[str, Hears] = field(default_factory=dict[str, "Hears"])
    listener: Hears = field(default_factory=dict[str, HeardSpec])
    lost: bool = False
    """Whether a second manager has taken the slot of the agent."""

    def copy(self) -> Wiring:
        """Return it as it is now."""
        if self.lost:
            return Wiring(hears=dict(self.hears))
        return Wiring(
            [*self.order], dict(self.hears), dict(self.at_setup), self.listener
        )


@dataclass(frozen=True, slots=True)
class SessionSeen:
    """One session as it was seen."""

    spec: SessionTurnSpec
    before: Sequence[SessionEntry]
    entries: Sequence[SessionEntry]
    end: SessionEntry
    kept: Data | None
    kept_before: Data | None
    wiring: Wiring
    others_kept: bool
    restarted: bool

    @property
    def result(self) -> Data | None:
        """How it ended, None if it did not end by itself."""
        found: Data | None = self.end.data.get("result")
        return None if found is None or "left" in found else found

    @property
    def error(self) -> str | None:
        """The text of what came out, None if no error did."""
        found = self.end.data.get("error")
        return None if found is None else str(found["text"])

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled, or left early by who read it."""
        return bool(self.end.data.get("cancelled")) or self.left

    @property
    def left(self) -> bool:
        """Whether who read its facts went away."""
        return "left" in (self.end.data.get("result") or {})

    @property
    def whole(self) -> bool:
        """Whether it came to its own end."""
        return self.error is None and not self.cancelled

    def of(self, *kinds: str) -> list[SessionEntry]:
        """Return the entries of these kinds."""
        return [each for each in self.entries if each.kind in kinds]

    def told(self, name: str, who: str = "") -> list[SessionEntry]:
        """Return what was told by callbacks of that type, to one or to all."""
        return [
            each for each in self.entries if each.name == name and who in {"", each.who}
        ]

    @property
    def raised(self) -> list[SessionEntry]:
        """The callbacks that raised."""
        return [each for each in self.entries if each.data.get("raises")]

    @property
    def model_error(self) -> str | None:
        """The text that its model raised, None if it did not."""
        found = self.of("model_error")
        return str(found[0].data["error"]) if found else None

    @property
    def steps(self) -> list[list[Any]]:
        """Each step by its number in its run, and what the model was asked."""
        found: list[list[Any]] = []
        number = 0
        for each in self.of("model_request"):
            messages = list(each.data["messages"])
            number = 1 if messages[-1]["role"] == "user" else number + 1
            found.append([number, messages])
        return found

    @property
    def calls(self) -> list[Data]:
        """The calls that the model made, in order."""
        return [
            {"id": call["id"], "name": call["name"], "arguments": call["arguments"]}
            for each in self.of("model_response")
            for call in each.data["calls"]
        ]


@dataclass(frozen=True, slots=True)
class CallbacksPlay:
    """One play of the scenario."""

    version: str
    sessions: Sequence[SessionSeen]
    observations: Sequence[Observation]


@dataclass(frozen=True, slots=True)
class CallbacksView:
    """A played world."""

    scenario: CallbacksScenario
    profile: CallbacksProfile
    plays: Sequence[CallbacksPlay]

    @property
    def sessions(self) -> Iterator[SessionSeen]:
        """The sessions, where nothing is compared, since forms differ in profile."""
        for play in self.plays:
            if play.version == "own":
                yield from play.sessions

    @property
    def undisturbed(self) -> Iterator[SessionSeen]:
        """Those in which no callback broke a delivery off, and nothing stood around."""
        for each in self.sessions:
            aborted = each.raised and self.profile.failures == "aborts"
            if not aborted and not self.scenario.middleware:
                yield each

    def owners(self, name: str) -> Sequence[str]:
        """Return the owners of a type of callback."""
        own = {each.name: each.owners for each in self.scenario.rows}
        return own[name] if name in own else CALLBACK_TYPES[name].owners

    def clients(self, of: SessionSeen, name: str) -> list[str]:
        """Return the clients that hear a type of callback in a session, in order."""
        profile, wiring = self.profile, of.wiring
        if "client" not in self.owners(name):
            return []
        if name in OF_SESSIONS and profile.session_callbacks == "overwritten":
            return []
        late = profile.client_callbacks == "late"
        hears = wiring.hears if late else wiring.at_setup
        return [each for each in wiring.order if name in hears.get(each, {})]

    def receivers(self, of: SessionSeen, name: str) -> list[str]:
        """Return all who hear a type of callback in a session, in order."""
        found = self.clients(of, name)
        if name in of.wiring.listener and self._listener_hears(name):
            found.append(LISTENER)
        return found

    def _listener_hears(self, name: str) -> bool:
        if self.profile.shared == "tool_end_only":
            return name == TOOL_END
        everything = self.profile.listener_hears == "everything"
        return everything or "listener" in self.owners(name)

    def waits(self) -> bool:
        """Tell whether some callback waits, so that others may be told meanwhile."""
        heard = [each.hears for each in self.scenario.clients]
        heard += [one.hears for turn in self.scenario.turns for one in turn.before]
        return any(spec.seconds for each in heard for spec in each.values())

    def known(self, of: SessionSeen) -> bool:
        """Tell whether all calls of a session are of tools that there are."""
        names = {each.name for each in self.scenario.tools}
        return all(each["name"] in names for each in of.calls)


def callbacks_view_of(played: PlayedDialect) -> CallbacksView:
    """Return what the checks read of a played world."""
    scenario: CallbacksScenario = played.scenario
    profile: CallbacksProfile = played.profile
    trace: Trace = played.trace
    starts = [at for at, each in enumerate(trace) if each.kind == "build"]
    plays = [
        _play(scenario, profile, trace, start, end)
        for start, end in zip(starts, [*starts[1:], len(trace)], strict=True)
    ]
    return CallbacksView(scenario, profile, plays)


def _play(
    scenario: CallbacksScenario,
    profile: CallbacksProfile,
    trace: Trace,
    start: int,
    end: int,
) -> CallbacksPlay:
    reader = _Reader(scenario, profile)
    numbers = sorted({trace[at].run for at in range(start, end)} - {0})
    for turn, number in zip(scenario.turns, numbers, strict=False):
        entries = [
            SessionEntry(at, trace[at].kind, trace[at].data)
            for at in range(start, end)
            if trace[at].run == number
        ]
        reader.take(turn, entries)
    version = str(trace[start].data["version"])
    return CallbacksPlay(version, reader.found, [trace[at] for at in range(start, end)])


class _Reader:
    """What makes sessions of observations, following who is connected."""

    def __init__(self, scenario: CallbacksScenario, profile: CallbacksProfile) -> None:
        self._profile, self._scenario = profile, scenario
        self._wiring = Wiring(hears={e.name: e.hears for e in scenario.clients})
        self._kept: dict[str, Data | None] = {}
        self.found: list[SessionSeen] = []

    def take(self, spec: SessionTurnSpec, entries: Sequence[SessionEntry]) -> None:
        """Take the entries of the next session."""
        at = next(n for n, each in enumerate(entries) if each.kind == "run_start")
        ends = next(n for n, each in enumerate(entries) if each.kind == "run_end")
        for happened, entry in zip(spec.before, entries[:at], strict=True):
            if "error" not in entry.data:
                self._happened(happened)
        kept = entries[-1].data["state"]
        others = any(x for key, x in self._kept.items() if key != spec.session)
        seen = SessionSeen(
            spec=spec,
            before=entries[:at],
            entries=entries[at:ends],
            end=entries[ends],
            kept=kept,
            kept_before=self._kept.get(spec.session),
            wiring=self._wiring.copy(),
            others_kept=others,
            restarted=any(each.do == "restart" for each in spec.before),
        )
        self.found.append(seen)
        self._kept[spec.session] = kept

    def _happened(self, each: HappensSpec) -> None:
        wiring = self._wiring
        if each.do == "listen":
            wiring.listener = each.hears
        elif each.do == "restart":
            wiring.order, wiring.listener, wiring.lost = [], {}, False
        elif each.do == "manage":
            wiring.lost = True
        elif each.do == "set":
            wiring.hears[each.client] = each.hears
        elif each.do == "remove":
            wiring.order = [x for x in wiring.order if x != each.client]
            self._set_up()
        elif each.do in {"connect", "connect_by_client"}:
            self._connected(each.client)

    def _connected(self, name: str) -> None:
        wiring, spec = self._wiring, self._scenario.client(name)
        if spec.old:
            hears = {key: spec.hears.get(key, HeardSpec()) for key in V1_HEARS}
            if self._profile.clients == "none":
                wiring.listener = hears
                return
            wiring.hears[name] = hears
        if self._profile.clients == "one":
            wiring.order = []
        if name not in wiring.order:
            wiring.order.append(name)
        self._set_up()

    def _set_up(self) -> None:
        wiring = self._wiring
        wiring.lost = False  # its manager asks for the slot again
        wiring.at_setup = {name: wiring.hears[name] for name in wiring.order}

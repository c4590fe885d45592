"""What the checks of the stream loop read a trace by: plays, runs, rounds, calls.

What was streamed and what tools gave is taken from the world alone, so that a check
compares what a loop tells with what really happened.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from compat.dialects.stream_loop.profile import LoopProfile
from compat.engines.stream_loop.scenario import LoopScenario, LoopTurnSpec
from property_tests.dialects.dialect import PlayedDialect
from refengine.testing.json_values import is_mapping
from refengine.testing.trace import Observation, Trace

Data: TypeAlias = "Mapping[str, Any]"

DEFAULT_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class LoopEntry:
    """One observation: its place in the trace, its kind, what it says, and when."""

    place: int
    kind: str
    data: Data

    @property
    def at(self) -> float:
        """Virtual seconds since the play began."""
        return float(self.data["at"])

    @property
    def callback(self) -> str:
        """The callback that was told, "" if it is something else."""
        return str(self.data.get("callback", "")) if self.kind == "event" else ""

    @property
    def fact(self) -> Any:  # noqa: ANN401  # JSON of a callback
        """What the callback was told."""
        return self.data.get("fact")

    @property
    def log(self) -> Data:
        """The fields of a log record, none if it is something else."""
        found: Data | None = self.data.get("log") if self.kind == "effect" else None
        return found or {}


@dataclass(slots=True)
class StreamedCall:
    """A call as the model streamed it: joined, with where it was complete."""

    id: str
    name: str
    arguments: str
    whole: bool
    place: int
    """of the chunk that began it"""
    last: int
    """of the chunk of its last piece"""

    @property
    def named(self) -> dict[str, str]:
        """What it is called with, and its id if the model gave one."""
        told = {"name": self.name, "arguments": self.arguments}
        return {**told, "id": self.id} if self.id else told


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One time that a tool was run, and how it ended; ``end`` is None if it did not."""

    start: LoopEntry
    end: LoopEntry | None

    @property
    def gave(self) -> Any:  # noqa: ANN401  # a value of JSON
        """What the tool gave, None if it gave nothing."""
        ended = self.end is not None and self.end.kind == "tool_end"
        return self.end.data["gives"] if ended and self.end else None

    @property
    def error(self) -> str | None:
        """The text of what the tool raised, None if it did not."""
        return None if self.end is None else self.end.data.get("error")

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled while it ran, or from inside."""
        return self.end is not None and bool(self.end.data.get("cancelled"))

    @property
    def asks(self) -> bool:
        """Whether its result asks for another round."""
        return follow_up_of(self.gave) is True


def follow_up_of(gave: object) -> object:
    """Return what a tool's output says of another round."""
    return gave.get("requires_follow_up") if is_mapping(gave) else False


@dataclass(frozen=True, slots=True)
class LoopRound:
    """From one request to the model until the next one, or the end of the run."""

    number: int
    entries: Sequence[LoopEntry]
    last: bool
    finished: bool
    """Whether another came behind it, or the run ended with it as it should."""

    @property
    def request(self) -> LoopEntry:
        """What the model was asked."""
        return self.entries[0]

    @property
    def asked(self) -> Sequence[Data]:
        """The messages that it was asked with."""
        found: Sequence[Data] = self.request.data["messages"]
        return found

    def of(self, *kinds: str) -> list[LoopEntry]:
        """Return the entries of these kinds."""
        return [each for each in self.entries if each.kind in kinds]

    def told(self, *callbacks: str) -> list[LoopEntry]:
        """Return what these callbacks were told."""
        return [each for each in self.entries if each.callback in callbacks]

    @property
    def chunks(self) -> list[LoopEntry]:
        """What was streamed."""
        return self.of("model_chunk")

    @property
    def streamed(self) -> bool:
        """Whether the stream came to its end."""
        return bool(self.of("model_response"))

    @property
    def text(self) -> str:
        """What was said."""
        return "".join(each.data.get("text", "") for each in self.chunks)

    @property
    def calls(self) -> Sequence[StreamedCall]:
        """The calls that were streamed, in the order of their first piece."""
        return streamed_calls(self.chunks)

    @property
    def runs(self) -> Sequence[ToolRun]:
        """All executions of tools, in the order in which they began."""
        ends = {
            (each.data["tool"], each.data["nth"]): each
            for each in self.of("tool_end", "tool_error")
        }
        return [
            ToolRun(each, ends.get((each.data["tool"], each.data["nth"])))
            for each in self.of("tool_start")
        ]

    @property
    def executions(self) -> Sequence[ToolRun | None]:
        """The execution of each call, None for one that was not executed."""
        left = list(self.runs)
        return [_taken(left, each) for each in self.calls]

    @property
    def results(self) -> list[Data]:
        """What was told of each call's result."""
        return [each.fact for each in self.told("on_tool_result")]


def streamed_calls(chunks: Iterable[LoopEntry]) -> Sequence[StreamedCall]:
    """Return the calls of a stream, their pieces joined."""
    found: list[StreamedCall] = []
    open_: dict[int, StreamedCall] = {}
    for chunk in chunks:
        for piece in chunk.data.get("calls", ()):
            index = piece.get("index")
            known = None if index is None else open_.get(index)
            if known is None:
                made = StreamedCall("", "", "", index is None, chunk.place, chunk.place)
                found.append(made)
                known = made
                if index is not None:
                    open_[index] = made
            known.id = known.id or piece.get("id", "")
            known.name = known.name or piece.get("name", "")
            known.arguments += piece.get("arguments", "")
            known.last = chunk.place
    return found


def _taken(left: list[ToolRun], call: StreamedCall) -> ToolRun | None:
    for each in left:
        data = each.start.data
        if (data["tool"], data["arguments"]) == (call.name, call.arguments):
            left.remove(each)
            return each
    return None


@dataclass(frozen=True, slots=True)
class LoopRun:
    """One call of the processor."""

    spec: LoopTurnSpec
    entries: Sequence[LoopEntry]
    end: LoopEntry
    rounds: Sequence[LoopRound]
    before: Data | None
    """How the run before it in the same play ended."""

    @property
    def result(self) -> Data | None:
        """What came back, None if nothing did."""
        found: Data | None = self.end.data.get("result")
        return found

    @property
    def error(self) -> str | None:
        """The text of what came out, None if no error did."""
        found = self.end.data.get("error")
        return None if found is None else str(found["text"])

    @property
    def cancelled(self) -> bool:
        """Whether a cancellation came out."""
        return bool(self.end.data.get("cancelled"))

    @property
    def ended_well(self) -> bool:
        """Whether it came to its own end."""
        return _well(self.end.data)

    def told(self, *callbacks: str) -> list[LoopEntry]:
        """Return what these callbacks were told."""
        return [each for each in self.entries if each.callback in callbacks]

    @property
    def raised(self) -> list[LoopEntry]:
        """The callbacks that raised."""
        return [each for each in self.entries if each.data.get("raises")]

    @property
    def warnings(self) -> list[LoopEntry]:
        """The warnings that were given."""
        return [each for each in self.entries if each.kind == "warning"]

    @property
    def broke(self) -> LoopEntry | None:
        """Where its stream broke, None if it did not."""
        return next((x for x in self.entries if x.kind == "model_error"), None)

    @property
    def most(self) -> float | None:
        """What was given for its rounds."""
        return self.spec.most


def _well(end: Data) -> bool:
    result = end.get("result")
    status = None if result is None else result.get("status", "completed")
    return status in {"completed", "max_iterations"}


@dataclass(frozen=True, slots=True)
class LoopPlay:
    """One play of the scenario, in one form."""

    form: str
    runs: Sequence[LoopRun]
    observations: Sequence[Observation]


@dataclass(frozen=True, slots=True)
class LoopView:
    """A played world."""

    scenario: LoopScenario
    profile: LoopProfile
    plays: Sequence[LoopPlay] = field(default_factory=tuple[LoopPlay, ...])

    @property
    def runs(self) -> Iterator[LoopRun]:
        """All runs of the first play, or of both where their forms are compared."""
        for play in self.plays:
            yield from play.runs

    @property
    def looping(self) -> Iterator[LoopRun]:
        """The runs in which a result may ask for another round."""
        for play in self.plays:
            if play.form != "linear":
                yield from play.runs

    @property
    def rounds(self) -> Iterator[tuple[LoopRun, LoopRound]]:
        """All rounds, with the runs that they are of."""
        for each in self.runs:
            yield from ((each, one) for one in each.rounds)

    def hears(self, *callbacks: str) -> bool:
        """Tell whether somebody listens with all of these."""
        return not set(callbacks).intersection(self.scenario.deaf)

    def considered(self, of: LoopRound) -> Sequence[ToolRun | None]:
        """Return those of a round's executions that may ask for another round."""
        all_of_it = of.executions
        which = self.profile.follow_up
        if which == "any":
            return all_of_it
        return all_of_it[:1] if which == "first_only" else all_of_it[-1:]

    def asking(self, of: LoopRound) -> list[ToolRun]:
        """Return the executions whose results lead to another round."""
        most = self.scenario.limits.result_chars
        failed = {at for at, each in enumerate(of.results) if "error" in each and most}
        rows = list(of.executions)
        considered = self.considered(of)
        return [
            each
            for each in considered
            if each is not None and each.asks and rows.index(each) not in failed
        ]


def rounds_at_most(given: float | None, profile: LoopProfile) -> float | None:
    """Return how many rounds there may be; None where the number is refused."""
    if profile.iteration_limit == "checked":
        if given is None:
            return DEFAULT_ROUNDS
        return given if type(given) is int and given > 0 else None
    if not given or math.isnan(given):
        return DEFAULT_ROUNDS
    return max(0, math.ceil(given))


def loop_view_of(played: PlayedDialect) -> LoopView:
    """Return what the checks read of a played world."""
    scenario: LoopScenario = played.scenario
    trace: Trace = played.trace
    starts = [at for at, each in enumerate(trace) if each.kind == "build"]
    plays = [
        _play(scenario, trace, start, end)
        for start, end in zip(starts, [*starts[1:], len(trace)], strict=True)
    ]
    return LoopView(scenario, played.profile, plays)


def _play(scenario: LoopScenario, trace: Trace, start: int, end: int) -> LoopPlay:
    runs: list[LoopRun] = []
    numbers = sorted({trace[at].run for at in range(start, end)} - {0})
    for turn, number in zip(scenario.turns, numbers, strict=False):
        entries = [
            LoopEntry(at, trace[at].kind, trace[at].data)
            for at in range(start, end)
            if trace[at].run == number
        ]
        before = runs[-1].result if runs else None
        ends = [at for at, each in enumerate(entries) if each.kind == "run_end"]
        entries = entries[: ends[0] + 1]  # what comes behind it came too late
        last = entries[-1]
        runs.append(LoopRun(turn, entries, last, _rounds(entries, last), before))
    form = str(trace[start].data["form"])
    return LoopPlay(form, runs, [trace[at] for at in range(start, end)])


def _rounds(entries: Sequence[LoopEntry], end: LoopEntry) -> Sequence[LoopRound]:
    starts = [at for at, each in enumerate(entries) if each.kind == "model_request"]
    found: list[LoopRound] = []
    for number, start in enumerate(starts, 1):
        last = number == len(starts)
        stop = len(entries) - 1 if last else starts[number]
        finished = not last or _well(end.data)
        found.append(LoopRound(number, entries[start:stop], last, finished))
    return found

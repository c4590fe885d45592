"""Where the parts of a world put down what they see."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast

from refengine.messages import FrozenDict, History, Json, Message, ToolCall
from refengine.testing.json_values import is_mapping
from refengine.testing.trace import Observation, ObservationKind, Trace, to_json

T = TypeVar("T")
NO_VALUES: Final = frozenset((dict, FrozenDict, MappingProxyType))
"""Classes of which an empty one is put down as no values at all."""

RECORDED: Final = "scenario.record"
"""The effect under which operations of a scenario put down what they see."""
KEPT: Final = "session_value"
"""The effect by which a caller keeps an answer under the agent's ``output_key``."""
ENTRIES: Final[Mapping[str, ObservationKind]] = MappingProxyType(
    {"model_call": "model_request", "tool_run": "tool_start"}
)
"""Entries of recorded rows that have another name here."""
TOOK: Final = "took"
"""The key of a run's end under which stands how long it took, in virtual seconds."""
ENDS_OF_RUNS: Final = ("run_start", "run_end")
LONG: Final = 3600.0
"""So many seconds one waits to be cancelled; on a virtual clock they cost nothing."""


class NeverCancelledError(AssertionError):
    """An operation waits until the run is cancelled, and nobody cancels it."""

    def __init__(self) -> None:
        super().__init__(
            "'block_until_cancel' was reached, but the run was not cancelled: give it"
            " a 'cancel' whose 'when' comes before this operation"
        )


def kept(values: Sequence[T]) -> Sequence[T]:
    """Return a sequence that stays as it is; one that cannot change is not copied.

    What is observed is observed now: a list that a wrapper handed on and takes back
    afterwards was still sent as it was.
    """
    fixed = isinstance(values, tuple) or values.__class__ is History
    return values if fixed else tuple(values)


def messages_seen(values: Sequence[Message]) -> Sequence[Message]:
    """Return a history that stays as it is, and of which each entry is a message.

    An engine looks at the first and the last message that a hook gives back, and not at
    those between, so a helper that forgets its ``return`` puts None into a history. It
    is put down as a message whose role is the name of its type, for all who read.
    """
    if all(map(_is_message, values)):
        return kept(values)
    return tuple(each if _is_message(each) else _no_message(each) for each in values)


def _is_message(value: object) -> bool:
    if not isinstance(value, Message):
        return False
    calls: tuple[object, ...] = value.tool_calls
    return not calls or all(isinstance(each, ToolCall) for each in calls)


def _no_message(value: object) -> Message:
    role = cast("Any", type(value).__name__)
    return Message(role, json.dumps(snapshot(value), sort_keys=True))


def snapshot(value: object) -> Json:
    """Return JSON values as they are now; for anything else the name of its type."""
    if value.__class__ in NO_VALUES and not value:
        return {}  # as nearly all options of a call
    try:
        return to_json(value)
    except (TypeError, RecursionError):
        if is_mapping(value):
            return {str(key): snapshot(part) for key, part in value.items()}
        return f"<{type(value).__name__}>"


class Recorder:
    """Collects the observations of one session, numbered in order."""

    def __init__(self) -> None:
        self._all: list[Observation] = []
        self.run = 0
        self.cancelled: bool = False
        self._when: tuple[str, Callable[[], object]] | None = None
        self._left = 0
        self._settled = 0
        self.earlier_calls: Sequence[str] = ()
        """The calls of the last answer before this process went on with a run."""
        self.kept_in: Collection[str] = ()
        """Files in which a framework keeps runs: what it writes there is no effect."""
        self.timed = False
        """Whether time passes within streams: then it is put down when chunks came."""
        self._clock: asyncio.AbstractEventLoop | None = None
        self._began = 0.0
        self.elapsed: Callable[[], float] | None = None
        """Tells the session's time, where it is put down how long runs took."""
        self._run_began = 0.0
        self.watch: Callable[[ObservationKind], object] | None = None
        """Hears of each entry before it is put down, and may put down others."""

    def time_run(self) -> None:
        """Count the time from now on: a run begins."""
        self._clock = asyncio.get_running_loop()
        self._began = self._clock.time()

    def now(self) -> float:
        """Return the virtual seconds since the run began; 0 where nobody needs them."""
        return self.time() if self.timed else 0.0

    def time(self) -> float:
        """Return the virtual seconds since the run began; 0 before the first one."""
        if self._clock is None:
            return 0.0
        return round(self._clock.time() - self._began, 3)

    async def pause(self, milliseconds: int) -> None:
        """Let so much time pass on the virtual clock."""
        await asyncio.sleep(milliseconds / 1000)

    def cancel_at(self, when: str, nth: int, cancel: Callable[[], object]) -> None:
        """Call ``cancel`` once, the nth time from now that an entry is put down.

        ``when`` is what it is ``at``, its name in recorded rows, or its kind.
        """
        self.cancelled = False
        self._when = ENTRIES.get(when, when), cancel
        self._left = nth

    def never_cancel(self) -> None:
        """Forget what ``cancel_at`` asked for."""
        self.cancelled = False
        self._when = None

    async def breathe(self) -> None:
        """Give way where the run was cancelled, so that it ends here and not later."""
        if self.cancelled:
            await asyncio.sleep(0)

    async def block(self) -> None:
        """Wait until the run is cancelled; raises NeverCancelledError if it is not."""
        await asyncio.sleep(LONG)
        raise NeverCancelledError

    def _look(
        self,
        kind: str,
        data: Mapping[str, object],
        point: str,
        cancel: Callable[[], object],
    ) -> None:
        """Count an entry if it is the one waited for, and cancel at the last."""
        inner = data.get("data") if kind == "effect" else None
        at = inner.get("at") if is_mapping(inner) else None
        if point not in (kind, at):
            return
        self._left -= 1
        if self._left == 0:
            self._when = None
            self.cancelled = True
            cancel()

    def count(self) -> int:
        """Return how much was put down so far."""
        return len(self._all)

    def add(
        self,
        kind: ObservationKind,
        data: Mapping[str, object],
        call_id: str | None = None,
    ) -> None:
        """Put down one observation of the current run."""
        if self.watch is not None:
            self.watch(kind)
        if self.elapsed is not None and kind in ENDS_OF_RUNS:
            data = self._timed(kind, data, self.elapsed())
        seq = len(self._all)
        self._all.append(Observation(kind, self.run, seq, data, call_id))
        if self._when is not None:
            self._look(kind, data, *self._when)

    def _timed(
        self, kind: ObservationKind, data: Mapping[str, object], now: float
    ) -> Mapping[str, object]:
        """Have the end of a run say how long it took, if it took any time."""
        if kind == "run_start":
            self._run_began = now
            return data
        took = round(now - self._run_began, 3)
        return {**data, TOOK: took} if took else data

    def note_now(self, kind: ObservationKind, data: Mapping[str, object]) -> None:
        """Put down one observation with its time, in virtual seconds of the run."""
        self.add(kind, {**data, "at": self.time()})

    def last(self, *kinds: ObservationKind) -> Observation | None:
        """Return the last observation of these kinds, None if there is none yet."""
        return next((each for each in reversed(self._all) if each.kind in kinds), None)

    def take_back(self, kind: ObservationKind, call_id: str | None) -> None:
        """Drop the last observation of that kind and call, if there is one."""
        for at in range(len(self._all) - 1, -1, -1):
            if self._all[at].kind == kind and self._all[at].call_id == call_id:
                left = [*self._all[:at], *self._all[at + 1 :]]
                self._all = [replace(each, seq=seq) for seq, each in enumerate(left)]
                return

    def settle(self) -> None:
        """Hold what was seen so far as certain: a run was resumed after it."""
        self._settled = len(self._all)

    def forget_after(self, failed: Collection[str]) -> str | None:
        """Drop what calls did that come after one that failed, in the last response.

        Return the id of the first one that did.

        In another framework it is luck whether they had begun when the run ended, and
        which results its consumer had received by then.
        """
        at, calls = self._last_calls()
        at = max(at, self._settled)
        positions = [calls.index(each) for each in failed if each in calls]
        if not positions:
            return None
        later = set(calls[min(positions) + 1 :])
        left = (
            each
            for each in self._all[at:]
            if each.call_id not in later
            and not (each.kind == "event" and each.call_id in calls)
        )
        all_left = enumerate([*self._all[:at], *left])
        self._all = [replace(each, seq=seq) for seq, each in all_left]
        return calls[min(positions)]

    @property
    def last_calls(self) -> list[str]:
        """The ids of the calls in the model's last answer."""
        return self._last_calls()[1]

    def _last_calls(self) -> tuple[int, list[str]]:
        """Return where the last response stands, and the ids of its calls."""
        for at in range(len(self._all) - 1, -1, -1):
            if self._all[at].kind == "model_response":
                data = cast("Mapping[str, Any]", to_json(self._all[at].data["message"]))
                return at, [str(call["id"]) for call in data.get("tool_calls", ())]
        return 0, [*self.earlier_calls]

    def note(self, entry: Mapping[str, object], call_id: str | None = None) -> None:
        """Put down what an operation of a scenario asked to be recorded."""
        self.add("effect", {"name": RECORDED, "data": entry}, call_id)

    def trace(self) -> Trace:
        """Return what was seen so far."""
        return Trace(self._all)

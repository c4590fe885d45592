"""Playing a world of calls: in which process each is made, and who is killed when.

A process serves one world after the other, each with a place of its own, and is started
anew once it was killed. Calls that follow one another in one process are sent together.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final

from compat.engines.importing import GENERIC
from compat.process import ChildCall, ChildDiedError, ChildError, ChildProcess, python
from property_tests.stores.calls import (
    NEXT,
    StoreStep,
    StoreWorld,
    record_of,
    shown,
    told,
)
from property_tests.stores.expected import (
    ExpectedStore,
    FaultKind,
    Outcome,
    StoreFault,
    refused,
)
from refengine.testing.child import CallError, Function
from refengine.testing.owned import folder_prefix

LONG: Final = 60.0
"""Seconds to start a child and import what it needs."""
_CALLS: Final = {"append", "read", "delete", "keys", "spoil", "close"}
"""What can be sent together: nothing is unknown after it."""


@dataclass(frozen=True, slots=True)
class PlayedCalls:
    """What came of a world, a line a step, up to the first fault."""

    lines: tuple[str, ...]
    fault: StoreFault | None
    lost: bool = False
    """Whether the fault is that the store gave no answer."""


class StorePlayer:
    """The processes that have the store; at work in ``with store_player(…)``."""

    def __init__(self, text: str, timeout: float, folder: Path) -> None:
        self._text = text
        self._timeout = timeout
        self._folder = folder
        self._children: dict[str, ChildProcess] = {}
        self._told: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
        self._places = 0

    def door(self) -> Mapping[str, Any]:
        """Return what the store says of itself; raises CallError and ChildError."""
        place = str(self._place())
        found: Mapping[str, Any] = self._child("1").call("door", {"place": place}, LONG)
        return found

    def play(
        self, world: StoreWorld, ignored: Collection[FaultKind] = ()
    ) -> PlayedCalls:
        """Play a world to its end, or to its first fault that is not ignored."""
        place = str(self._place())
        expected = ExpectedStore()
        lines: list[str] = []
        try:
            for step, found in self._outcomes(world.steps, place, expected):
                outcome = self._without_folder(found)
                lines.append(f"{told(step)} → {came_of(outcome)}")
                for fault in expected.take(step, outcome):
                    if fault.kind not in ignored:
                        return PlayedCalls(tuple(lines), fault, "lost" in outcome)
        finally:
            self._forget(place)
        return PlayedCalls(tuple(lines), None)

    def end(self) -> None:
        """End all processes."""
        for each in self._children.values():
            each.kill()

    def _without_folder(self, outcome: Outcome) -> Outcome:
        """Return an outcome whose text does not tell where on this machine it was."""
        told = {
            name: each.replace(str(self._folder), "…")
            for name, each in outcome.items()
            if isinstance(each, str)
        }
        return {**outcome, **told}

    def _place(self) -> Path:
        self._places += 1
        folder = self._folder / str(self._places)
        folder.mkdir()
        return folder / "store"

    def _outcomes(
        self, steps: Sequence[StoreStep], place: str, expected: ExpectedStore
    ) -> Iterator[tuple[StoreStep, Outcome]]:
        for process in {each.process for each in steps if each.point >= 0}:
            self._kill(process)
            self._child(process).call("trace", {}, LONG)
        for chunk in chunks([*self._pointed(steps)]):
            resolved = numbered(chunk, expected)
            yield from zip(resolved, self._done(resolved, place), strict=True)

    def _pointed(self, steps: Sequence[StoreStep]) -> Iterator[StoreStep]:
        """Yield the steps; those with a point have its line in place of it."""
        for at, each in enumerate(steps):
            if each.point < 0:
                yield each
                continue
            before = [e for e in steps[:at] if e.do in {"append", "delete"}]
            points = self._sounded([replace(e, by=each.by) for e in before], each)
            yield replace(each, line=points[each.point % len(points)])

    def _sounded(self, before: Sequence[StoreStep], doom: StoreStep) -> Sequence[int]:
        """Return the lines at which to be killed in a call, by making it elsewhere."""
        place = str(self._place())
        child = self._child(doom.process)
        *calls, last = numbered([*before, replace(doom, do=doom.call)], ExpectedStore())
        given = {"place": place, "steps": [each.json for each in calls]}
        child.call("play", given, self._timeout)
        step = {"place": place, "step": last.json}
        points: Sequence[int] = child.call("sound", step, self._timeout)
        child.call("forget", {"place": place}, self._timeout)
        return points or [1]

    def _done(self, steps: Sequence[StoreStep], place: str) -> Sequence[Outcome]:
        """Do what one chunk asks for; a process that is lost is an outcome, too."""
        step = steps[0]
        alone = {"race": self._race, "kill": self._killed, "doom": self._doomed}
        try:
            if step.do in alone:
                return [alone[step.do](step, place)]
            given = {"place": place, "steps": [each.json for each in steps]}
            child = self._child(step.process)
            found: Sequence[Outcome] = child.call("play", given, self._timeout)
        except ChildError as error:
            return [{"lost": f"the process {error.why}"} for _ in steps]
        except CallError as error:
            return [{"lost": error.message} for _ in steps]
        return found

    def _killed(self, step: StoreStep, _: str) -> Outcome:
        self._kill(step.process)
        return {"done": None}

    def _race(self, step: StoreStep, place: str) -> Outcome:
        if step.how != "processes":
            child = self._child(step.racers[0][0][:-1])
            given = {"place": place, "racers": step.racers, "step": step.json}
            return {"racers": child.call("race", given, self._timeout)}
        calls: list[tuple[ChildProcess, ChildCall]] = []
        for racer in step.racers:
            child = self._child(racer[0][:-1])
            given = {"place": place, "racers": [racer], "step": step.json}
            calls.append((child, child.start("race", given, self._timeout)))
        results: list[Outcome] = []
        for child, call in calls:
            child.wait(call)
            results.extend(call.result)
        return {"racers": results}

    def _doomed(self, step: StoreStep, place: str) -> Outcome:
        if step.torn is not None:
            return self._torn(step, place)
        child = self._child(step.process)
        said = self._told[step.process]
        said.clear()
        given = {"place": place, "step": step.json}
        try:
            child.call("doom", given, self._timeout)
        except ChildDiedError as error:
            if error.status >= 0:  # it was not killed: it ended by itself
                raise
        finally:
            self._kill(step.process)
        if not step.after:
            record = shown(record_of(step.record, step.times))
            return {"safe": [], "begun": {"seq": step.seq, "record": record}}
        safe = [each for method, each in said if method == "safe"]
        begun = [each for method, each in said if method == "begun"]
        cut = begun[-1] if len(begun) > len(safe) else None
        return {"safe": safe, "begun": cut}

    def _torn(self, step: StoreStep, place: str) -> Outcome:
        """Append, kill, and cut off a part of what came to its files."""
        child = self._child(step.process)
        given = {"place": place, "by": step.by}
        before = dict(child.call("files", given, self._timeout))
        one = {"place": place, "steps": [replace(step, do="append").json]}
        [outcome] = child.call("play", one, self._timeout)
        after = dict(child.call("files", given, self._timeout))
        self._kill(step.process)
        grown = {e: n for e, n in after.items() if n > before.get(e, 0)}
        if outcome != {"done": None} or not grown:
            return {"not grown": f"{sorted(after)}: {came_of(outcome)}"}
        for file, length in grown.items():
            from_ = before.get(file, 0)
            os.truncate(file, from_ + (length - from_) * (step.torn or 0) // 1000)
        record = shown(record_of(step.record, step.times))
        return {"safe": [], "begun": {"seq": step.seq, "record": record}}

    def _child(self, process: str) -> ChildProcess:
        if process not in self._children or self._children[process].over is not None:
            said = self._told[process] = []

            def tell(method: str) -> Function:
                return lambda params: said.append((method, params))

            child = ChildProcess(
                python("property_tests.stores.worker", *GENERIC),
                marked=False,
                functions=MappingProxyType({e: tell(e) for e in ("begun", "safe")}),
                frameworks=(),
            )
            child.initialize(LONG, store=self._text)
            self._children[process] = child
        return self._children[process]

    def _kill(self, process: str) -> None:
        if process in self._children:
            self._children[process].kill()

    def _forget(self, place: str) -> None:
        for child in self._children.values():
            if child.over is None:
                try:
                    child.call("forget", {"place": place}, self._timeout)
                except (ChildError, CallError):  # what it keeps open is its own matter
                    child.kill()


@contextmanager
def store_player(text: str, timeout: float) -> Generator[StorePlayer, None, None]:
    """Play worlds on the store that a text names; no process or file is left."""
    with ExitStack() as stack:
        folder = TemporaryDirectory(prefix=folder_prefix(), ignore_cleanup_errors=True)
        player = StorePlayer(text, timeout, Path(stack.enter_context(folder)))
        stack.callback(player.end)
        yield player


def chunks(steps: Sequence[StoreStep]) -> Iterator[tuple[StoreStep, ...]]:
    """Yield the steps, those together that one process can do without being watched."""
    open_: list[StoreStep] = []
    for each in steps:
        alone = each.do not in _CALLS
        if open_ and (alone or each.process != open_[0].process):
            yield tuple(open_)
            open_ = []
        if alone:
            yield (each,)
        else:
            open_.append(each)
    if open_:
        yield tuple(open_)


def numbered(steps: Sequence[StoreStep], expected: ExpectedStore) -> list[StoreStep]:
    """Return the steps with the number that follows in place of ``NEXT``."""
    have: dict[str, int] = {}
    found: list[StoreStep] = []
    for each in steps:
        follows = have.setdefault(each.key, expected.have(each.key))
        number = follows if each.seq == NEXT else each.seq
        found.append(replace(each, seq=number))
        if each.do == "append" and number == follows and not refused(each):
            have[each.key] += 1
        elif each.do == "delete":
            have[each.key] = 0
    return found


def came_of(outcome: Outcome) -> str:  # noqa: PLR0911  # a case each
    """Return what came of a step in a few words."""
    match outcome:
        case {"error": error, **more}:
            text = str(more.get("text", ""))
            return f"{error}: {text}" if text else str(error)
        case {"rows": rows}:
            return _some(rows)
        case {"keys": keys}:
            return _some([*map(ascii, keys)])
        case {"racers": racers}:
            return "; ".join(_racer(each) for each in racers)
        case {"begun": begun, "safe": safe}:
            met = "in a call" if begun else "between two calls"
            return f"killed {met}" + (f", {len(safe)} came back before" if safe else "")
        case {"lost": why} | {"not grown": why}:
            return str(why)
        case {"cancelled": _}:
            return "cancelled"
        case {"type": kind}:
            return f"a {kind}"
        case _:
            return "done"


def _racer(found: Outcome) -> str:
    done = f"{len(found.get('safe', ()))} done"
    return f"{done}, then {found['error']}" if found.get("error") else done


def _some(values: Sequence[str]) -> str:
    first = ", ".join(values[:6])
    more = f", … {len(values) - 6:,} more" if len(values) > 6 else ""
    return f"[{first}{more}]"

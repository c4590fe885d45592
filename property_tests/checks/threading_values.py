"""Run-local values of a run, worked out from what its hooks and tools do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar, cast

from property_tests.checks.outcomes import (
    Due,
    pipeline_hooks,
)
from property_tests.checks.specs import all_tools
from property_tests.view import HookView, RunView
from refengine.testing.ops import (
    Ask,
    Fail,
    Interrupts,
    Op,
    RunLocalRead,
    RunLocalSet,
    ToolSpec,
)
from refengine.testing.recorder import RECORDED
from refengine.testing.scenario import AgentSpec
from refengine.testing.trace import Observation

T = TypeVar("T")
Found: TypeAlias = "tuple[Values, object, Observation, bool]"
"""What has to be found, what was, where, and whether the run has touched the key."""
Values: TypeAlias = Mapping[str, object]
Note: TypeAlias = tuple[object, Observation]
"""What a hook recorded, and where."""
_ASKS: Final = (Ask, Interrupts)


def _notes(hook: HookView, entries: Sequence[Observation], what: str) -> list[Note]:
    """Return what a hook of a pipeline recorded between its entry and its end."""
    end = None if hook.exit is None else hook.exit.seq
    found: list[Note] = []
    for each in entries:
        if each.seq <= hook.enter.seq:
            continue
        if (end is not None and each.seq >= end) or each.kind != "effect":
            break
        data = _recorded(each)
        if what in data:
            found.append((data[what], each))
    return found


def _paired(expected: Sequence[T], notes: Sequence[Note]) -> Iterator[tuple[T, Note]]:
    """Pair what a hook should have recorded with what it did.

    One that was entered again has recorded all of it once more: the last time counts.
    """
    again = max(len(notes) - len(expected), 0)
    yield from zip(expected, notes[again:], strict=False)


def _recorded(effect: Observation) -> Values:
    """Return what an operation recorded, empty for any other effect."""
    data = effect.data.get("data")
    own = effect.data.get("name") == RECORDED and isinstance(data, dict)
    return cast("Values", data) if own else {}


class RunLocalReads:
    """The run-local values of one run, as its hooks and tools set and drop them.

    A run that goes on has those that it had, so it may be given in its parts.
    """

    def __init__(self, agent: AgentSpec, due: Due) -> None:
        self._due = due
        self._values: dict[str, object] = {}
        self._touched: set[str] = set()
        self._unsure: set[str] = set()
        self._begun: list[str] = []
        self._ended = 0
        tools = list(all_tools(agent))
        self._of_tools = {_changed(op) for tool in tools for op in tool.body} - {None}
        self._sets = _always_set(tools)

    def of(self, run: RunView) -> Iterator[Found]:
        """Go through a run in order; yield each time that something looked."""
        hooks = {id(hook.enter): hook for hook in pipeline_hooks(run)}
        for seen in run.entries:
            hook = hooks.get(id(seen))
            if hook is not None and hook.name != "before_agent":
                self._calls_have_ended()
                yield from self._by_hook(hook, run.entries)
            elif seen.kind == "tool_start":
                # When a tool's body acts among its siblings, no entry tells.
                self._unsure |= cast("set[str]", self._of_tools)
                self._begun.append(str(seen.data["name"]))
            elif seen.kind == "tool_end":
                self._ended += 1
            elif seen.kind == "effect" and seen.call_id is not None:
                yield from self._in_call(seen)

    def _calls_have_ended(self) -> None:
        """Know what the tools of a message have set, if all of them have ended."""
        if self._ended == len(self._begun):
            for name in self._begun:
                found = self._sets.get(name, {})
                self._values |= found
                self._touched |= found.keys()
                self._unsure -= found.keys()
        self._begun, self._ended = [], 0

    def _by_hook(
        self, hook: HookView, entries: Sequence[Observation]
    ) -> Iterator[Found]:
        todo = self._due.of(hook)
        if hook.exit is None and any(isinstance(op, _ASKS) for op in todo):
            # It is entered again, and does it all once more.
            self._unsure |= {key for op in todo if (key := _changed(op))}
            return
        expected: list[tuple[Values, bool, bool]] = []
        for op in todo:
            if isinstance(op, Fail):
                break
            key = _changed(op)
            if isinstance(op, RunLocalSet):
                self._values[op.key] = op.value
            elif key is not None:
                self._values.pop(key, None)
            elif isinstance(op, RunLocalRead):
                sure = op.key not in self._unsure
                expected.append((self._entry(op.key), op.key in self._touched, sure))
            if key is not None:
                self._touched.add(key)
                self._unsure.discard(key)
        notes = _notes(hook, entries, "runlocal_get")
        for (right, known, sure), (note, at) in _paired(expected, notes):
            if sure:
                yield right, note, at, known

    def _in_call(self, seen: Observation) -> Iterator[Found]:
        """Yield what a wrapper found, or the body of a tool."""
        data = _recorded(seen)
        if data.get("at") in {"tool_wrapper", "tool_middleware", "tool_body"}:
            note = data.get("runlocal_get")
            if isinstance(note, dict):
                key = str(cast("Values", note).get("key"))
                if key not in self._unsure:
                    yield self._entry(key), note, seen, key in self._touched

    def _entry(self, key: str) -> Values:
        if key not in self._values:
            return {"key": key, "found": False}
        return {"key": key, "found": True, "value": self._values[key]}


def _always_set(tools: Sequence[ToolSpec]) -> dict[str, dict[str, object]]:
    """Return what each tool sets, by its name: only what no other tool changes."""
    often = Counter(tool.name for tool in tools)
    changed = Counter(filter(None, (_changed(op) for t in tools for op in t.body)))
    found: dict[str, dict[str, object]] = {}
    for tool in tools:
        sets: dict[str, object] = {
            op.key: op.value
            for op in tool.body
            if isinstance(op, RunLocalSet) and op.on_call is None
        }
        alone = {key: value for key, value in sets.items() if changed[key] == 1}
        if often[tool.name] == 1 and alone:
            found[tool.name] = alone
    return found


def _changed(op: Op) -> str | None:
    """Return the key that an operation sets or drops."""
    if isinstance(op, RunLocalSet):
        return op.key
    dropped = isinstance(op, RunLocalRead) and op.op == "runlocal_delete"
    return op.key if isinstance(op, RunLocalRead) and dropped else None

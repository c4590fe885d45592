"""CTX beyond the one value that every entry shows: other keys, and run-local values.

Both are worked out from the operations of hooks, and compared with what the hooks put
down when they look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.outcomes import (
    STRUCT_HOOKS,
    Due,
    built_by_agent,
    pipeline_hooks,
)
from property_tests.checks.specs import all_tools, tool_wraps
from property_tests.view import HookView, Iteration, RunView
from refengine.testing.ops import (
    Ask,
    CtxAppend,
    CtxGet,
    CtxSet,
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
Values: TypeAlias = Mapping[str, object]
Note: TypeAlias = tuple[object, Observation]
"""What a hook recorded, and where."""
_SHOWN: Final = "h"
"""The key that every entry of a trace shows; other checks decide about it."""
_UNSET: Final = "-"
_ASKS: Final = (Ask, Interrupts)
_NEEDS: Final = frozenset(("context",))
_LOCALS: Final = frozenset(("run_locals",))


def other_keys(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether a context keeps the values of all keys, each by itself."""
    view, due = case.played, Due(case.played)
    based: list[Values] = []
    for hooks in built_by_agent(view):
        based.append({})
        for hook in hooks:
            based[-1], right = _through(due, hook, based[-1], 1)
            yield from _looked(hook, right, view.build)
    for run in view.runs:
        number = 1 + sum(
            each.spec.agent == run.spec.agent
            for each in view.runs
            if each.number < run.number
        )
        yield from _in_run(case, run, due, based[run.spec.agent], number)


def _in_run(
    case: PlayedWorld, run: RunView, due: Due, base: Values, number: int
) -> Iterator[Decision]:
    for hook in run.before_agent:
        base, right = _through(due, hook, base, number)
        yield from _looked(hook, right, run.entries)
    for now in run.iterations:
        at = base
        for hook in now.before:
            at, right = _through(due, hook, at, number)
            yield from _looked(hook, right, run.entries)
        if case.profile.model_context == "before_hooks":
            at = base
        for hook in now.after:
            at, right = _through(due, hook, at, number)
            yield from _looked(hook, right, run.entries)
        reaches = case.profile.model_context == "iteration"
        yield from _in_tools(run, now, at if reaches else base)
    at = base
    for hook in run.after_agent:
        at, right = _through(due, hook, at, number)
        yield from _looked(hook, right, run.entries)


def _in_tools(run: RunView, now: Iteration, values: Values) -> Iterator[Decision]:
    """Decide about what the bodies of tools find, of keys that no call changes."""
    bodies = [op for tool in all_tools(run.agent) for op in tool.body]
    changed = {op.key for op in bodies if isinstance(op, (CtxSet, CtxAppend))}
    wraps = [each.ctx_append for each in tool_wraps(run.agent)]
    changed |= {_SHOWN, *(each.key for each in wraps if each is not None)}
    for call in now.calls.values():
        for seen in call.entries:
            data = _recorded(seen)
            note = data.get("ctx_get") if data.get("at") == "tool_body" else None
            key = "" if note is None else str(cast("Values", note).get("key"))
            if key and key not in changed:
                right = {"key": key, "value": values.get(key, _UNSET)}
                yield Decision("a tool finds a value as it was set", right, note, seen)


def _through(
    due: Due, hook: HookView, values: Values, number: int
) -> tuple[Values, list[object]]:
    """Return the values that a hook leaves, and what it records of them."""
    seen, right = dict(values), list[object]()
    for op in due.of(hook):
        if isinstance(op, CtxSet):
            value = op.value
            if isinstance(value, str):
                value = value.replace("<run>", str(number))
            seen[op.key] = value
        elif isinstance(op, CtxAppend):
            seen[op.key] = f"{seen.get(op.key, _UNSET)}{op.text}"
        elif isinstance(op, CtxGet):
            right.append({"key": op.key, "value": seen.get(op.key, _UNSET)})
        elif isinstance(op, Fail):
            break
    # The callback of a struct middleware returns no context.
    return (values if hook.name in STRUCT_HOOKS else seen), right


def _looked(
    hook: HookView, expected: Sequence[object], entries: Sequence[Observation]
) -> Iterator[Decision]:
    notes = _notes(hook, entries, "ctx_get")
    for right, (note, at) in _paired(expected, notes):
        if cast("Values", right)["key"] != _SHOWN:
            yield Decision("a value of a context stays as it was set", right, note, at)


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


def locals_last(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether a run-local value is found until the end of its run."""
    for right, note, at, known in _locals(case):
        if known:
            claim = "a run-local value is found as it was set, anywhere in its run"
            yield Decision(claim, right, note, at)


def locals_end(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether a run starts without run-local values, whatever others set."""
    for right, note, at, known in _locals(case):
        if not known:
            claim = "a run finds no run-local value that it has not set itself"
            yield Decision(claim, right, note, at)


def no_locals_before(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether ``before_agent`` stands outside the run: it keeps no value."""
    view = case.played
    pairs = [(hook, view.build) for hook in view.built]
    pairs += [(hook, run.entries) for run in view.runs for hook in run.before_agent]
    for hook, entries in pairs:
        for note, at in _notes(hook, entries, "runlocal_get"):
            key = cast("Values", note).get("key")
            claim = "before_agent finds no run-local value: it stands outside a run"
            yield Decision(claim, {"key": key, "found": False}, note, at)
        for note, at in _notes(hook, entries, "runlocal_set"):
            claim = "before_agent cannot set a run-local value"
            yield Decision(claim, False, cast("Values", note).get("ok"), at)  # noqa: FBT003  # a value


Found: TypeAlias = "tuple[Values, object, Observation, bool]"
"""What has to be found, what was, where, and whether the run has touched the key."""


def _locals(case: PlayedWorld) -> Iterator[Found]:
    due = Due(case.played)
    for run in case.played.runs:
        yield from RunLocalReads(run.agent, due).of(run)


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


CHECKS: Final = (
    Check(clause="CTX-012", decide=other_keys, needs=_NEEDS),
    Check(clause="CTX-013", decide=locals_last, needs=_LOCALS),
    Check(clause="CTX-014", decide=locals_end, needs=_LOCALS),
    Check(clause="CTX-015", decide=no_locals_before, needs=_LOCALS | {"before_agent"}),
)
"""What every value has to keep that a context or a run holds."""

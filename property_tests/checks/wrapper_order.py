"""ORD of wrappers: in which order they nest around model calls and tool calls.

Onions are read from what was entered and left around a call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from property_tests.check import Decision, PlayedWorld
from property_tests.checks import positions
from property_tests.checks.positions import label_in
from property_tests.checks.specs import keeps_ids
from property_tests.view import Call, RunView, View
from refengine.testing.trace import Observation


@dataclass(frozen=True, slots=True)
class ReachedLayers:
    """The layers that were open, outermost first, when the innermost was reached.

    ``whole`` is False if it never was: then these are the layers that were entered.
    """

    at: Observation
    open: tuple[str, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class LeftLayer:
    """A layer that was left, and the innermost one that was open then."""

    at: Observation
    layer: str
    innermost: str | None


@dataclass(slots=True)
class _Frame:
    layer: str
    returns: bool


@dataclass(frozen=True, slots=True)
class SeenOnion:
    """What an onion was seen to do in one call."""

    reached: tuple[ReachedLayers, ...]
    left: tuple[LeftLayer, ...]


def onion(
    entries: Sequence[Observation], layers: Collection[str], leaf: str
) -> SeenOnion:
    """Read an onion of these layers around observations of the kind ``leaf``."""
    reader = _Reader(_returning(entries))
    for each in entries:
        if each.kind == leaf:
            reader.reach(each)
        elif each.kind in {"hook_enter", "hook_exit"} and label_in(each) in layers:
            reader.take(each)
    return reader.onion()


def _returning(entries: Sequence[Observation]) -> set[int]:
    """Return the sequence numbers of the entries into layers that are left again."""
    open_: dict[str, list[int]] = {}
    found: set[int] = set()
    for each in entries:
        if each.kind == "hook_enter":
            open_.setdefault(label_in(each), []).append(each.seq)
        elif each.kind == "hook_exit" and open_.get(label_in(each)):
            found.add(open_[label_in(each)].pop())
    return found


class _Reader:
    """Reads a thousand layers as fast as one: it looks through no list for each."""

    def __init__(self, returning: Collection[int]) -> None:
        self._returning = returning
        self._stack: list[_Frame] = []
        self._often: Counter[str] = Counter()
        self._entered: Observation | None = None
        self._deepest: ReachedLayers | None = None
        self._reached: list[ReachedLayers] = []
        self._left: list[LeftLayer] = []

    def take(self, seen: Observation) -> None:
        if seen.kind == "hook_enter":
            self._enter(seen, label_in(seen))
        else:
            self._exit(seen, label_in(seen))

    def reach(self, seen: Observation) -> None:
        self._reached.append(ReachedLayers(seen, self._open(), whole=True))

    def onion(self) -> SeenOnion:
        self._note_depth()
        deepest = () if self._deepest is None else (self._deepest,)
        return SeenOnion(tuple(self._reached) or deepest, tuple(self._left))

    def _open(self) -> tuple[str, ...]:
        return tuple(frame.layer for frame in self._stack)

    def _enter(self, seen: Observation, layer: str) -> None:
        again = self._last(layer)
        if again is not None and not any(e.returns for e in self._stack[again:]):
            self._drop(again, len(self._stack))
        self._stack.append(_Frame(layer, seen.seq in self._returning))
        self._often[layer] += 1
        self._entered = seen

    def _exit(self, seen: Observation, layer: str) -> None:
        while self._stack and not self._stack[-1].returns:
            self._drop(len(self._stack) - 1, len(self._stack))
        innermost = self._stack[-1].layer if self._stack else None
        self._left.append(LeftLayer(seen, layer, innermost))
        at = self._last(layer)
        if at is not None:
            self._drop(at, at + 1)

    def _last(self, layer: str) -> int | None:
        """Return where a layer stands in the stack, the innermost of equal ones."""
        if not self._often[layer]:
            return None
        places = range(len(self._stack) - 1, -1, -1)
        return next(at for at in places if self._stack[at].layer == layer)

    def _drop(self, start: int, end: int) -> None:
        self._note_depth()
        for frame in self._stack[start:end]:
            self._often[frame.layer] -= 1
        del self._stack[start:end]

    def _note_depth(self) -> None:
        """Keep the stack if it was never so deep: it is about to be left, or read."""
        deepest = 0 if self._deepest is None else len(self._deepest.open)
        if self._entered is not None and len(self._stack) > deepest:
            self._deepest = ReachedLayers(self._entered, self._open(), whole=False)


def model_order(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether the first wrapper around the model is the outermost."""
    for found, layers in _model_onions(case.played):
        for each in found.reached:
            yield _nested(
                "around a model call the first handler is outermost", each, layers
            )


def model_whole(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether every wrapper is around each model request, once."""
    for found, layers in _model_onions(case.played):
        for each in found.reached:
            yield from _whole(
                "every wrapper is around a model request, once", each, layers
            )


def model_left(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether wrappers around the model are left innermost first."""
    for found, _ in _model_onions(case.played):
        yield from _backwards(
            "wrappers around the model are left innermost first", found
        )


def tool_lists(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether of the lists the tools configuration is outermost, then structs."""
    claim = "around a call: tools configuration, then structs, then handlers"
    for found, layers in _tool_onions(case.played):
        lists = list(dict.fromkeys(map(_list_of, layers)))
        for each in found.reached:
            got = list(dict.fromkeys(map(_list_of, positions.only(layers, each.open))))
            if len(got) > 1:
                yield Decision(claim, positions.in_order(lists, got), got, each.at)


def tool_order(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether of each list the first wrapper is the outermost."""
    for found, layers in _tool_onions(case.played):
        for name in dict.fromkeys(map(_list_of, layers)):
            mine = [each for each in layers if _list_of(each) == name]
            for each in found.reached:
                yield _nested(
                    "around a call the first of a list is outermost", each, mine
                )


def tool_whole(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether every wrapper is around each execution of a tool, once."""
    for found, layers in _tool_onions(case.played):
        for each in found.reached:
            yield from _whole(
                "every wrapper is around an execution, once", each, layers
            )


def tool_left(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether wrappers around a call are left innermost first."""
    for found, _ in _tool_onions(case.played):
        yield from _backwards("wrappers around a call are left innermost first", found)


def _model_onions(view: View) -> Iterator[tuple[SeenOnion, list[str]]]:
    for run in view.runs:
        layers = positions.of_handlers(run.agent, "wrap_model")
        for now in run.iterations if layers else ():
            yield onion(now.entries, layers, "model_request"), layers


def _tool_onions(view: View) -> Iterator[tuple[SeenOnion, list[str]]]:
    for run, call in _calls(view):
        kind: positions.Kind = "streamable" if _streams(call) else "invokable"
        layers = positions.around_tool(run.agent, kind)
        if layers and not _has_twin(run, call):
            yield onion(call.entries, layers, "tool_start"), layers


def _has_twin(run: RunView, call: Call) -> bool:
    """Tell whether two calls of a message have one id: their entries are mixed."""
    messages = (now.message for now in run.iterations if call.id in now.calls)
    return any(
        sum(each.id == call.id for each in message.tool_calls) > 1
        for message in messages
        if message is not None
    )


def _calls(view: View) -> Iterator[tuple[RunView, Call]]:
    """Yield the calls whose entries no other one's are mixed with."""
    for run in view.runs:
        if not keeps_ids(run.agent):
            continue
        for now in run.iterations:
            for call in now.calls.values():
                yield run, call


def _streams(call: Call) -> bool:
    """Tell which kind of wrapper a call had, by the tool or else by who was entered."""
    if call.starts:
        return call.starts[0].data.get("mode") == "stream"
    return bool(call.hooks) and call.hooks[0].name.endswith("streamable")


def _list_of(label: str) -> str:
    return label.partition("[")[0]


def _nested(claim: str, each: ReachedLayers, layers: Sequence[str]) -> Decision:
    got = positions.only(layers, each.open)
    return Decision(claim, positions.in_order(layers, got), got, each.at)


def _whole(
    claim: str, each: ReachedLayers, layers: Sequence[str]
) -> Iterator[Decision]:
    """Decide which layers were open; if the innermost was not reached, a beginning."""
    got = list(each.open)
    expected = list(layers)
    if not each.whole:
        if positions.only(layers, got) != positions.in_order(layers, got):
            return
        expected = expected[: len(got)]
    yield Decision(claim, sorted(expected), sorted(got), each.at)


def _backwards(claim: str, found: SeenOnion) -> Iterator[Decision]:
    for each in found.left:
        yield Decision(claim, each.innermost, each.layer, each.at)

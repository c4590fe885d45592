"""Engines that are wrong about what goes on side by side (CONC)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import Patch, PatchedEngine, patched
from refengine import agent, extensions
from refengine.compiled import CompiledAgent
from refengine.events import AgentEvent
from refengine.loop import Loop
from refengine.tool_calls import CallBatch


def _batch(change: Callable[[CallBatch], None]) -> Patch:
    """Change the batch of calls of every message when it is made."""

    def replace(right: Callable[..., None]) -> Callable[..., None]:
        def made(self: CallBatch, *given: object, **named: object) -> None:
            right(self, *given, **named)
            change(self)

        return made

    return Patch(CallBatch, "__init__", replace)


def _set(attribute: str, value: bool, *, where_in_place: bool | None = None) -> Patch:
    """Set a choice of the batch, everywhere or for calls in place or in tasks."""

    def change(batch: CallBatch) -> None:
        in_place = batch._in_place  # noqa: SLF001  # the fault is inside
        if where_in_place is None or in_place == where_in_place:
            setattr(batch, attribute, value)

    return _batch(change)


def _untold(right: Callable[..., Any]) -> Callable[..., Any]:
    """Tell no result any more as soon as one call has failed."""

    async def next_event(self: CallBatch) -> AgentEvent | None:
        event: AgentEvent | None = await right(self)
        while event is not None and self.error() is not None:
            event = await right(self)
        return event

    return next_event


def _last_error(_: Callable[..., Any]) -> Callable[..., Any]:
    def error(self: CallBatch) -> Exception | None:
        errors = [call.error for call in self.calls if call.error is not None]
        return errors[-1] if errors else None

    return error


def _remembering(name: str, make: Callable[[], Sequence[Patch]]) -> Door:
    """Return the door to an engine whose patches remember what it did before."""
    return lambda profile: PatchedEngine(name, profile, make())


def _counted_on() -> Sequence[Patch]:
    """Count the iterations of an agent through all its runs."""
    before: dict[int, tuple[CompiledAgent, Loop]] = {}

    def replace(right: Callable[..., None]) -> Callable[..., None]:
        def made(self: Loop, machine: CompiledAgent, *given: object) -> None:
            right(self, machine, *given)
            last = before.get(id(machine))
            self.iterations = 0 if last is None else last[1].iterations
            before[id(machine)] = machine, self

        return made

    return (Patch(Loop, "__init__", replace),)


def _names_of_all_agents() -> Sequence[Patch]:
    """Count names through all agents, and number one that was given before."""
    so_far: Counter[str] = Counter()

    def replace(_: object) -> Callable[[Sequence[str]], Iterator[str]]:
        def unique(names: Sequence[str]) -> Iterator[str]:
            for name in names:
                yield f"{name}[{so_far[name]}]" if so_far[name] else name
                so_far[name] += 1

        return unique

    return (Patch(extensions, "_unique", replace),)


def _last_built() -> Sequence[Patch]:
    """Run every agent with what the one is made of that was built last."""
    built: list[CompiledAgent] = []

    def compiling(right: Callable[..., CompiledAgent]) -> Callable[..., CompiledAgent]:
        def compile_(*given: Any) -> CompiledAgent:  # noqa: ANN401  # as the engine's
            built.append(right(*given))
            return built[-1]

        return compile_

    def looping(right: Callable[..., None]) -> Callable[..., None]:
        def made(self: Loop, _: CompiledAgent, *given: object) -> None:
            right(self, built[-1], *given)

        return made

    return Patch(agent, "compile_agent", compiling), Patch(Loop, "__init__", looping)


def _broken(id_: str, about: str, clause: str, wrong: Door) -> Mutant:
    return Mutant(id=id_, about=about, violates=(clause,), wrong=wrong)


def _patched(id_: str, about: str, clause: str, patch: Patch) -> Mutant:
    return _broken(id_, about, clause, patched(id_, patch))


MUTANTS: Final[tuple[Mutant, ...]] = (
    _patched(
        "calls-one-by-one",
        "The calls of one message are made one after the other.",
        "CONC-001",
        _set("_in_place", value=True),
    ),
    _patched(
        "calls-after-a-failed-one-dropped",
        "Sequential calls that stand behind one which failed are not made.",
        "CONC-002",
        _set("_cancels", value=True, where_in_place=True),
    ),
    _patched(
        "siblings-cancelled",
        "A call that fails cancels its siblings.",
        "CONC-003",
        _set("_cancels", value=True, where_in_place=False),
    ),
    _patched(
        "events-as-finished",
        "The events of tool results come as the calls end.",
        "CONC-004",
        _set("_as_finished", value=True),
    ),
    _patched(
        "results-beside-an-error-untold",
        "Once a call has failed, the results of its siblings are not told.",
        "CONC-005",
        Patch(CallBatch, "next_event", _untold),
    ),
    _patched(
        "last-error-wins",
        "Of several calls that fail the last one's error ends the run.",
        "CONC-006",
        Patch(CallBatch, "error", _last_error),
    ),
    _patched(
        "sequential-ignored",
        "Calls are concurrent although they were to be sequential.",
        "CONC-007",
        _set("_in_place", value=False),
    ),
    _broken(
        "iterations-counted-on",
        "The iterations of an agent are counted through all its runs.",
        "CONC-008",
        _remembering("iterations counted on", _counted_on),
    ),
    _broken(
        "names-of-all-agents",
        "A handler's name is numbered if any earlier agent had one of that name.",
        "CONC-009",
        _remembering("names of all agents", _names_of_all_agents),
    ),
    _broken(
        "last-built-agent-runs",
        "Every agent runs with what the one is made of that was built last.",
        "CONC-010",
        _remembering("last built agent runs", _last_built),
    ),
)

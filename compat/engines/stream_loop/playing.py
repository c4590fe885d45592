"""Playing a world of the stream loop on a door: its turns, one after the other.

    trace = play_loop(scenario, StreamLoop("loop-safe"))

A scenario that compares is played twice from fresh; ``build`` stands before each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from compat.engines.dialect_playing import play_turn, side_by_side
from compat.engines.stream_loop.doors import LoopCall, StreamLoopEngine
from compat.engines.stream_loop.scenario import (
    Form,
    LoopChunkSpec,
    LoopPieceSpec,
    LoopScenario,
    LoopTurnSpec,
)
from compat.engines.stream_loop.world import LoopWorld, seen_result
from refengine.messages import Json, Message
from refengine.testing.clock import run
from refengine.testing.trace import Trace

FORMS: Final[Mapping[str, tuple[Form, ...]]] = MappingProxyType(
    {
        "": ("own",),
        "forms": ("linear", "loop"),
        "adapted": ("linear", "adapted"),
        "cuts": ("own", "own"),
    }
)
"""What plays a scenario, by what it compares."""


def play_loop(scenario: LoopScenario, engine: StreamLoopEngine) -> Trace:
    """Play a scenario on virtual time, and return all that was seen."""
    forms = FORMS[scenario.compares]
    worlds = [scenario] * len(forms)
    if scenario.compares == "cuts":
        worlds[1:] = [in_other_chunks(scenario)]
    return side_by_side(
        run(LoopSession(each, engine, form).play())
        for each, form in zip(worlds, forms, strict=True)
    )


class LoopSession:
    """One play of a scenario, on one engine, in one form."""

    def __init__(
        self, scenario: LoopScenario, engine: StreamLoopEngine, form: Form
    ) -> None:
        self._scenario, self._engine = scenario, engine
        self._form: Form = form
        self._world = LoopWorld(scenario)
        self._recorder = self._world.recorder
        self._history: Sequence[Message] = ()

    async def play(self) -> Trace:
        """Play the turns, and return all that was seen."""
        self._recorder.time_run()
        self._recorder.note_now("build", {"form": self._form})
        for number, turn in enumerate(self._scenario.turns, 1):
            self._recorder.run = number
            await self._turn(turn)
        return self._recorder.trace()

    async def _turn(self, turn: LoopTurnSpec) -> None:
        self._recorder.note_now("run_start", turn.model_dump())
        await play_turn(
            self._recorder,
            lambda: self._engine.process(self._call(turn)),
            turn.cancel_after,
            self._ended,
        )

    def _ended(self, result: object) -> Json:
        told = seen_result(result)
        self._history = getattr(result, "history", ())
        return told

    def _call(self, turn: LoopTurnSpec) -> LoopCall:
        world, scenario = self._world, self._scenario
        return LoopCall(
            input=turn.input,
            max_iterations=turn.most,
            history=self._history if turn.continues else (),
            model=world.model,
            tools=world.tools,
            callbacks=world.callbacks(),
            limits=scenario.limits.limits(),
            instruction=scenario.instruction,
            next_prompt=scenario.next_prompt,
            form=self._form,
            new_id=world.new_id,
            logger=world.logger,
        )


def in_other_chunks(scenario: LoopScenario) -> LoopScenario:
    """Return a scenario whose models stream the same in chunks of one character."""
    script = [tuple(_cut(answer)) for answer in scenario.script]
    return scenario.model_copy(update={"script": tuple(script)})


def _cut(answer: Sequence[LoopChunkSpec]) -> Iterator[LoopChunkSpec]:
    for each in answer:
        if each.error is not None or not (each.text or each.calls):
            yield each
            continue
        seconds = each.seconds
        for chunk in _pieces(each):
            yield chunk.model_copy(update={"seconds": seconds})
            seconds = 0


def _pieces(chunk: LoopChunkSpec) -> Iterator[LoopChunkSpec]:
    yield from (LoopChunkSpec(text=each) for each in chunk.text)
    for call in chunk.calls:
        if call.index is None or not call.arguments:
            yield LoopChunkSpec(calls=(call,))
            continue
        first = call.model_copy(update={"arguments": call.arguments[:1]})
        yield LoopChunkSpec(calls=(first,))
        for each in call.arguments[1:]:
            more = LoopPieceSpec(index=call.index, arguments=each)
            yield LoopChunkSpec(calls=(more,))

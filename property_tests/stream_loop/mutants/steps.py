"""The steps of the stream loop that mutants replace, by name, and no others.

Each is a public function or method with a sentence that says what it does. A function
that other modules import by name is replaced where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from compat.dialects.stream_loop import linear, loop
from compat.dialects.stream_loop.callbacks import Telling
from compat.dialects.stream_loop.limits import Limits
from compat.dialects.stream_loop.linear import LinearProcessor
from compat.dialects.stream_loop.loop import LoopProcessor
from compat.dialects.stream_loop.parts import PartsTracker
from compat.dialects.stream_loop.profile import loop_profile
from compat.dialects.stream_loop.records import LoopLog
from compat.engines.stream_loop import reference
from compat.engines.stream_loop.playing import play_loop
from compat.engines.stream_loop.reference import StreamLoop
from property_tests.dialects.broken import BrokenReferences
from property_tests.mutants.steps import EngineStep

LOOP_STEPS: Final[Mapping[str, EngineStep]] = MappingProxyType(
    {
        "linear.params": EngineStep(LinearProcessor, "params_of"),
        "linear.ended": EngineStep(LinearProcessor, "ended_in_order"),
        "linear.rounds": EngineStep(LinearProcessor, "process_rounds"),
        "linear.result": EngineStep(LinearProcessor, "result_of"),
        "linear.in_time": EngineStep(LinearProcessor, "process_in_time"),
        "linear.chunk": EngineStep(LinearProcessor, "process_response_chunk"),
        "linear.execute": EngineStep(LinearProcessor, "execute_tool_call"),
        "linear.feedback": EngineStep(LinearProcessor, "provide_tool_result_feedback"),
        "linear.messages": EngineStep(LinearProcessor, "messages_of"),
        "linear.streamed": EngineStep(linear, "streamed"),
        "linear.called": EngineStep(linear, "called"),
        "linear.limited": EngineStep(linear, "limited"),
        "linear.outcome": EngineStep(linear, "outcome"),
        "linear.ended_tasks": EngineStep(linear, "ended"),
        "loop.input": EngineStep(LoopProcessor, "process_input"),
        "loop.rounds": EngineStep(LoopProcessor, "process_rounds"),
        "loop.iteration": EngineStep(LoopProcessor, "process_single_iteration"),
        "loop.continues": EngineStep(LoopProcessor, "should_continue"),
        "loop.prompt": EngineStep(LoopProcessor, "build_next_prompt"),
        "loop.add_prompt": EngineStep(LoopProcessor, "add_next_prompt"),
        "loop.rounds_of": EngineStep(loop, "rounds_of"),
        "loop.json_text": EngineStep(loop, "json_text"),
        "telling.tell": EngineStep(Telling, "tell"),
        "telling.failed": EngineStep(Telling, "failed"),
        "limits.call": EngineStep(Limits, "check_call"),
        "limits.result": EngineStep(Limits, "check_result"),
        "log.info": EngineStep(LoopLog, "info"),
        "log.failure": EngineStep(LoopLog, "failure"),
        "parts.round": EngineStep(PartsTracker, "begin_round"),
        "parts.text": EngineStep(PartsTracker, "add_text"),
        "parts.piece": EngineStep(PartsTracker, "add_piece"),
        "parts.stream_end": EngineStep(PartsTracker, "end_stream"),
        "parts.execute": EngineStep(PartsTracker, "execute"),
        "parts.finish": EngineStep(PartsTracker, "finish"),
        "parts.fail": EngineStep(PartsTracker, "fail"),
        "parts.call_at": EngineStep(PartsTracker, "call_at"),
        "forms.loop_of": EngineStep(reference, "loop_of"),
    }
)
"""All of them, from a call of the processor to the parts that it tells."""

BROKEN: Final = BrokenReferences(
    prefix="loop",
    under="loop-safe",
    profile_named=loop_profile,
    reference=StreamLoop,
    play_on=play_loop,
    steps=LOOP_STEPS,
)
broken = BROKEN.broken
step = BROKEN.step

"""Engines that are wrong about streams against whole results (STR)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.engines.broken_streams import (
    always_invoked,
    fewer_calls,
    first_and_last,
    invoked_model,
    joins_early,
    last_text,
    left_open,
    merged_answer,
    merged_result,
    never_closes,
    no_answer,
    no_event_of,
    quiet_in,
    streams_if_it_can,
    stripped,
    stripped_events,
    unwrapped,
    without_tools,
)
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine import loop, model_calls
from refengine.extensions import Extensions
from refengine.loop import Loop
from refengine.shared_stream import SharedStream
from refengine.tool_calls import ToolCallRun
from refengine.tool_onion import BoundTool

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        id="both-kinds-invoked",
        about="A tool with both kinds is invoked in a streaming run too.",
        violates=("STR-001",),
        wrong=patched(
            "both kinds invoked",
            Patch(BoundTool, "endpoint", always_invoked),
        ),
    ),
    Mutant(
        id="both-kinds-streamed",
        about="A tool with both kinds is streamed in a run that is invoked.",
        violates=("STR-001",),
        wrong=patched(
            "both kinds streamed",
            Patch(BoundTool, "endpoint", streams_if_it_can),
        ),
    ),
    Mutant(
        id="streams-joined-early",
        about="A streamable tool is made an invokable one, which other wrappers wrap.",
        violates=("STR-002",),
        wrong=patched("joined early", Patch(BoundTool, "__init__", joins_early)),
    ),
    Mutant(
        id="streams-unwrapped",
        about="The last streamable wrapper is never entered.",
        violates=("STR-003",),
        wrong=patched("unwrapped", Patch(Extensions, "tool_layers", unwrapped)),
    ),
    Mutant(
        id="model-never-streamed",
        about="In a streaming run the model is invoked, and its answer shown whole.",
        violates=("STR-004",),
        wrong=patched("never streamed", Patch(model_calls, "streamer", invoked_model)),
    ),
    Mutant(
        id="answer-chunks-merged",
        about="The consumer gets a streamed answer as one chunk, when it is complete.",
        violates=("STR-005",),
        wrong=patched("merged answers", Patch(Loop, "open_answer", merged_answer)),
    ),
    Mutant(
        id="result-chunks-merged",
        about="The consumer gets a streamed result as one chunk.",
        violates=("STR-006",),
        wrong=patched("merged results", Patch(ToolCallRun, "event", merged_result)),
    ),
    Mutant(
        id="streams-left-open",
        about="A stream is read to its first chunk, and never closed.",
        violates=("STR-007",),
        wrong=patched(
            "left open",
            Patch(SharedStream, "_pull", left_open),
            Patch(SharedStream, "close", never_closes),
        ),
    ),
    Mutant(
        id="answer-breaks-off-quietly",
        about="An answer that breaks off looks whole to who reads its stream.",
        violates=("STR-008",),
        wrong=patched("quiet answers", Patch(SharedStream, "_read", quiet_in("model"))),
    ),
    Mutant(
        id="result-breaks-off-quietly",
        about="A result that breaks off looks whole to who reads its stream.",
        violates=("STR-009",),
        wrong=patched("quiet results", Patch(SharedStream, "_read", quiet_in("tool"))),
    ),
    Mutant(
        id="history-misses-chunks",
        about="The history keeps the first and the last chunk of a streamed answer.",
        violates=("STR-010",),
        wrong=patched("first and last", Patch(loop, "join_chunks", first_and_last)),
    ),
    Mutant(
        id="history-keeps-last-chunk",
        about="The history keeps the last chunk of a streamed result.",
        violates=("STR-011",),
        wrong=patched("last chunk", Patch(ToolCallRun, "finish", last_text)),
    ),
    Mutant(
        id="streamed-without-tools",
        about="In a streaming run the model is told of no tools.",
        violates=("STR-012",),
        wrong=patched("without tools", Patch(Loop, "_call_model", without_tools)),
    ),
    Mutant(
        id="streamed-without-arguments",
        about="In a streaming run tools are executed without arguments.",
        violates=("STR-013",),
        wrong=patched("without arguments", Patch(ToolCallRun, "open", fewer_calls)),
    ),
    Mutant(
        id="streamed-without-answer",
        about="A streaming run ends without an answer.",
        violates=("STR-014",),
        wrong=patched("without answer", Patch(Loop, "route", no_answer)),
    ),
    Mutant(
        id="streamed-calls-not-shown",
        about="The stream of an answer brings its text and not its calls.",
        violates=("STR-015",),
        wrong=patched("calls not shown", Patch(SharedStream, "_read", no_event_of)),
    ),
    Mutant(
        id="many-chunks-stripped",
        about="An answer in three chunks or more loses the spaces between them.",
        violates=("STR-016",),
        wrong=patched("stripped", Patch(loop, "join_chunks", stripped)),
    ),
    Mutant(
        id="shown-chunks-stripped",
        about="The consumer misses every space that a chunk ends on.",
        violates=("STR-017",),
        wrong=patched("shown stripped", Patch(SharedStream, "_read", stripped_events)),
    ),
)
"""Engines that treat what is streamed as something else."""

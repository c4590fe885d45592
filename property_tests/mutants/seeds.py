"""The table of mutants that the seeds sketch, in the words of the seeds."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from property_tests.mutants.doors import NATIVE, adapting, arranged
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.sketches import (
    as_map,
    each_remade,
    factory_a_call,
    flag_cleared,
    merging,
    one_name,
    stream_of_results,
    under,
    unordered,
)

STRUCTS: Final = MappingProxyType({"handlers": False, "max_runs": 1})
"""Worlds without handlers: what an adapter does is seen there already."""
BARE: Final = MappingProxyType(
    {**STRUCTS, "tool_call_middlewares": False, "streaming": False}
)
"""The same with less around them, for what is rarely met in a full world."""
COUNTING: Final = MappingProxyType({**BARE, "counting": True})
ADAPTER_001: Final = "seed 001 §4.1"
ADAPTER_000: Final = "seed 000 P0.2"

SKETCHES: Final = (
    Mutant(
        id="sketch-001-skips-empty",
        about="An empty additional instruction adds nothing; before the refactor it"
        " added its newline.",
        source=ADAPTER_001,
        quote='if m.AdditionalInstruction != "" {',
        violates=("COMPAT-001", "INS-005"),
        right=NATIVE,
        wrong=adapting("skips empty", under("empty_addition", "skipped")),
        worlds=STRUCTS,
    ),
    Mutant(
        id="sketch-001-flag-false",
        about="The struct's tools get the flag false where they had none, so what"
        " tools_config.return_directly says for the name is overruled.",
        source=ADAPTER_001,
        quote="ToolMeta{Tool: t, ReturnDirectly: false}",
        violates=("COMPAT-001", "RD-014"),
        right=NATIVE,
        wrong=adapting("flag false", each_remade(flag_cleared)),
        worlds=BARE,
    ),
    Mutant(
        id="sketch-001-state-a-struct",
        about="Every struct is given a state object of its own; before the refactor all"
        " hooks of a pass were given one, and could find it again.",
        source=ADAPTER_001,
        quote="state := &ChatModelAgentState{Messages: messages}",
        violates=("COMPAT-001", "COMPAT-004"),
        right=NATIVE,
        wrong=adapting("state a struct", under("state_object", "per_middleware")),
        worlds=STRUCTS,
    ),
    Mutant(
        id="sketch-001-factory-a-call",
        about="The factory of a tool wrapper is called for every call and not once a"
        " tool, so what its closure counts or caches starts anew each time.",
        source=ADAPTER_001,
        quote="wrappedNext := m.WrapToolCall.Invokable(",
        violates=("COMPAT-001", "COMPAT-005"),
        right=NATIVE,
        wrong=adapting("factory a call", each_remade(factory_a_call)),
        worlds=COUNTING,
    ),
    Mutant(
        id="sketch-001-one-name",
        about="All structs have one name and the hooks of a handler, so an error tells"
        " neither which struct raised it nor which of its fields.",
        source=ADAPTER_001,
        quote='return "legacy-middleware"',
        violates=("COMPAT-001", "ERR-002"),
        right=NATIVE,
        wrong=adapting("one name", each_remade(one_name)),
        worlds=MappingProxyType({**STRUCTS, "failures": True}),
    ),
    Mutant(
        id="sketch-001-stream-of-results",
        about="The wrapper of a streamed call returns the stream itself; §3.1 of the"
        " same seed asks for a StreamToolCallResult that holds it.",
        source=ADAPTER_001,
        quote="(*schema.StreamReader[*ToolCallResult], error)",
        violates=("COMPAT-001", "STR-016"),
        right=NATIVE,
        wrong=adapting("stream of results", each_remade(stream_of_results)),
        worlds=STRUCTS,
    ),
    Mutant(
        id="sketch-000-blank-line",
        about="A blank line stands before an additional instruction; before the"
        " refactor it was one newline.",
        source=ADAPTER_000,
        quote='return instruction + "\\n\\n" + m.AdditionalInstruction, nil',
        violates=("COMPAT-001", "INS-004"),
        right=NATIVE,
        wrong=adapting("blank line", under("separator", "blank_line")),
        worlds=STRUCTS,
    ),
    Mutant(
        id="sketch-000-skips-empty",
        about="An empty additional instruction adds nothing, as in seed 001 §4.1.",
        source=ADAPTER_000,
        quote='if m.AdditionalInstruction == "" {',
        violates=("COMPAT-001", "INS-005"),
        right=NATIVE,
        wrong=adapting("skips empty", under("empty_addition", "skipped")),
        worlds=STRUCTS,
    ),
    Mutant(
        id="sketch-000-empty-base",
        about="An empty instruction gets no separator before an addition; before the"
        " refactor it got one.",
        source=ADAPTER_000,
        quote='if instruction == "" {',
        violates=("COMPAT-001", "INS-006"),
        right=NATIVE,
        wrong=adapting("empty base", under("empty_base", "replaced")),
        worlds=STRUCTS,
    ),
    Mutant(
        id="sketch-000-merge-keeps",
        about="What a handler leaves is written into a map of what was there, so no"
        " handler can remove a tool.",
        source="seed 000 §3.1",
        quote="finalToolsMap[t.Tool.Info(ctx).Name] = t",
        violates=("TOOL-014",),
        right=NATIVE,
        wrong=arranged("merge keeps", merging(as_map)),
        worlds=MappingProxyType({"middlewares": False, "max_runs": 1}),
    ),
    Mutant(
        id="sketch-000-merge-unordered",
        about="The tools come out of a map in any order (here: sorted by name, so that"
        " a run can be repeated); the model is shown another order than was given.",
        source="seed 000 §3.1",
        quote="finalTools := toSlice(finalToolsMap)",
        violates=("TOOL-007",),
        right=NATIVE,
        wrong=arranged("merge unordered", merging(unordered)),
        worlds=MappingProxyType({"middlewares": False, "max_runs": 1}),
    ),
)
"""Adapters and the merge of the two seeds."""

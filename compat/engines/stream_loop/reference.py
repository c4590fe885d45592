"""The doors to the reference of the stream loop: the loop, and one round alone."""

from __future__ import annotations

from functools import partial
from typing import Final

from compat.adapters.loops import loop_of
from compat.dialects.stream_loop import (
    LinearProcessor,
    LoopProcessor,
    LoopProfile,
    LoopResult,
    ToolResult,
    loop_profile,
)
from compat.engines.stream_loop.capabilities import LOOP_CAPABILITIES
from compat.engines.stream_loop.doors import LoopCall
from compat.engines.stream_loop.scenario import Form

OF_LOOPS: Final = frozenset(("loops", "linear", "adapted", "prompts"))
"""What one round has no place for."""


class StreamLoop:
    """The loop, whose results may ask for another round."""

    name = "stream-loop"
    version = ""
    capabilities = frozenset(LOOP_CAPABILITIES)
    own: Form = "loop"

    def __init__(self, profile: LoopProfile | str = "loop-safe") -> None:
        """Play under a profile; raises UnknownProfileError for a name that is none."""
        self.profile = loop_profile(profile) if isinstance(profile, str) else profile

    async def process(self, call: LoopCall) -> LoopResult:
        """Process a call in the form that it asks for."""
        made = self._processor(call, self.own if call.form == "own" else call.form)
        process = made.process_input
        if isinstance(made, LoopProcessor):
            process = partial(made.process_input, max_iterations=call.max_iterations)
        return await process(
            call.input,
            tools=call.tools,
            callbacks=call.callbacks,
            history=call.history,
        )

    def _processor(self, call: LoopCall, form: Form) -> LinearProcessor:
        kind: type[LinearProcessor] = LinearProcessor
        if form == "loop":
            kind = LoopProcessor if call.next_prompt is None else _prompting(call)
        made = kind(
            call.model,
            profile=self.profile,
            limits=call.limits,
            instruction=call.instruction,
            new_id=call.new_id,
            logger=call.logger,
        )
        return loop_of(made) if form == "adapted" else made


class StreamLoopLinear(StreamLoop):
    """One round, as it was before there was a loop."""

    name = "stream-loop-linear"
    capabilities = frozenset(LOOP_CAPABILITIES) - OF_LOOPS
    own: Form = "linear"

    def __init__(self, profile: LoopProfile | str = "loop-adr") -> None:
        """Play under a profile; raises UnknownProfileError for a name that is none."""
        super().__init__(profile)


def _prompting(call: LoopCall) -> type[LoopProcessor]:
    """Return a loop whose own step makes the next prompt."""

    class Prompting(LoopProcessor):
        def build_next_prompt(self, result: ToolResult) -> str:  # noqa: ARG002  # as its base
            return call.next_prompt or ""

    return Prompting

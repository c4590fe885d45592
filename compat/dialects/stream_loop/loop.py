"""The loop: a result may ask for another round (the record's fourth way).

The steps that it adds decide whether there is one, and what the model is asked then.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from compat.dialects.stream_loop.callbacks import NO_CALLBACKS, ResponseCallbacks
from compat.dialects.stream_loop.errors import EmptyPromptWarning
from compat.dialects.stream_loop.limits import rounds_of
from compat.dialects.stream_loop.linear import LinearProcessor, ProcessParams
from compat.dialects.stream_loop.results import (
    IterationResult,
    LoopResult,
    ToolResult,
    json_text,
)
from refengine.messages import History, Message
from refengine.tools import Tool, ToolMeta

LIMIT_TEXT: Final = "达到最大循环次数限制"
"""What the record's sketch answers when its rounds are used up: limit reached."""
PROMPT: Final = "基于以下结果继续: "
"""What the record puts before a result: go on from the following result."""


class LoopProcessor(LinearProcessor):
    """Goes on with another round while a result asks for it."""

    async def process_input(
        self,
        input: str,  # the record's name
        *,
        tools: Sequence[Tool | ToolMeta] = (),
        callbacks: ResponseCallbacks = NO_CALLBACKS,
        history: Sequence[Message] = (),
        max_iterations: float | None = None,
    ) -> LoopResult:
        """Ask the model, execute its calls, and again; 3 rounds at most by default.

        Raises IterationLimitError before anything is asked, and see LinearProcessor.
        """
        most = rounds_of(max_iterations, self.profile)
        params = self.params_of(input, tools, callbacks, history, most)
        return await self.ended_in_order(params)

    async def process_rounds(self, params: ProcessParams) -> LoopResult:
        """Process rounds until none follows, or as many as there may be."""
        text = ""
        while params.round < params.rounds_at_most:
            found = await self.process_in_time(params)
            if not found.requires_follow_up:
                return self.result_of(params, found.text, "completed")
            text = found.text
            if not found.next_prompt and self.profile.empty_prompt == "completes":
                why = f"round {params.round} asks for another with an empty prompt"
                warnings.warn(EmptyPromptWarning(why), stacklevel=2)
                return self.result_of(params, text, "completed")
            self.add_next_prompt(params, found.next_prompt)
        if self.profile.exhausted_text == "limit_text":
            text = LIMIT_TEXT
        return self.result_of(params, text, "max_iterations")

    async def process_single_iteration(self, params: ProcessParams) -> IterationResult:
        """Process one round, and look which of its results ask for another."""
        found = await super().process_single_iteration(params)
        asking = list(filter(self.should_continue, self._considered(found.results)))
        prompts = [self.build_next_prompt(each) for each in asking]
        text = "\n".join(each for each in prompts if each)
        return replace(found, requires_follow_up=bool(asking), next_prompt=text)

    def should_continue(self, result: ToolResult) -> bool:
        """Tell whether a result asks for another round."""
        return result.error is None and result.requires_follow_up is True

    def build_next_prompt(self, result: ToolResult) -> str:
        """Return what the model is asked next because of a result."""
        return PROMPT + json_text(result.result)

    def add_next_prompt(self, params: ProcessParams, prompt: str) -> None:
        """Put what is asked next behind the history, or in its place."""
        if self.profile.next_input == "prompt_only":
            params.history = History()
        params.history = params.history.appended(Message("user", prompt))

    def _considered(self, results: Sequence[ToolResult]) -> Sequence[ToolResult]:
        which = self.profile.follow_up
        if which == "any":
            return results
        return results[:1] if which == "first_only" else results[-1:]

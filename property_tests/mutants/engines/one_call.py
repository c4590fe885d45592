"""Engines in which what a wrapper does to one call stays for others (TOOL, WRAP)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.around import configured
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.errors import ToolNotFound
from refengine.messages import Message
from refengine.tools import Options, ToolInfo


def _taken_for_good(right: Right) -> Right:
    """Begin each request with the tools that the last one had in the end."""

    def next_iteration(self: Given) -> Given:
        if self.model_call is not None:
            self.plan = replace(self.plan, shown=self.model_call.shown)
        return right(self)

    return next_iteration


def _unknown_for_good() -> Sequence[Patch]:
    """Have a tool that one request lacked be unknown to the end of the run."""
    runs: dict[int, tuple[Given, set[str]]] = {}

    def prepare(right: Right) -> Right:
        def prepare_call(self: Given, call: Given, bound: Mapping[str, Given]) -> Given:
            _, lacked = runs.setdefault(id(self.locals), (self.locals, set()))
            if self.model_call is not None:
                lacked |= {*bound} - {info.name for info in self.model_call.shown}
            if call.name in lacked:
                raise ToolNotFound(call.name, [*bound])
            return right(self, call, bound)

        return prepare_call

    def noticing(right: Right) -> Right:
        def next_iteration(self: Given) -> Given:
            if self.model_call is not None:
                _, lacked = runs.setdefault(id(self.locals), (self.locals, set()))
                shown = {info.name for info in self.model_call.shown}
                lacked |= {info.name for info in self.plan.shown} - shown
            return right(self)

        return next_iteration

    return patch("loop.prepare_call", prepare), patch("loop.next_iteration", noticing)


class FirstOptionsModel:
    """A model that is given the options of the first call with every other one."""

    def __init__(self, model: Given) -> None:
        self._model = model
        self._options: Options | None = None

    async def invoke(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> Message:
        """Return what the model answers."""
        self._options = options if self._options is None else self._options
        given = ctx, messages, tools, self._options
        answer: Message = await self._model.invoke(*given)
        return answer


def _first_options(config: ChatModelAgentConfig) -> ChatModelAgentConfig:
    return replace(config, model=FirstOptionsModel(config.model))


def _options_stay() -> Sequence[Patch]:
    """Ask the model with the options that the request before it ended with."""

    def asking(right: Right) -> Right:
        async def ask(self: Given, ctx: Context) -> Given:
            last = None if self.model_call is None else self.model_call.scope.shown
            of_run = self.options
            if last is not None:
                self.options = last.options
            try:
                return await right(self, ctx)
            finally:
                self.options = of_run

        return ask

    return patch("loop.ask_model", asking), patch("loop.open_answer", asking)


def _options_of_the_message_before() -> Sequence[Patch]:
    """Begin the calls of a message with what the last call before it ended with."""
    last: list[tuple[Given, Options]] = []

    def preparing(right: Right) -> Right:
        def prepare_call(self: Given, call: Given, bound: Given) -> Given:
            made = right(self, call, bound)
            left = [options for loop, options in last if loop is self.locals]
            if left:
                made.input.call_options = left[-1]
            return made

        return prepare_call

    def settling(right: Right) -> Right:
        def settle(self: Given, batch: Given) -> Given:
            ended = batch.runs[-1:]
            last.extend((self.locals, each.input.call_options) for each in ended)
            return right(self, batch)

        return settle

    return patch("loop.prepare_call", preparing), patch("loop.settle", settling)


def _handed_on() -> Sequence[Patch]:
    """Give each call the options that the last one ended with."""
    last: list[Options] = []

    def opening(right: Right) -> Right:
        async def opened(self: Given, ctx: Given, streaming: Given) -> None:
            if last:
                self.input.call_options = last[-1]
            await right(self, ctx, streaming)
            last.append(self.input.call_options)

        return opened

    return (patch("call.open", opening),)


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "tools-taken-out-for-good",
        "A tool that a wrapper took out of one request is in no later one of its run.",
        "TOOL-024",
        patch("loop.next_iteration", _taken_for_good),
    ),
    wrong(
        "tools-unknown-for-good",
        "A tool that one request lacked is unknown when a later one offers it.",
        "TOOL-024",
        PatchedDoor("tools-unknown-for-good", _unknown_for_good),
    ),
    wrong(
        "options-of-the-first-request",
        "Every model call has the options of the first one.",
        "WRAP-025",
        configured(_first_options),
    ),
    wrong(
        "options-of-the-last-request",
        "A model call begins with the options that wrappers wrote for the last one.",
        "WRAP-025",
        PatchedDoor("options-of-the-last-request", _options_stay),
    ),
    wrong(
        "options-of-the-message-before",
        "Calls begin with the options that wrappers wrote in the message before.",
        "WRAP-025",
        PatchedDoor("options-of-the-message-before", _options_of_the_message_before),
    ),
    wrong(
        "options-of-the-last-call",
        "A tool call begins with the options that wrappers wrote for the last one.",
        "WRAP-025",
        PatchedDoor("options-of-the-last-call", _handed_on),
    ),
)

"""Engines that are wrong now and then: in a later iteration, for one kind of value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine.agent import Agent
from refengine.chain import Pipeline
from refengine.context import Context
from refengine.loop import Loop
from refengine.messages import Message, ToolCall
from refengine.plan import Plan
from refengine.tool_calls import CallBatch
from refengine.tools import NO_OPTIONS, Options

Right: TypeAlias = Callable[..., Any]
Given: TypeAlias = Any  # what the engine hands on, of whatever type


def _messages_as(change: Callable[[Sequence[Message]], Sequence[Message]]) -> Patch:
    """Change the messages that a run is given."""

    def replaced(right: Right) -> Right:
        def run(
            self: Agent, messages: Sequence[Message], *more: Given, **kw: Given
        ) -> Given:
            return right(self, change(messages), *more, **kw)

        return run

    return Patch(Agent, "run", replaced)


def _last_twenty(messages: Sequence[Message]) -> Sequence[Message]:
    return messages[-20:]


def _each_once(messages: Sequence[Message]) -> Sequence[Message]:
    return list(dict.fromkeys(messages))


def _only_without_another(right: Right) -> Right:
    def made(self: Loop, machine: Given, plan: Plan, *more: Given) -> None:
        messages = cast("Sequence[Message]", more[1])
        if any(each.role == "system" for each in messages):
            plan = replace(plan, instruction="")
        right(self, machine, plan, *more)

    return made


def _almost(right: Right) -> Right:
    def run_of(self: Loop, call: ToolCall, bound: Mapping[str, object]) -> object:
        alike = {name.casefold(): name for name in bound}
        name = alike.get(call.name.casefold(), call.name)
        return right(self, replace(call, name=name), bound)

    return run_of


def _options_once(right: Right) -> Right:
    def run_of(self: Loop, call: ToolCall, bound: object) -> object:
        kept = self.options
        self.options = kept if self.iterations == 1 else NO_OPTIONS
        try:
            return right(self, call, bound)
        finally:
            self.options = kept

    return run_of


def _true_options(right: Right) -> Right:
    def run(
        self: Agent,
        messages: object,
        stream: bool = False,  # noqa: FBT002  # contract §0
        ctx: Context | None = None,
        options: Options | None = None,
    ) -> object:
        some = {key: value for key, value in (options or {}).items() if value}
        return right(self, messages, stream, ctx, some)

    return run


def _true_values(right: Right) -> Right:
    def with_value(self: Context, key: str, value: object) -> Context:
        return cast("Context", right(self, key, value)) if value else self

    return with_value


def _same_context(right: Right) -> Right:
    async def observe(self: Pipeline, ctx: Context, value: object) -> Context:
        for step in self._steps:
            alone = Pipeline(())
            alone._steps = (step,)  # noqa: SLF001  # a pipeline of its own
            await right(alone, ctx, value)
        return ctx

    return observe


def _locals_dropped(right: Right) -> Right:
    def following(self: Loop) -> bool:
        self.locals.clear()
        return cast("bool", right(self))

    return following


def _nothing_to_answer(right: Right) -> Right:
    def following(self: Loop) -> bool:
        last = self.history.last()
        if self.iterations == 0 and last is not None and last.role == "assistant":
            self.status, self.answer = "completed", last
            return False
        return cast("bool", right(self))

    return following


def _calls_answered(right: Right) -> Right:
    def following(self: Loop) -> bool:
        last = self.history.last()
        for call in last.tool_calls if last is not None and not self.iterations else ():
            result = Message("tool", "", tool_call_id=call.id, name=call.name)
            self.history = self.history.appended(result)
        return cast("bool", right(self))

    return following


def _only_own_calls(right: Right) -> Right:
    def route(self: Loop, response: Message) -> object:
        last = self.history.last()
        if last is not None and last.tool_calls and not response.tool_calls:
            self.answer = last
            return ()
        return right(self, response)

    return route


def _later_errors_told(right: Right) -> Right:
    def settle(self: Loop, batch: CallBatch) -> bool:
        for run in batch.calls if self.iterations > 1 else ():
            if run.error is not None:
                run.text, run.error = "it failed", None
        return cast("bool", right(self, batch))

    return settle


def _mutant(id_: str, about: str, clause: str, *patches: Patch) -> Mutant:
    wrong = patched(id_, *patches)
    return Mutant(id=id_, about=about, violates=(clause,), wrong=wrong)


MUTANTS: Final[tuple[Mutant, ...]] = (
    _mutant(
        "another-system-message-counts",
        "A run that is given a system message does without the instruction's.",
        "MSG-001",
        Patch(Loop, "__init__", _only_without_another),
    ),
    _mutant(
        "last-twenty-messages",
        "A run starts with the last twenty of the messages that it is given.",
        "MSG-002",
        _messages_as(_last_twenty),
    ),
    _mutant(
        "equal-messages-once",
        "Of equal messages that a run is given it starts with the first.",
        "MSG-002",
        _messages_as(_each_once),
    ),
    _mutant(
        "calls-of-the-input-answered",
        "Calls at the end of the messages that a run is given have a result.",
        "MSG-002",
        Patch(Loop, "next_iteration", _calls_answered),
    ),
    _mutant(
        "calls-of-hooks-not-run",
        "Calls that an after-model hook puts into a plain answer are not run.",
        "MSG-012",
        Patch(Loop, "route", _only_own_calls),
    ),
    _mutant(
        "almost-the-name",
        "A call runs the tool whose name differs in upper and lower case only.",
        "TOOL-019",
        Patch(Loop, "prepare_call", _almost),
    ),
    _mutant(
        "answered-input-ends-the-run",
        "A run that is given messages with an answer at the end asks nobody.",
        "RUN-002",
        Patch(Loop, "next_iteration", _nothing_to_answer),
    ),
    _mutant(
        "later-errors-are-results",
        "From the second iteration on a tool that fails has a result that says so.",
        "ERR-007",
        Patch(Loop, "settle", _later_errors_told),
    ),
    _mutant(
        "options-for-the-first-tools",
        "Tools of later iterations are given no options.",
        "WRAP-017",
        Patch(Loop, "prepare_call", _options_once),
    ),
    _mutant(
        "options-that-are-true",
        "An option that is 0, empty or null is dropped.",
        "WRAP-018",
        Patch(Agent, "run", _true_options),
    ),
    _mutant(
        "after-agent-contexts-dropped",
        "Each hook after the agent gets the context that the first one got.",
        "CTX-001",
        Patch(Pipeline, "observe", _same_context),
    ),
    _mutant(
        "values-that-are-true",
        "A value of a context that is 0, empty or null is not kept.",
        "CTX-012",
        Patch(Context, "with_value", _true_values),
    ),
    _mutant(
        "run-locals-of-an-iteration",
        "An iteration finds no run-local values of the one before.",
        "CTX-013",
        Patch(Loop, "next_iteration", _locals_dropped),
    ),
)

"""Engines that are wrong now and then: in a later iteration, for one kind of value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.engines.messages import begun
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Patch, Right, broken, patch
from refengine.messages import History, Message, ToolCall
from refengine.tools import NO_OPTIONS

MANY: Final = 256


def _messages_as(change: Callable[[Sequence[Message]], Sequence[Message]]) -> Patch:
    """Change the messages that a run is given."""

    def replaced(right: Right) -> Right:
        def run(
            self: Given, messages: Sequence[Message], *more: Given, **how: Given
        ) -> Given:
            return right(self, change(messages), *more, **how)

        return run

    return patch("agent.run", replaced)


def _each_once(messages: Sequence[Message]) -> Sequence[Message]:
    return list(dict.fromkeys(messages))


def _only_without_another(loop: Given) -> None:
    given = History(loop.history.without(loop.first))
    if any(each.role == "system" for each in given):
        loop.history, loop.first = given, None


def _almost(right: Right) -> Right:
    def prepare_call(self: Given, call: ToolCall, bound: Mapping[str, object]) -> Given:
        alike = {name.casefold(): name for name in bound}
        name = alike.get(call.name.casefold(), call.name)
        return right(self, replace(call, name=name), bound)

    return prepare_call


def _options_once(right: Right) -> Right:
    def prepare_call(self: Given, call: ToolCall, bound: object) -> Given:
        kept = self.options
        self.options = kept if self.iterations == 1 else NO_OPTIONS
        try:
            return right(self, call, bound)
        finally:
            self.options = kept

    return prepare_call


def _writable(loop: Given) -> None:
    loop.options = dict(loop.options)


def _nothing_to_answer(right: Right) -> Right:
    def next_iteration(self: Given) -> Given:
        last = self.history.last()
        if self.iterations == 0 and last is not None and last.role == "assistant":
            self.status, self.answer = "completed", last
            return False
        return right(self)

    return next_iteration


def _calls_answered(right: Right) -> Right:
    def next_iteration(self: Given) -> Given:
        last = self.history.last()
        for call in last.tool_calls if last is not None and not self.iterations else ():
            result = Message("tool", "", tool_call_id=call.id, name=call.name)
            self.history = self.history.appended(result)
        return right(self)

    return next_iteration


def _only_own_calls(right: Right) -> Right:
    def route(self: Given, response: Message) -> Given:
        last = self.history.last()
        if last is not None and last.tool_calls and not response.tool_calls:
            self.answer = last
            return ()
        return right(self, response)

    return route


def _later_errors_are_results(right: Right) -> Right:
    def settle(self: Given, batch: Given) -> Given:
        for run in batch.calls if self.iterations > 1 else ():
            if run.error is not None:
                run.text, run.error = "it failed", None
        return right(self, batch)

    return settle


def _first_later(right: Right) -> Right:
    def direct_call(self: Given, calls: Sequence[Given]) -> Given:
        last = right(self, calls)
        if self.iterations == 1 or last is None:
            return last
        return next(each for each in calls if right(self, [each]) is each)

    return direct_call


def _lost_in_a_crowd(right: Right) -> Right:
    def model_hooks(self: Given, field: str) -> Given:
        lost = len(self.handlers) > MANY and field == "after_chat_model"
        return [] if lost else right(self, field)

    return model_hooks


def _last_broken(right: Right) -> Right:
    def error(self: Given) -> Given:
        broke = [each.error for each in self.runs if each.fault is not None]
        return broke[-1] if len(broke) > 1 else right(self)

    return error


def _only_without_question(right: Right) -> Right:
    return lambda self: None if self.interrupted else right(self)


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "another-system-message-counts",
        "A run that is given a system message does without the instruction's.",
        "MSG-001",
        begun(_only_without_another),
    ),
    broken(
        "equal-messages-once",
        "Of equal messages that a run is given it starts with the first.",
        "MSG-002",
        _messages_as(_each_once),
    ),
    broken(
        "calls-of-the-input-answered",
        "Calls at the end of the messages that a run is given have a result.",
        "MSG-002",
        patch("loop.next_iteration", _calls_answered),
    ),
    broken(
        "calls-of-hooks-not-run",
        "Calls that an after-model hook puts into a plain answer are not run.",
        "MSG-012",
        patch("loop.route", _only_own_calls),
    ),
    broken(
        "almost-the-name",
        "A call runs the tool whose name differs in upper and lower case only.",
        "TOOL-019",
        patch("loop.prepare_call", _almost),
    ),
    broken(
        "answered-input-ends-the-run",
        "A run that is given messages with an answer at the end asks nobody.",
        "RUN-002",
        patch("loop.next_iteration", _nothing_to_answer),
    ),
    broken(
        "later-errors-are-results",
        "From the second iteration on a tool that fails has a result that says so.",
        "ERR-007",
        patch("loop.settle", _later_errors_are_results),
    ),
    broken(
        "options-for-the-first-tools",
        "Tools of later iterations are given no options.",
        "WRAP-017",
        patch("loop.prepare_call", _options_once),
    ),
    broken(
        "options-can-be-written",
        "The calls of a run share options that each of them can write into.",
        "WRAP-017 WRAP-018",
        begun(_writable),
    ),
    broken(
        "later-first-direct-call-answers",
        "From the second iteration on the first of several direct calls answers.",
        "RD-008",
        patch("loop.direct_call", _first_later),
    ),
    broken(
        "struct-lost-in-a-crowd",
        "Beside more than 256 handlers structs do nothing after the model.",
        "ORD-004",
        patch("extensions.model_hooks", _lost_in_a_crowd),
    ),
    broken(
        "last-broken-stream-first",
        "Of several streams that break the last one's error ends the run.",
        "CONC-006",
        patch("batch.error", _last_broken),
    ),
    broken(
        "failure-forgotten-beside-a-question",
        "A call that fails beside one that asks for something is forgotten.",
        "RUN-022",
        patch("batch.error", _only_without_question),
    ),
)

"""Engines that are wrong about what a history is made of (MSG)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.around import handing_back, under
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.context import Context
from refengine.messages import History, Message
from refengine.routing import answer_of


def begun(change: Callable[[Given], None]) -> Patch:
    """Change a run before its first step; one that was kept has had it."""

    def replaced(right: Right) -> Right:
        def start(self: Given) -> Given:
            if not self.iterations:
                change(self)
            return right(self)

        return start

    return patch("loop.start", replaced)


def _empty_system(loop: Given) -> None:
    if loop.first is None:
        loop.history = loop.history.after(Message("system"))


def _system_behind(loop: Given) -> None:
    if loop.first is not None:
        given = loop.history.without(loop.first)
        loop.history = History((*given, loop.first))


def _last_given(loop: Given) -> None:
    first = () if loop.first is None else (loop.first,)
    loop.history = History((*first, *loop.history.without(loop.first)[-1:]))


def _each_sees_the_first(right: Right) -> Right:
    async def rewrite(
        self: Given, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        left = messages
        for _, one in self.one_by_one():
            ctx, left = await right(one, ctx, messages)
        return ctx, left

    return rewrite


def _edits_not_sent(right: Right) -> Right:
    """Send what stood there before the before-hooks edited it."""

    async def before_model(self: Given) -> Given:
        whole = self.history
        ctx = await right(self)
        self.sends_history, self.this_call = False, whole
        return ctx

    return before_model


def _request_kept(right: Right) -> Right:
    async def ask_model(self: Given, ctx: Context) -> Given:
        got = await right(self, ctx)
        shown = self.model_call and self.model_call.scope.shown
        if shown:
            self.history = History(tuple(shown.messages))
        return got

    return ask_model


def _without_response(right: Right) -> Right:
    async def after_model(self: Given, ctx: Context) -> Given:
        *rest, response = self.history
        self.history = History(rest)
        ctx = await right(self, ctx)
        self.history = self.history.appended(response)
        return ctx

    return after_model


def _edits_lost(right: Right) -> Right:
    async def after_model(self: Given, ctx: Context) -> Given:
        kept = self.history
        ctx = await right(self, ctx)
        self.history = kept
        return ctx

    return after_model


def _response_lost(right: Right) -> Right:
    def route(self: Given, response: Message) -> Given:
        calls = right(self, response)
        if calls and self.history.last() is response:
            self.history = self.history[:-1]
        return calls

    return route


def _settled(change: Callable[[list[Message]], list[Message]]) -> Patch:
    """Keep other tool messages than the right ones."""

    def replaced(right: Right) -> Right:
        def settle(self: Given, batch: Given) -> Given:
            direct = right(self, batch)
            messages = [*self.history]
            first = len(messages) - len(batch.calls)
            changed = change(messages[first:])
            self.history = History((*messages[:first], *changed))
            return direct

        return settle

    return patch("loop.settle", replaced)


def _nameless(messages: list[Message]) -> list[Message]:
    return [replace(each, name=None) for each in messages]


def _by_response(_: Right) -> Right:
    def route(self: Given, response: Message) -> Given:
        if not response.tool_calls:
            profile = self.machine.profile
            self.answer = answer_of(profile, response, self.history)
        return response.tool_calls

    return route


def _none_completes(right: Right) -> Right:
    def route(self: Given, response: Message) -> Given:
        return right(self, response) if self.history else ()

    return route


def _first_answers(right: Right) -> Right:
    def route(self: Given, response: Message) -> Given:
        calls = right(self, response)
        if calls == ():
            said = (each for each in self.history if each.role == "assistant")
            self.answer = next(said, None)
        return calls

    return route


def _appending(right: Right) -> Right:
    def run(self: Given, messages: Given, *args: Given, **more: Given) -> Given:
        made = right(self, messages, *args, **more)
        messages.append(Message("user", "seen"))
        return made

    return run


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "empty-system-message",
        "A run without an instruction starts with an empty system message.",
        "MSG-001",
        begun(_empty_system),
    ),
    broken(
        "system-message-behind",
        "The system message stands behind the given messages.",
        "MSG-001",
        begun(_system_behind),
    ),
    broken(
        "last-given-message-only",
        "A run starts with the last of the messages that it was given.",
        "MSG-002",
        begun(_last_given),
    ),
    broken(
        "hooks-see-the-first-history",
        "Every hook of a pass is given what the first one was given.",
        "MSG-003",
        patch("pipeline.rewrite", _each_sees_the_first),
    ),
    broken(
        "before-edits-not-sent",
        "What before-model hooks leave is kept, but the model is sent what was there.",
        "MSG-004",
        patch("loop.before_model", _edits_not_sent),
    ),
    wrong(
        "before-edits-not-kept",
        "What before-model hooks leave is sent, but not kept.",
        "MSG-005",
        under("before_model_edits", "this_call"),
    ),
    broken(
        "request-edits-kept",
        "What a model wrapper asks with takes the place of the history.",
        "MSG-006",
        patch("loop.ask_model", _request_kept),
    ),
    broken(
        "after-hooks-without-response",
        "After-model hooks see the history without the response.",
        "MSG-007",
        patch("loop.after_model", _without_response),
    ),
    broken(
        "calling-response-lost",
        "A response that calls tools is not kept.",
        "MSG-008",
        patch("loop.route", _response_lost),
    ),
    broken(
        "after-edits-lost",
        "What after-model hooks leave is thrown away.",
        "MSG-009",
        patch("loop.after_model", _edits_lost),
    ),
    broken(
        "results-reversed",
        "Tool messages stand in the reverse order of their calls.",
        "MSG-010",
        _settled(lambda messages: messages[::-1]),
    ),
    broken(
        "results-without-name",
        "Tool messages do not name their tool.",
        "MSG-010",
        _settled(_nameless),
    ),
    wrong(
        "last-message-not-handed-back",
        "The run's messages lack the last one.",
        "MSG-011",
        handing_back(lambda left: replace(left, messages=left.messages[:-1])),
    ),
    broken(
        "routed-by-response",
        "The model's response decides, whatever after-hooks made of it.",
        "MSG-012",
        patch("loop.route", _by_response),
    ),
    broken(
        "nothing-left-completes",
        "A run whose after-hooks leave nothing completes without an answer.",
        "MSG-013",
        patch("loop.route", _none_completes),
    ),
    broken(
        "first-answer",
        "The answer is the first thing that the model said.",
        "MSG-014",
        patch("loop.route", _first_answers),
    ),
    wrong(
        "last-message-answers",
        "The answer is the last message, whoever said it.",
        "MSG-015",
        under("answer", "last_message"),
    ),
    broken(
        "callers-list-appended",
        "A run appends to the list that the caller gave it.",
        "MSG-016",
        patch("agent.run", _appending),
    ),
    wrong(
        "system-message-twice-on-a-thread",
        "A turn keeps the system message that the last one put first.",
        "MSG-017",
        handing_back(lambda left: replace(left, first=None)),
    ),
    wrong(
        "unanswered-calls-refused",
        "A history with a call that has no result is refused.",
        "MSG-018",
        under("unanswered_calls", "refused"),
    ),
    wrong(
        "unanswered-calls-sent",
        "A call without a result is sent where the profile refuses it.",
        "MSG-018",
        under("unanswered_calls", "sent"),
        under="langgraph-prebuilt-1",
    ),
)

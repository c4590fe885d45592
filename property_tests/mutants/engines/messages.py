"""Engines that are wrong about what a history is made of, or tidy it up (MSG, TOOL)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.around import handing_back, under
from property_tests.mutants.models import heard, sent
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.context import Context
from refengine.messages import History, Message, ToolCall


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


def _each_sees_the_first(right: Right) -> Right:
    async def rewrite(
        self: Given, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        left = messages
        for _, one in self.one_by_one():
            ctx, left = await right(one, ctx, messages)
        return ctx, left

    return rewrite


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


AS_IT_IS: Final = "Texts and names reach the model byte for byte."


def _each(change: Callable[[Message], Message]) -> Door:
    return sent(lambda messages: list(map(change, messages)))


def called(change: Callable[[ToolCall], ToolCall]) -> Patch:
    """Return what runs another call than the one of the message."""

    def replaced(right: Right) -> Right:
        def prepare_call(self: Given, call: ToolCall, bound: object) -> Given:
            return right(self, change(call), bound)

        return prepare_call

    return patch("loop.prepare_call", replaced)


def results(change: Callable[[str], str]) -> Patch:
    """Return what takes another text for the result of a call."""

    def replaced(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            await right(self, ctx, streaming)
            if self.text is not None:
                self.text = change(self.text)

        return opened

    return patch("call.open", replaced)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _of(role: str, change: Callable[[str], str]) -> Door:
    """Send the model other texts of one role."""
    return _each(
        lambda each: (
            replace(each, content=change(each.content)) if each.role == role else each
        )
    )


def _edits_not_sent(right: Right) -> Right:
    """Send what stood there before the before-hooks edited it."""

    async def before_model(self: Given) -> Given:
        whole = self.history
        ctx = await right(self)
        self.sends_history, self.this_call = False, whole
        return ctx

    return before_model


def _edits_lost(right: Right) -> Right:
    async def after_model(self: Given, ctx: Context) -> Given:
        kept = self.history
        ctx = await right(self, ctx)
        self.history = kept
        return ctx

    return after_model


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


def _something(text: str) -> str:
    return text or "(no output)"


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "empty-system-message",
        "A run without an instruction starts with an empty system message.",
        "MSG-001",
        begun(_empty_system),
    ),
    broken(
        "hooks-see-the-first-history",
        "Every hook of a pass is given what the first one was given.",
        "MSG-003",
        patch("pipeline.rewrite", _each_sees_the_first),
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
    wrong(
        "instruction-composed",
        "The instruction is sent with composed letters for decomposed ones.",
        "INS-001",
        _of("system", _composed),
        says=AS_IT_IS,
    ),
    wrong(
        "user-texts-decomposed",
        "The model is sent the user's texts with decomposed letters.",
        "MSG-002 MSG-004",
        _of("user", _decomposed),
        says=AS_IT_IS,
    ),
    wrong(
        "answers-composed",
        "Answers of the model are heard with composed letters.",
        "MSG-008 MSG-007",
        heard(lambda heard: replace(heard, content=_composed(heard.content))),
        says=AS_IT_IS,
    ),
    broken(
        "results-composed",
        "A result has composed letters for decomposed ones.",
        "MSG-010 WRAP-011",
        results(_composed),
        says=AS_IT_IS,
    ),
    broken(
        "before-edits-not-sent",
        "What before-model hooks leave is kept, but the model is sent what was there.",
        "MSG-004",
        patch("loop.before_model", _edits_not_sent),
    ),
    broken(
        "after-edits-lost",
        "What after-model hooks leave is thrown away.",
        "MSG-009",
        patch("loop.after_model", _edits_lost),
    ),
    wrong(
        "last-message-not-handed-back",
        "The run's messages lack the last one.",
        "MSG-011",
        handing_back(lambda left: replace(left, messages=left.messages[:-1])),
    ),
    broken(
        "first-answer",
        "The answer is the first thing that the model said.",
        "MSG-014",
        patch("loop.route", _first_answers),
    ),
    broken(
        "callers-list-appended",
        "A run appends to the list that the caller gave it.",
        "MSG-016",
        patch("agent.run", _appending),
    ),
    broken(
        "empty-results-filled-in",
        "A result that is empty is told as no output.",
        "WRAP-011",
        results(_something),
    ),
)

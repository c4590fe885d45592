"""Engines that are wrong about what a history is made of (MSG)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine import loop
from refengine.agent import Agent
from refengine.awaiting import settled
from refengine.chain import Pipeline
from refengine.context import Context
from refengine.loop import Loop
from refengine.messages import History, Message
from refengine.routing import refuse_unanswered
from refengine.run import Run
from refengine.tool_calls import CallBatch

Right = Callable[..., Any]


def _begun(change: Callable[[Loop], None]) -> Patch:
    """Change a run before its first step."""

    def made(right: Right) -> Right:
        def init(self: Loop, *args: Any, **more: Any) -> None:  # noqa: ANN401  # its own
            right(self, *args, **more)
            change(self)

        return init

    return Patch(Loop, "__init__", made)


def _empty_system(loop: Loop) -> None:
    if loop.first is None:
        loop.history = loop.history.after(Message("system"))


def _system_behind(loop: Loop) -> None:
    if loop.first is not None:
        given = loop.history.without(loop.first)
        loop.history = History((*given, loop.first))


def _last_given(loop: Loop) -> None:
    first = () if loop.first is None else (loop.first,)
    loop.history = History((*first, *loop.history.without(loop.first)[-1:]))


def _each_sees_the_first(_: Right) -> Right:
    async def rewrite(
        self: Pipeline, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        left = messages
        for hook, _waits, _name in self._steps:  # a mutant looks inside
            ctx, left = await settled(hook(ctx, messages))
        return ctx, left

    return rewrite


def _around_before(*, keep: bool) -> Patch:
    """Send or keep what stood there before the before-hooks edited it."""

    def made(right: Right) -> Right:
        async def before(self: Loop) -> Context:
            whole = self.history
            ctx = cast("Context", await right(self))
            edited = self.history
            self.sends_history = False
            if keep:
                self.this_call, self.history = edited, whole
            else:
                self.this_call = whole
            return ctx

        return before

    return Patch(Loop, "before_model", made)


def _request_kept(right: Right) -> Right:
    async def answer(self: Loop, ctx: Context) -> Message:
        got = cast("Message", await right(self, ctx))
        shown = self.model_call and self.model_call.scope.shown  # inside
        if shown:
            self.history = History(tuple(shown.messages))
        return got

    return answer


def _after_phases(
    change: Callable[[Right, Loop, Context], Any],
) -> Patch:
    """Do something else around the after-hooks."""

    def made(right: Right) -> Right:
        async def phases(self: Loop, each: Sequence[Any], ctx: Context) -> Context:
            if each is not self.machine.after:
                return cast("Context", await right(self, each, ctx))
            return cast("Context", await change(right, self, ctx))

        return phases

    return Patch(Loop, "run_phases", made)


async def _without_response(right: Right, loop: Loop, ctx: Context) -> Context:
    *rest, response = loop.history
    loop.history = History(rest)
    ctx = await right(loop, loop.machine.after, ctx)  # a mutant's
    loop.history = loop.history.appended(response)
    return ctx


async def _edits_lost(right: Right, loop: Loop, ctx: Context) -> Context:
    kept = loop.history
    ctx = await right(loop, loop.machine.after, ctx)  # a mutant's
    loop.history = kept
    return ctx


def _response_lost(right: Right) -> Right:
    def route(self: Loop, response: Message) -> object:
        calls = right(self, response)
        if calls and self.history.last() is response:
            self.history = self.history[:-1]
        return calls

    return route


def _settled(change: Callable[[list[Message]], list[Message]]) -> Patch:
    """Keep other tool messages than the right ones."""

    def made(right: Right) -> Right:
        def settle(self: Loop, batch: CallBatch) -> bool:
            direct = cast("bool", right(self, batch))
            many = len(batch.calls)
            messages = [*self.history]
            changed = change(messages[len(messages) - many :])
            self.history = History((*messages[: len(messages) - many], *changed))
            return direct

        return settle

    return Patch(Loop, "settle", made)


def _nameless(messages: list[Message]) -> list[Message]:
    return [replace(each, name=None) for each in messages]


def _at_end(change: Callable[[Loop], None]) -> Patch:
    """Change what a run hands back."""

    def made(right: Right) -> Right:
        def end(self: Run, *args: Any) -> None:  # noqa: ANN401  # its own
            if self._loop is not None:
                change(self._loop)
            right(self, *args)

        return end

    return Patch(Run, "_end", made)


def _without_last(loop: Loop) -> None:
    loop.history = loop.history[:-1]


def _no_first(loop: Loop) -> None:
    loop.first = None


def _by_response(_: Right) -> Right:
    def calls(_profile: object, response: Message, *_: object, **__: object) -> object:
        return response.tool_calls

    return calls


def _none_completes(right: Right) -> Right:
    def calls(profile: Any, response: Any, history: History, **more: Any) -> object:  # noqa: ANN401  # its own
        return right(profile, response, history, **more) if history else ()

    return calls


def _first_assistant(_: Right) -> Right:
    def answer(_profile: object, _response: object, history: History) -> object:
        return next((each for each in history if each.role == "assistant"), None)

    return answer


def _last_of_any_role(_: Right) -> Right:
    def answer(_profile: object, _response: object, history: History) -> object:
        return history.last()

    return answer


def _appending(right: Right) -> Right:
    def run(self: Agent, messages: Any, *args: Any, **more: Any) -> object:  # noqa: ANN401  # its own
        made = right(self, messages, *args, **more)
        messages.append(Message("user", "seen"))
        return made

    return run


def _refusing(right: Right) -> Right:
    def sent(self: Loop) -> object:
        refuse_unanswered(self.history)
        return right(self)

    return sent


def _looking(loop: Loop) -> None:
    loop.sends_history = False  # a mutant's


def _never_refusing(_: Right) -> Right:
    def refuse(_messages: Sequence[Message]) -> None:
        return None

    return refuse


def _mutant(id_: str, about: str, clause: str, *patches: Patch, **more: Any) -> Mutant:  # noqa: ANN401  # a mutant's fields
    wrong = patched(id_.replace("-", " "), *patches)
    return Mutant(id=id_, about=about, violates=(clause,), wrong=wrong, **more)


MUTANTS: Final[tuple[Mutant, ...]] = (
    _mutant(
        "empty-system-message",
        "A run without an instruction starts with an empty system message.",
        "MSG-001",
        _begun(_empty_system),
    ),
    _mutant(
        "system-message-behind",
        "The system message stands behind the given messages.",
        "MSG-001",
        _begun(_system_behind),
    ),
    _mutant(
        "last-given-message-only",
        "A run starts with the last of the messages that it was given.",
        "MSG-002",
        _begun(_last_given),
    ),
    _mutant(
        "hooks-see-the-first-history",
        "Every hook of a pass is given what the first one was given.",
        "MSG-003",
        Patch(Pipeline, "rewrite", _each_sees_the_first),
    ),
    _mutant(
        "before-edits-not-sent",
        "What before-model hooks leave is kept, but the model is sent what was there.",
        "MSG-004",
        _around_before(keep=False),
    ),
    _mutant(
        "before-edits-not-kept",
        "What before-model hooks leave is sent, but not kept.",
        "MSG-005",
        _around_before(keep=True),
    ),
    _mutant(
        "request-edits-kept",
        "What a model wrapper asks with takes the place of the history.",
        "MSG-006",
        Patch(Loop, "ask_model", _request_kept),
    ),
    _mutant(
        "after-hooks-without-response",
        "After-model hooks see the history without the response.",
        "MSG-007",
        _after_phases(_without_response),
    ),
    _mutant(
        "calling-response-lost",
        "A response that calls tools is not kept.",
        "MSG-008",
        Patch(Loop, "route", _response_lost),
    ),
    _mutant(
        "after-edits-lost",
        "What after-model hooks leave is thrown away.",
        "MSG-009",
        _after_phases(_edits_lost),
    ),
    _mutant(
        "results-reversed",
        "Tool messages stand in the reverse order of their calls.",
        "MSG-010",
        _settled(lambda messages: messages[::-1]),
    ),
    _mutant(
        "results-without-name",
        "Tool messages do not name their tool.",
        "MSG-010",
        _settled(_nameless),
    ),
    _mutant(
        "last-message-not-handed-back",
        "The run's messages lack the last one.",
        "MSG-011",
        _at_end(_without_last),
    ),
    _mutant(
        "routed-by-response",
        "The model's response decides, whatever after-hooks made of it.",
        "MSG-012",
        Patch(loop, "next_calls", _by_response),
    ),
    _mutant(
        "nothing-left-completes",
        "A run whose after-hooks leave nothing completes without an answer.",
        "MSG-013",
        Patch(loop, "next_calls", _none_completes),
    ),
    _mutant(
        "first-answer",
        "The answer is the first thing that the model said.",
        "MSG-014",
        Patch(loop, "answer_of", _first_assistant),
    ),
    _mutant(
        "last-message-answers",
        "The answer is the last message, whoever said it.",
        "MSG-015",
        Patch(loop, "answer_of", _last_of_any_role),
    ),
    _mutant(
        "callers-list-appended",
        "A run appends to the list that the caller gave it.",
        "MSG-016",
        Patch(Agent, "run", _appending),
    ),
    _mutant(
        "system-message-twice-on-a-thread",
        "A turn keeps the system message that the last one put first.",
        "MSG-017",
        _at_end(_no_first),
    ),
    _mutant(
        "unanswered-calls-refused",
        "A history with a call that has no result is refused.",
        "MSG-018",
        _begun(_looking),
        Patch(Loop, "_sent", _refusing),
    ),
    _mutant(
        "unanswered-calls-sent",
        "A call without a result is sent where the profile refuses it.",
        "MSG-018",
        Patch(loop, "refuse_unanswered", _never_refusing),
        under="langgraph-prebuilt-1",
    ),
)

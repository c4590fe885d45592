"""Engines that lose what somebody asks before a person has seen it (INT)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from property_tests.given_runs import Events, OtherwiseGivenRun
from property_tests.mutants.around import giving, handing_back, under
from property_tests.mutants.engines.events import each_event
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.context import Context
from refengine.events import AgentEvent
from refengine.interrupts import Interrupt, Pending
from refengine.messages import History, Message, ToolCall, as_history
from refengine.run import RunResult

ASKED: Final = "An interrupt that a hook or tool raises interrupts the run."


def _before_swallowed(right: Right) -> Right:
    async def before_model(self: Given) -> Context:
        try:
            ctx: Context = await right(self)
        except Interrupt:
            self.interrupts, ctx = (), self.ctx
        return ctx

    return before_model


def _after_swallowed(right: Right) -> Right:
    async def after_model(self: Given, ctx: Context) -> Context:
        try:
            left: Context = await right(self, ctx)
        except Interrupt:
            self.interrupts = ()
            return ctx
        return left

    return after_model


def _end_swallowed() -> Sequence[Patch]:
    """Take an interrupt of an after-agent hook for its end."""

    def of_kept(right: Right) -> Right:
        async def after_agent(self: Given) -> None:
            try:
                await right(self)
            except Interrupt:
                self.loop.interrupts = ()

        return after_agent

    def of_others(right: Right) -> Right:
        async def observe(self: Given, ctx: Context, value: object) -> Context:
            for name, one in self.one_by_one():
                try:
                    ctx = await right(one, ctx, value)
                except Interrupt:
                    if name.hook != "after_agent":
                        raise
            return ctx

        return observe

    return (
        patch("resume.after_agent", of_kept),
        patch("pipeline.observe", of_others),
    )


def _as_error(name: str) -> Patch:
    """End the run with an error where a wrapper around the model asks."""

    def replaced(right: Right) -> Right:
        async def ask(self: Given, ctx: Context) -> Given:
            try:
                return await right(self, ctx)
            except Interrupt as stop:
                self.interrupts = ()
                raise RuntimeError("interrupted") from stop

        return ask

    return patch(name, replaced)


def _calls_answered(
    chosen: Callable[[Given, Sequence[ToolCall]], bool],
) -> Callable[[], Sequence[Patch]]:
    """Give calls that ask an empty result, in the messages that are chosen."""

    def patches() -> Sequence[Patch]:
        marked: set[Given] = set()

        def marking(right: Right) -> Right:
            def batch_of(self: Given, calls: Sequence[ToolCall], ctx: Context) -> Given:
                batch = right(self, calls, ctx)
                if chosen(self, calls):
                    marked.update(batch.runs)
                return batch

            return batch_of

        def opening(right: Right) -> Right:
            async def opened(self: Given, ctx: Context, streaming: bool) -> None:
                await right(self, ctx, streaming)
                if self in marked and self.stopped:
                    self.stopped, self.text = False, ""

            return opened

        return patch("loop.batch_of", marking), patch("call.open", opening)

    return patches


def _beside_others(_: Given, calls: Sequence[ToolCall]) -> bool:
    return len(calls) > 1


def _error_where_streamed(right: Right) -> Right:
    async def opened(self: Given, ctx: Context, streaming: bool) -> None:
        await right(self, ctx, streaming)
        if streaming and self.stopped:
            self.stopped = False
            self.error = self.leaving(RuntimeError("interrupted"))

    return opened


def _first_question(right: Right) -> Right:
    def pending(self: Given, *given: Given) -> tuple[Pending, ...]:
        found: tuple[Pending, ...] = right(self, *given)
        return found[:1]

    return pending


def _twice(event: AgentEvent) -> list[AgentEvent]:
    return [event, event] if event.kind == "interrupt" else [event]


class _Unexplained(OtherwiseGivenRun):
    """A run that does not tell what is asked, only that something is."""

    async def events(self, given: Events) -> Events:
        async for event in given:
            if event.kind != "interrupt":
                yield event
                continue
            bare = _bare(event.interrupts)
            yield AgentEvent("interrupt", event.run_path, interrupts=bare)

    def result(self, outcome: RunResult) -> RunResult | None:
        return replace(outcome, interrupts=_bare(outcome.interrupts))


def _bare(asked: Sequence[Pending]) -> tuple[Pending, ...]:
    return tuple(replace(each, payload=None) for each in asked)


def _nobodys(right: Right) -> Right:
    """Ask for a hook by its kind, whoever it belongs to."""

    def asks(self: Given, address: Given) -> Given:
        return right(self, replace(address, owner="", call_id=None))

    return asks


def _left(change: Callable[[RunResult], Sequence[Message]]) -> Door:
    """Hand back other messages of a run that waits."""

    def changed(outcome: RunResult) -> RunResult:
        if outcome.status != "interrupted":
            return outcome
        return replace(outcome, messages=History(change(outcome)))

    return handing_back(changed)


def _with_results(outcome: RunResult) -> Sequence[Message]:
    """Put the results of calls that have ended behind the message that made them."""
    calls = outcome.messages[-1].tool_calls if outcome.messages else ()
    told = [each.message for each in outcome.events if each.kind == "tool"]
    ids = {call.id for call in calls}
    found = [each for each in told if each and each.tool_call_id in ids]
    return [*outcome.messages, *found]


def _without_calls(outcome: RunResult) -> Sequence[Message]:
    """Leave out the message whose calls wait."""
    waits = outcome.messages and outcome.messages[-1].tool_calls
    return [*outcome.messages][:-1] if waits else outcome.messages


def _edited_so_far() -> Sequence[Patch]:
    """Put into the history what hooks of a pass had edited before one that asks."""
    passes: list[Given] = []

    def noting(right: Right) -> Right:
        async def rewrite(self: Given, *given: Given, **how: Given) -> Given:
            passes[:] = [self]
            return await right(self, *given, **how)

        return rewrite

    def keeping(right: Right) -> Right:
        async def run_phases(self: Given, *given: Given) -> Given:
            try:
                return await right(self, *given)
            except Interrupt:
                self.loop.history = as_history(passes[-1].stopped().messages)
                raise

        return run_phases

    return patch("resume.rewrite", noting), patch("resume.run_phases", keeping)


def _already_answered(outcome: RunResult) -> RunResult:
    said = [each for each in outcome.messages if each.role == "assistant"]
    waits = outcome.status == "interrupted" and said
    return replace(outcome, answer=said[-1]) if waits else outcome


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "before-hook-asks-in-vain",
        "An interrupt of a before-model hook ends its pass, and the run goes on.",
        "INT-018",
        patch("loop.before_model", _before_swallowed),
        says=ASKED,
    ),
    broken(
        "after-hook-asks-in-vain",
        "An interrupt of an after-model hook ends its pass, and the run goes on.",
        "INT-018",
        patch("loop.after_model", _after_swallowed),
        says=ASKED,
    ),
    wrong(
        "after-agent-asks-in-vain",
        "An interrupt of an after-agent hook is swallowed, and the run completes.",
        "INT-018",
        PatchedDoor("after-agent-asks-in-vain", _end_swallowed),
        says=ASKED,
    ),
    broken(
        "model-wrapper-asks-as-error",
        "An interrupt of a wrapper around the model ends the run with an error.",
        "INT-018",
        _as_error("loop.ask_model"),
        _as_error("loop.open_answer"),
        says=ASKED,
    ),
    broken(
        "streamed-model-wrapper-asks-as-error",
        "In a streaming run an interrupt around the model ends it with an error.",
        "INT-018",
        _as_error("loop.open_answer"),
        says=ASKED,
    ),
    wrong(
        "asks-in-vain-beside-others",
        "A call that asks beside other calls has an empty result.",
        "INT-018",
        PatchedDoor("asks-in-vain-beside-others", _calls_answered(_beside_others)),
        says=ASKED,
    ),
    broken(
        "streamed-call-asks-as-error",
        "In a streaming run a call that asks is a call that failed.",
        "INT-018",
        patch("call.open", _error_where_streamed),
        says=ASKED,
    ),
    broken(
        "first-question-only",
        "Of several calls of a message that ask only the first is told.",
        "INT-007 INT-008",
        patch("batch.pending", _first_question),
    ),
    broken(
        "interrupt-untold",
        "An interrupted run has no event that says so.",
        "INT-008",
        each_event(lambda event: [] if event.kind == "interrupt" else [event]),
    ),
    broken(
        "interrupt-told-twice",
        "An interrupted run is told by two events.",
        "INT-008",
        each_event(_twice),
    ),
    wrong(
        "question-untold",
        "The event of an interrupted run does not say what is asked.",
        "INT-018 INT-008",
        giving(_Unexplained),
    ),
    broken(
        "asked-by-nobody",
        "The address of a question tells neither whose it is nor of which call.",
        "INT-007",
        patch("resume.asks", _nobodys),
    ),
    wrong(
        "waiting-with-results",
        "A run that waits hands back results of calls beside the one that asks.",
        "INT-020",
        _left(_with_results),
    ),
    wrong(
        "waiting-without-calls",
        "A run that waits hands back a history without the calls that ask.",
        "INT-020",
        _left(_without_calls),
    ),
    wrong(
        "waiting-with-edits-of-a-pass",
        "A run that waits hands back what hooks before the one that asks edited.",
        "INT-020",
        PatchedDoor("waiting-with-edits-of-a-pass", _edited_so_far),
    ),
    wrong(
        "waiting-with-an-answer",
        "What was said last is the answer of a run that waits.",
        "INT-020",
        handing_back(_already_answered),
    ),
    wrong(
        "results-told-past-a-question",
        "Results of calls behind one that asks are told before the run stops.",
        "INT-012",
        under("events_at_interrupt", "told"),
    ),
)

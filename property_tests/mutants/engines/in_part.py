"""Engines that are wrong in one kind of run, or beside something else, only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    PatchedDoor,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.chain import Pipeline
from refengine.context import Context, at_point
from refengine.messages import Message, ToolCall, as_history
from refengine.struct_middleware import LegacyPass


def _calls_of_the_text(right: Right) -> Right:
    """Run the calls of the response where hooks left its text as it was."""

    def route(self: Given, response: Message) -> Sequence[ToolCall] | None:
        last = self.history.last()
        calls: Sequence[ToolCall] | None = right(self, response)
        same = last is not None and last.content == response.content
        return response.tool_calls or calls if same else calls

    return route


def _structs_edits_stay(right: Right) -> Right:
    """Keep what structs left before a handler's hook of the same pass failed."""

    async def before_model(self: Given) -> Context:
        phases = self.before
        if len(phases) < 2:  # a pass has two at most, and one where the run is kept
            ctx: Context = await right(self)
            return ctx
        structs, handlers = phases
        if not (isinstance(structs, LegacyPass) and isinstance(handlers, Pipeline)):
            raise TypeError(phases)
        _, left = await structs.rewrite(self.ctx, self.history, self.cell)
        self.history = as_history(left)
        ctx, messages = await handlers.rewrite(self.ctx, self.history)
        self.history = as_history(messages)
        return at_point(ctx, self.run_path, None, self.locals)

    return before_model


def _nothing_told_of_failures(right: Right) -> Right:
    """Tell no ignored change of a message of which a call failed."""

    def settle(self: Given, batch: Given) -> bool:
        error = batch.error()
        if error is None:
            return bool(right(self, batch))
        self.batch = None
        self.events.extend(batch.snapshots())
        raise error

    return settle


def _ended_before_told() -> PatchedDoor:
    """Tell the streamed results of several calls when their streams have ended."""

    def patches() -> list[Given]:
        several: set[Given] = set()

        def marking(right: Right) -> Right:
            def batch_of(self: Given, calls: Given, ctx: Context) -> Given:
                batch = right(self, calls, ctx)
                several.clear()
                several.update(batch.runs if len(batch.runs) > 1 else ())
                return batch

            return batch_of

        def finishing(right: Right) -> Right:
            async def open_(self: Given, ctx: Context, streaming: Given) -> None:
                await right(self, ctx, streaming)
                if self in several:
                    await self.finish()

            return open_

        return [patch("loop.batch_of", marking), patch("call.open", finishing)]

    return PatchedDoor("several-streams-told-at-their-end", patches)


def _first_message_forgotten(right: Right) -> Right:
    """Forget, in a run that goes on, which message the engine put first."""

    async def begin(self: Given) -> int:
        part: int = await right(self)
        if self.saved is not None:
            self.loop.first = None
        return part

    return begin


def _one_is_enough(right: Right) -> Right:
    """Take answers of which one is to something that was asked."""

    def refuse(machine: Given, key: str, answers: Given, saved: Given) -> None:
        asked = {str(each.address) for each in saved.pending}
        known = asked.intersection(answers or ())
        kept = {at: answers[at] for at in known} if known else answers
        right(machine, key, kept, saved)

    return refuse


def _only_completed(right: Right) -> Right:
    """Refuse to resume only runs that completed with an answer."""

    def refuse(machine: Given, key: str, answers: Given, saved: Given) -> None:
        if saved.point.phase == "end" and saved.point.status != "completed":
            return
        right(machine, key, answers, saved)

    return refuse


def _appended_alone(right: Right) -> Right:
    """Look at messages that a hook put behind all others, and at no others."""

    def hook(self: Given, name: Given, new: Given, old: Given) -> None:
        behind = tuple(new[1])[len(old[1]) :]
        right(self, name, (new[0], behind), old)

    return hook


def _new_keys_alone(right: Right) -> Right:
    """Look at a context value when its key is new."""

    def hook(self: Given, name: Given, new: Given, old: Given) -> None:
        known = {key for key, _ in old[0].items()}
        values = {key: each for key, each in new[0].items() if key not in known}
        right(self, name, (Context(values), new[1]), old)

    return hook


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "inserted-messages-unchecked",
        "The extra of messages is looked at where a hook appends them, and only there.",
        "MSG-019",
        patch("resume.hook", _appended_alone),
    ),
    broken(
        "later-context-values-unchecked",
        "A context value that takes the place of another is not looked at.",
        "SER-007",
        patch("resume.hook", _new_keys_alone),
    ),
    broken(
        "calls-of-a-text-left-alone",
        "The calls of an answer run though a hook took them out and left its text.",
        "MSG-012",
        patch("loop.route", _calls_of_the_text),
    ),
    broken(
        "edits-of-a-broken-pass-stay",
        "What structs left in a pass that a handler's hook broke is handed back.",
        "ERR-031",
        patch("loop.before_model", _structs_edits_stay),
    ),
    broken(
        "ignored-changes-of-failed-messages",
        "No ignored change is told of a message of which a call failed.",
        "WRAP-016",
        patch("loop.settle", _nothing_told_of_failures),
    ),
    wrong(
        "several-streams-told-at-their-end",
        "Of several calls each streamed result is told when its stream has ended.",
        "STR-025",
        _ended_before_told(),
    ),
    broken(
        "resumed-run-forgets-its-first-message",
        "A thread that goes on behind a resumed run has the instruction twice.",
        "MSG-017",
        patch("resume.begin", _first_message_forgotten),
    ),
    broken(
        "one-known-answer-is-enough",
        "Answers are taken if one of them is to something that was asked.",
        "INT-013",
        patch("resume.refuse", _one_is_enough),
    ),
    broken(
        "direct-results-are-no-end",
        "Only a run that completed with an answer is refused to a resume.",
        "INT-014",
        patch("resume.refuse", _only_completed),
    ),
)

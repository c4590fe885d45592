"""Mutants of rounds: another one too few or too many, and asked with something else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from json import dumps
from typing import Any, Final, cast

from property_tests.dialects.dialect import DialectMutant
from property_tests.mutants.patching import Given, Patch, Right
from property_tests.stream_loop.mutants.steps import broken, step
from refengine.messages import History, Message

Made = Callable[[], Sequence[Patch]]


def gives(name: str, change: Callable[..., Any]) -> Made:
    """Return patches by which a step's result is changed; both are given."""

    def replacing(right: Right) -> Right:
        def wrong(*args: Given, **how: Given) -> Given:
            return change(right(*args, **how), *args)

        return wrong

    return lambda: [step(name, replacing)]


def awaited(name: str, change: Callable[..., Any]) -> Made:
    """Return patches by which what an async step gives is changed."""

    def replacing(right: Right) -> Right:
        async def wrong(*args: Given, **how: Given) -> Given:
            return change(await right(*args, **how), *args)

        return wrong

    return lambda: [step(name, replacing)]


def _all_texts(result: Given, _: Given, params: Given, *__: Given) -> Given:
    texts = [each.text for each in params.tracker.snapshot if each.kind == "text"]
    return replace(result, text="".join(texts))


def _always(status: str) -> Callable[..., Given]:
    def changed(result: Given, *_: Given) -> Given:
        return replace(result, status=status)

    return changed


def _only(given: str) -> Callable[..., Given]:
    """Return what takes a status for another where it would be that one."""

    def changed(result: Given, *_: Given) -> Given:
        return replace(result, status="completed") if result.status == given else result

    return changed


def _more(found: Given, *_: Given) -> Given:
    return found + 1


def _fewer(found: Given, *_: Given) -> Given:
    return max(1, found - 1)


def _spaced(_: str, value: Given) -> str:
    return dumps(_plain(value))


def _plain(value: Given) -> Given:
    if hasattr(value, "items"):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in cast("Sequence[Given]", value)]
    return value


def _prompts_turned(found: Given, *_: Given) -> Given:
    lines = found.next_prompt.split("\n")
    return replace(found, next_prompt="\n".join(reversed(lines)))


def _joined(found: Given, *_: Given) -> Given:
    return replace(found, next_prompt=found.next_prompt.replace("\n", " "))


def _without_calls(
    _: History, __: Given, history: History, answer: Given, results: Given
) -> History:
    history = history.appended(replace(answer, tool_calls=()))
    for each in results:
        history = history.appended(Message("user", each.text))
    return history


def _results_turned(right: Right) -> Right:
    def wrong(self: Given, history: Given, answer: Given, results: Given) -> Given:
        return right(self, history, answer, results[::-1])

    return wrong


def _without_answer(_: History, __: Given, history: History, *___: Given) -> History:
    return history


def _like_true(_: bool, __: Given, result: Given) -> bool:  # what was right
    return bool(result.requires_follow_up)


def _bare(_: History, __: Given, params: Given) -> Given:
    return params.history


def _own_built(right: Right) -> Right:
    def wrong(self: Given, params: Given, prompt: str) -> Given:
        """Ask with the record's sentence, whatever a step of one's own made."""
        return right(self, params, f"基于以下结果继续: {prompt}")

    return wrong


def _keeps_instruction(right: Right) -> Right:
    def wrong(self: Given, *args: Given) -> Given:
        params = right(self, *args)
        if self.instruction:
            params.history = params.history.after(Message("system", self.instruction))
        return params

    return wrong


def _forgets_history(right: Right) -> Right:
    def wrong(
        self: Given, given: Given, tools: Given, callbacks: Given, _: Given, most: Given
    ) -> Given:
        return right(self, given, tools, callbacks, (), most)

    return wrong


ROUNDS: Final[tuple[DialectMutant, ...]] = (
    broken(
        "loop-text-of-all-rounds",
        "The answer is what was said in all rounds together.",
        "LOOP-001",
        gives("linear.result", _all_texts),
    ),
    broken(
        "loop-asks-for-ever",
        "Another round follows whatever the results ask.",
        "LOOP-001 LOOP-004",
        gives("loop.continues", lambda *_: True),
    ),
    broken(
        "loop-never-completed",
        "Every end is told as one by the limit.",
        "LOOP-002",
        gives("linear.result", _always("max_iterations")),
    ),
    broken(
        "loop-never-again",
        "No result leads to another round, as before there was a loop.",
        "LOOP-003",
        gives("loop.continues", lambda *_: False),
    ),
    broken(
        "loop-truthy-asks",
        "Whatever is like true asks for another round.",
        "LOOP-004",
        gives("loop.continues", _like_true),
    ),
    broken(
        "loop-spaced-json",
        "The prompt has the result as Python writes JSON.",
        "LOOP-006",
        gives("loop.json_text", _spaced),
    ),
    broken(
        "loop-prompts-turned",
        "The prompts of several results stand the other way round.",
        "LOOP-007",
        awaited("loop.iteration", _prompts_turned),
    ),
    broken(
        "loop-prompts-in-a-line",
        "The prompts of several results stand in one line.",
        "LOOP-007",
        awaited("loop.iteration", _joined),
    ),
    broken(
        "loop-own-prompt-wrapped",
        "What a step of one's own makes gets the record's sentence all the same.",
        "LOOP-008",
        lambda: [step("loop.add_prompt", _own_built)],
    ),
    broken(
        "loop-feedback-as-user",
        "Results are fed back as if the user said them, without the calls.",
        "LOOP-010 LOOP-019",
        gives("linear.feedback", _without_calls),
    ),
    broken(
        "loop-feedback-turned",
        "Results are fed back the other way round.",
        "LOOP-010",
        lambda: [step("linear.feedback", _results_turned)],
    ),
    broken(
        "loop-one-round-more",
        "There is a round more than the number says.",
        "LOOP-011 LOOP-012",
        gives("loop.rounds_of", _more),
    ),
    broken(
        "loop-one-round-less",
        "There is a round less than the number says.",
        "LOOP-011 LOOP-012",
        gives("loop.rounds_of", _fewer),
    ),
    broken(
        "loop-used-up-is-completed",
        "A run whose rounds are used up says that it is completed.",
        "LOOP-014",
        gives("linear.result", _only("max_iterations")),
    ),
    broken(
        "loop-instruction-kept",
        "The instruction is kept in the history as well.",
        "LOOP-017",
        lambda: [step("linear.params", _keeps_instruction)],
    ),
    broken(
        "loop-instruction-left-out",
        "The model is asked without the instruction.",
        "LOOP-017",
        gives("linear.messages", _bare),
    ),
    broken(
        "loop-forgets-before",
        "The history that was given is not used.",
        "LOOP-018",
        lambda: [step("linear.params", _forgets_history)],
    ),
    broken(
        "loop-answer-not-kept",
        "What the model answered is not in the history.",
        "LOOP-010 LOOP-019",
        gives("linear.feedback", _without_answer),
    ),
)
"""All of them."""

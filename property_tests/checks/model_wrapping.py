"""WRAP, the model's side: what handlers around a model call may do to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from property_tests.check import Decision, PlayedWorld
from property_tests.checks.model_onions import (
    answer_of,
    answered_by,
    chunks_of,
    edits_answer,
    entered_of,
    model_wrap_of,
    model_wraps_of,
    names_in,
    request_of,
    shown_by,
    shown_model,
    text_of_model,
)
from property_tests.checks.specs import writes_options
from property_tests.view import HookView, Iteration, RunView
from refengine.messages import Message
from refengine.testing.trace import Observation


def nesting(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that every wrapper is entered once a model call, the model inside."""
    for run, now in _wrapped(case):
        if now.request is None and run.left_in(now):
            continue  # before a wrapper had called next
        expected, reaches = entered_of(run.agent)
        expected += ["the model"] * reaches
        requests = [e for e in now.entries if e.kind == "model_request"]
        got = [hook.extension for hook in now.model_wraps]
        got += ["the model"] * len(requests)
        claim = "next leads to the wrapper next inside, at last to the model"
        yield Decision(claim, expected, got, now.entries[-1])


def messages(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that the messages a wrapper asks with are what is asked further in."""
    for run, now in _wrapped(case):
        for hook, inner in _inwards(now):
            spec = model_wrap_of(run.agent, hook)
            expected = request_of(
                spec, cast("Sequence[Message]", hook.seen["messages"])
            )
            got = now.sent if inner is None else inner.seen["messages"]
            claim = "the model is asked with what the wrapper outside handed on"
            yield Decision(claim, expected, got, _observed_at(now, inner))


def tools(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that the tools a wrapper asks with are what the model is told of."""
    for run, now in _wrapped(case):
        for hook, inner in _inwards(now):
            names = cast("Sequence[str]", hook.seen["tools"])
            spec = model_wrap_of(run.agent, hook)
            if spec.hide_on_call is not None:
                continue  # that is another clause's matter
            expected = shown_by(spec, names)
            got = names_in(now) if inner is None else inner.seen["tools"]
            claim = "the model is told of the tools that the wrapper outside left"
            yield Decision(claim, expected, got, _observed_at(now, inner))


def answers(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that ``next`` gives what the wrapper inside, or the model, answered."""
    for run, now in _wrapped(case):
        for hook, inner in _inwards(now):
            left = now.message if inner is None else inner.left
            if not isinstance(left, Message) or hook.exit is None:
                continue
            if isinstance(hook.left, Message):
                expected = answered_by(model_wrap_of(run.agent, hook), left)
                claim = "next gives what was answered further in"
                yield Decision(claim, expected, hook.left, hook.exit)


def changed_answer(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that what leaves the outermost wrapper is the response."""
    for run, now in _wrapped(case):
        specs = [model_wrap_of(run.agent, hook) for hook in now.model_wraps]
        answer = answer_of(run.agent, now)
        if (
            answer is None
            or len(now.model_events) != 1
            or not any(map(edits_answer, specs))
        ):
            continue
        expected = shown_model(answer, chunks_of(run.agent, now))
        got = text_of_model(now.model_events[0])
        claim = "the response is what the outermost wrapper answered"
        if not _is_late(case, run, now, answer):
            yield Decision(claim, expected, got, now.model_events[0])


def options(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that the options of a run reach every model call as they are."""
    for run in case.played.runs:
        for now in () if writes_options(run.agent) else run.iterations:
            if now.request is not None:
                got = now.request.data.get("options")
                claim = "the run's options reach the model"
                yield Decision(claim, run.spec.options, got, now.request)


def _is_late(case: PlayedWorld, run: RunView, now: Iteration, answer: Message) -> bool:
    """Tell whether the engine may put an apology in the place of the answer."""
    apologises = case.profile.exhaustion == "apology"
    return apologises and bool(answer.tool_calls) and now is run.iterations[-1]


def _wrapped(case: PlayedWorld) -> Iterator[tuple[RunView, Iteration]]:
    """Yield iterations that came to the model, of agents with wrappers around it."""
    for run in case.played.runs:
        twice = any(each.same_as is not None for each in run.agent.handlers)
        if twice or not model_wraps_of(run.agent):
            continue
        for now in run.iterations:
            if now.model_wraps or now.request is not None:
                yield run, now


def _inwards(now: Iteration) -> Iterator[tuple[HookView, HookView | None]]:
    """Yield each wrapper with the one next inside; None stands for the model."""
    inner: list[HookView | None] = [*now.model_wraps[1:]]
    if now.request is not None:
        inner.append(None)
    yield from zip(now.model_wraps, inner, strict=False)


def _observed_at(now: Iteration, inner: HookView | None) -> Observation | None:
    return now.request if inner is None else inner.enter

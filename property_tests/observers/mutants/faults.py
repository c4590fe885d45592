"""Wrong observers: each step that goes wrong is one of the small observer's methods."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from compat.engines.observers.reference import (
    LiveSpan,
    ObservedReference,
    SmallObserver,
    SpannedChunks,
)
from property_tests.dialects.broken import BrokenReferences
from property_tests.dialects.dialect import DialectMutant
from property_tests.mutants.patching import Given, Patch, Right
from property_tests.mutants.steps import EngineStep
from refengine.messages import Message
from refengine.profile import SEED_001
from refengine.profile import profile as profile_named
from refengine.testing.scenario import Scenario
from refengine.testing.trace import Trace

STEPS: Final[Mapping[str, EngineStep]] = MappingProxyType(
    {
        name: EngineStep(SmallObserver, name)
        for name in (
            *("begin", "plain", "run", "model", "tool", "text", "answered"),
            *("returned", "fail", "over", "leave", "end", "until_it_flows"),
            *("passed", "sent", "asked_by"),
        )
    }
    | {"aclose": EngineStep(SpannedChunks, "aclose")}
)
"""The steps that mutants replace: methods of the small observer, and of its streams."""


def _play(scenario: Scenario, engine: ObservedReference) -> Trace:
    return engine.play(scenario)


BROKEN: Final = BrokenReferences(
    prefix="observer",
    under=SEED_001.name,
    profile_named=profile_named,
    reference=ObservedReference,
    play_on=_play,
    steps=STEPS,
)


def wrong(
    id_: str, violates: str, about: str, **steps: Callable[..., Any]
) -> DialectMutant:
    """Return the mutant in which each of these stands in the place of a step.

    It is called as the step is, with the right step before all else.
    """

    def replacing(change: Callable[..., Any]) -> Callable[[Right], Right]:
        def replace_(right: Right) -> Right:
            def step(self: Given, *given: Given, **named: Given) -> Given:
                return change(right, self, *given, **named)

            return step

        return replace_

    def patches() -> Sequence[Patch]:
        return [BROKEN.step(name, replacing(change)) for name, change in steps.items()]

    return BROKEN.broken(f"observer-{id_}", about, violates, patches)


def unseen(right: Right, self: Given, *given: Given) -> LiveSpan:
    """Begin a span that nobody is told of."""
    span: LiveSpan = right(self, *given)
    self.spans.remove(span)
    return span


def doubled(right: Right, self: Given, *given: Given) -> LiveSpan:
    """Begin a span twice, and go on with the second."""
    self.end(right(self, *given))
    span: LiveSpan = right(self, *given)
    return span


def named(self: Given, name: str) -> list[LiveSpan]:
    """Return the spans of that operation, in the order in which they began."""
    key = "gen_ai.operation.name"
    return [each for each in self.spans if each.attributes[key] == name]


def _first_alone(right: Right, self: Given, *given: Given) -> LiveSpan:
    begun = named(self, "chat")
    span: LiveSpan = right(self, *given)
    if begun:
        self.spans.remove(span)
    return span


def _as_model(right: Right, self: Given, name: str, arguments: str) -> LiveSpan:
    del right, name
    span: LiveSpan = self.begin("chat", input_messages=arguments)
    return span


def _announced(right: Right, self: Given, span: LiveSpan, answer: Message) -> None:
    right(self, span, answer)
    for call in answer.tool_calls:
        self.end(self.tool(call.name, call.arguments))


def _forgotten(right: Right, self: Given, span: LiveSpan, error: Given) -> None:
    right(self, span, error)
    if span in self.spans:
        self.spans.remove(span)


def _never(right: Right, self: Given, *given: Given) -> None:
    """Do nothing."""


def _unless_failed(right: Right, self: Given, span: LiveSpan) -> None:
    if not span.failed:
        right(self, span)


def _cancelled_left(right: Right, self: Given, span: LiveSpan, error: Given) -> None:
    right(self, span, error)
    if not isinstance(error, Exception):
        # Whoever ends it ends another one.
        self.spans[self.spans.index(span)] = replace(span)


def _left_run_left(right: Right, self: Given, span: LiveSpan, outcome: Given) -> None:
    right(self, span, outcome)
    if outcome is None or outcome.status == "cancelled":
        self.spans[self.spans.index(span)] = replace(span)


def _run_fails(right: Right, self: Given, span: LiveSpan, error: Given) -> None:
    right(self, span, error)
    if isinstance(error, Exception):
        self.inside.failed = True


def _tokens_told(right: Right, self: Given, span: LiveSpan, result: str) -> None:
    right(self, span, result)
    span.attributes["gen_ai.usage.input_tokens"] = "12"


def _own_id(right: Right, self: Given, span: LiveSpan, call: str | None) -> None:
    right(self, span, f"call-{span.id}" if call else call)


def _first_id(right: Right, self: Given, span: LiveSpan, call: str | None) -> None:
    spans: list[LiveSpan] = self.spans
    known = [each.attributes.get("gen_ai.tool.call.id") for each in spans]
    right(self, span, next(filter(None, known), call))


def _alone(right: Right, self: Given, *given: Given, **named: Given) -> LiveSpan:
    kept, self.inside = self.inside, None
    span: LiveSpan = right(self, *given, **named)
    self.inside = kept
    return span


def _one_trace(right: Right, self: Given) -> LiveSpan:
    if not self.spans:
        span: LiveSpan = right(self)
        return span
    first: LiveSpan = self.spans[0]
    self.inside = first
    return first


def within(name: str) -> Callable[..., LiveSpan]:
    """Return a step that begins a span within the last one of that name."""

    def begin(right: Right, self: Given, *given: Given) -> LiveSpan:
        kept, last = self.inside, named(self, name)
        self.inside = last[-1] if last else kept
        span: LiveSpan = right(self, *given)
        self.inside = kept
        return span

    return begin


def _tools_alone(right: Right, self: Given, span: LiveSpan, error: Given) -> None:
    if span in named(self, "execute_tool"):
        right(self, span, error)


def _models_alone(right: Right, self: Given, span: LiveSpan, error: Given) -> None:
    if span in named(self, "chat"):
        right(self, span, error)


def _all_fail(right: Right, self: Given, span: LiveSpan, error: Given) -> None:
    right(self, span, error)
    for each in self.spans:
        each.failed = True


def _last_message(right: Right, self: Given, messages: Sequence[Message]) -> LiveSpan:
    span: LiveSpan = right(self, messages[-1:])
    return span


def _no_instruction(right: Right, self: Given, messages: Sequence[Message]) -> LiveSpan:
    said = [each for each in messages if each.role != "system"]
    span: LiveSpan = right(self, said)
    return span


def _no_arguments(right: Right, self: Given, name: str, arguments: str) -> LiveSpan:
    del arguments
    span: LiveSpan = right(self, name, "{}")
    return span


def _no_calls(right: Right, self: Given, messages: Sequence[Message]) -> str:
    text: str = right(self, [replace(each, tool_calls=()) for each in messages])
    return text


def _cut(right: Right, self: Given, text: str) -> str:
    plain: str = right(self, text)
    return plain[:40]


def _cut_late(right: Right, self: Given, text: str) -> str:
    plain: str = right(self, text)
    return plain[:4096]


def _last_word(right: Right, self: Given, span: LiveSpan, answer: Message) -> None:
    right(self, span, replace(answer, content=answer.content.rpartition(" ")[2]))


def _at_once(right: Right, self: Given, *given: Given) -> LiveSpan:
    span: LiveSpan = right(self, *given)
    self.end(span)
    return span


def _with_arguments(right: Right, self: Given, span: LiveSpan, result: str) -> None:
    right(self, span, f"{span.attributes['gen_ai.tool.call.arguments']}: {result}")


def _first_sent(right: Right, self: Given, value: Given) -> Given:
    del right, self
    return value if isinstance(value, str) else value[:2]


def _written_anew(right: Right, self: Given, value: Given) -> Given:
    del right, self
    if not isinstance(value, str):
        return value
    return json.dumps(json.loads(value), separators=(",", ":"))


def _marked(right: Right, self: Given, value: Given) -> Given:
    del right, self
    is_answer = isinstance(value, Message) and not value.tool_calls
    return replace(value, content=f"{value.content} ") if is_answer else value


def _results_marked(right: Right, self: Given, value: Given) -> Given:
    del right, self
    return f"{value} " if isinstance(value, str) else value


def _as_it_is(right: Right, self: Given, text: str) -> str:
    del right, self
    return text


@contextmanager
def _other_error(
    right: Right, self: Given, span: LiveSpan
) -> Generator[None, None, None]:
    try:
        with right(self, span):
            yield
    except Exception as error:
        if isinstance(error, StopAsyncIteration):
            raise
        raise RuntimeError("could not be traced") from error


def _behind_a_model(right: Right, self: Given, *given: Given) -> LiveSpan:
    """Begin a span of a tool if the last one was a model's."""
    is_asked = self.spans[-1].attributes["gen_ai.operation.name"] == "chat"
    return right(self, *given) if is_asked else unseen(right, self, *given)


WRONG_OBSERVERS: Final = (
    wrong("no-model", "OBS-001", "It sees no model.", model=unseen),
    wrong("model-once", "OBS-001", "It sees the first call alone.", model=_first_alone),
    wrong("model-twice", "OBS-001", "It tells each call twice.", model=doubled),
    wrong("no-tool", "OBS-002", "It sees no tool.", tool=unseen),
    wrong("tool-twice", "OBS-002", "It tells each call twice.", tool=doubled),
    wrong(
        "tool-as-model",
        "OBS-001 OBS-002",
        "It takes a tool for a model.",
        tool=_as_model,
    ),
    wrong(
        "announced",
        "OBS-002",
        "It tells the calls that a model asks for, also of a tool that is not there.",
        answered=_announced,
        tool=_behind_a_model,
    ),
    wrong(
        "failures-unseen",
        "OBS-001 OBS-002",
        "It forgets a call that fails.",
        fail=_forgotten,
    ),
    wrong("open", "OBS-003", "It ends no span.", end=_never),
    wrong("failed-open", "OBS-003", "It ends no span that failed.", end=_unless_failed),
    wrong(
        "cancelled-open",
        "OBS-003",
        "It ends no span of a call that was cancelled.",
        fail=_cancelled_left,
    ),
    wrong(
        "left-open",
        "OBS-003",
        "It ends no span of a stream that was left.",
        leave=_never,
    ),
    wrong(
        "left-run-open",
        "OBS-003",
        "It ends no span of a run that was left.",
        over=_left_run_left,
    ),
    wrong("alone", "OBS-004", "Each span stands in a trace of its own.", begin=_alone),
    wrong(
        "tokens-beside",
        "OBS-012",
        "It counts tokens at the tool that a model asked for, too.",
        returned=_tokens_told,
    ),
    wrong("own-ids", "OBS-013", "It gives calls ids of its own.", asked_by=_own_id),
    wrong(
        "first-id",
        "OBS-013",
        "Each call has the id of the first.",
        asked_by=_first_id,
    ),
    wrong("tools-alone", "OBS-004", "So does that of each tool.", tool=_alone),
    wrong("one-trace", "OBS-004", "All runs stand in one trace.", run=_one_trace),
    wrong(
        "tool-in-model",
        "OBS-005",
        "A tool stands in the call of the model that asked for it.",
        tool=within("chat"),
    ),
    wrong(
        "model-in-tool",
        "OBS-005",
        "A model stands in the call of the tool before it.",
        model=within("execute_tool"),
    ),
    wrong(
        "tool-in-tool",
        "OBS-005",
        "A tool stands in the call of the tool beside it.",
        tool=within("execute_tool"),
    ),
    wrong("never-fails", "OBS-006", "No status is an error.", fail=_never),
    wrong("tools-fail", "OBS-006", "That of no model is one.", fail=_tools_alone),
    wrong("models-fail", "OBS-006", "That of no tool is one.", fail=_models_alone),
    wrong("no-run-fails", "OBS-006", "That of no run is one.", over=_never),
    wrong(
        "run-fails-too",
        "OBS-006",
        "The error of a call is that of its run, also where it was caught.",
        fail=_run_fails,
    ),
    wrong("all-fail", "OBS-006", "One error is that of every span.", fail=_all_fail),
    wrong(
        "last-message",
        "OBS-007",
        "It writes down the last message.",
        model=_last_message,
    ),
    wrong(
        "no-instruction",
        "OBS-007",
        "It leaves out what the system says.",
        model=_no_instruction,
    ),
    wrong("no-arguments", "OBS-007", "It leaves out arguments.", tool=_no_arguments),
    wrong(
        "no-calls",
        "OBS-007 OBS-008",
        "It leaves out the calls that a message asks for.",
        text=_no_calls,
    ),
    wrong("cut", "OBS-007 OBS-008", "It keeps the first forty letters.", plain=_cut),
    wrong("cut-late", "OBS-007 OBS-008", "It keeps 4096 letters.", plain=_cut_late),
    wrong("no-answer", "OBS-008", "It writes down no answer.", answered=_never),
    wrong("no-result", "OBS-008", "It writes down no result.", returned=_never),
    wrong("last-word", "OBS-008", "It keeps the last chunk.", answered=_last_word),
    wrong(
        "ends-at-once",
        "OBS-006 OBS-008",
        "It ends the span of a model when that is asked.",
        model=_at_once,
    ),
    wrong(
        "echoes",
        "OBS-008",
        "It writes the arguments before the result.",
        returned=_with_arguments,
    ),
    wrong("drops-messages", "OBS-009", "It sends two messages on.", sent=_first_sent),
    wrong(
        "writes-anew",
        "OBS-009",
        "It sends arguments on as it reads them.",
        sent=_written_anew,
    ),
    wrong("marks-answers", "OBS-010", "It adds to an answer.", passed=_marked),
    wrong("marks-results", "OBS-010", "It adds to a result.", passed=_results_marked),
    wrong(
        "other-error",
        "OBS-010",
        "An error comes out as one of its own.",
        until_it_flows=_other_error,
    ),
    wrong(
        "tells-secrets",
        "OBS-011",
        "It writes down what it sees.",
        plain=_as_it_is,
    ),
)
"""All of them, by the clause that they violate."""

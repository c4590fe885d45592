"""Wrong observers that only an unlikely world finds: see what each takes for granted.

That a text is short or in ASCII, arguments are JSON, nobody changes them, one tool runs
at a time, and a stream is read to its end.
"""

from __future__ import annotations

import json
from typing import Final

from compat.engines.observers.reference import LiveSpan
from property_tests.mutants.patching import Given, Right
from property_tests.observers.mutants.faults import named, wrong

LETTERS: Final = 100
"""So many of a text are kept by who cuts it."""


def _cut_arguments(right: Right, self: Given, name: str, text: str) -> LiveSpan:
    span: LiveSpan = right(self, name, text[:LETTERS])
    return span


def _first_word(right: Right, self: Given, name: str, text: str) -> LiveSpan:
    span: LiveSpan = right(self, name.partition("_")[0], text)
    return span


def _cut_result(right: Right, self: Given, span: LiveSpan, result: str) -> None:
    right(self, span, result[:LETTERS])


def _as_asked(right: Right, self: Given, name: str, arguments: str) -> LiveSpan:
    """Begin a span with what the last model asked for, whoever changed it since."""
    last = named(self, "chat")[-1].attributes["gen_ai.output.messages"]
    asked = [call for each in json.loads(str(last)) for call in each["calls"]]
    span: LiveSpan = right(self, name, asked[0] if len(asked) == 1 else arguments)
    return span


def _ascii(right: Right, self: Given, text: str) -> str:
    plain: str = right(self, text)
    return plain.encode("ascii", "ignore").decode()


async def _left_alone(right: Right, self: Given) -> None:
    """End the span of a stream that is left, and leave the stream as it is."""
    del right
    self._observer.leave(self._span)


def _read_first(right: Right, self: Given, name: str, arguments: str) -> LiveSpan:
    span: LiveSpan = right(self, name, json.dumps(json.loads(arguments)))
    return span


def _one_of_those_at_once(right: Right, self: Given, *given: Given) -> LiveSpan:
    goes_on = [each for each in named(self, "execute_tool") if not each.ended]
    span: LiveSpan = goes_on[0] if goes_on else right(self, *given)
    return span


def _in_what_goes_on(right: Right, self: Given, *given: Given) -> LiveSpan:
    kept = self.inside
    self.inside = [each for each in self.spans if not each.ended][-1]
    span: LiveSpan = right(self, *given)
    self.inside = kept
    return span


HASTY_OBSERVERS: Final = (
    wrong(
        "one-at-once",
        "OBS-002",
        "It has one span for tools that run at once.",
        tool=_one_of_those_at_once,
    ),
    wrong(
        "tool-in-what-goes-on",
        "OBS-005",
        "A tool stands in the last span that has not ended.",
        tool=_in_what_goes_on,
    ),
    wrong(
        "name-cut",
        "OBS-002",
        "It names a tool by the first word of its name.",
        tool=_first_word,
    ),
    wrong(
        "arguments-cut",
        "OBS-007",
        "It keeps a hundred letters of arguments.",
        tool=_cut_arguments,
    ),
    wrong(
        "arguments-asked",
        "OBS-007",
        "It writes down arguments as they were before a wrapper changed them.",
        tool=_as_asked,
    ),
    wrong(
        "result-cut",
        "OBS-008",
        "It keeps a hundred letters of a result.",
        returned=_cut_result,
    ),
    wrong(
        "ascii",
        "OBS-007 OBS-008",
        "It leaves out letters that are not in ASCII.",
        plain=_ascii,
    ),
    wrong(
        "stream-not-closed",
        "OBS-009",
        "It does not close what it reads a stream of.",
        aclose=_left_alone,
    ),
    wrong(
        "reads-arguments",
        "OBS-010",
        "It fails where arguments are no JSON.",
        tool=_read_first,
    ),
)
"""Those that take something for granted."""

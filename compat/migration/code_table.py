"""The closed list of codes that a divergence has, each with what it says about NEW.

Source: verdicts, Migration. A code is stable, for machines; ``codes.py`` finds which
one a difference has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from compat.verdicts.migration import Severity


@dataclass(frozen=True, slots=True)
class Code:
    """What a code means; ``summary`` is one sentence about NEW."""

    severity: Severity
    summary: str


CODES: Final[Mapping[str, Code]] = MappingProxyType(
    {
        "INSTRUCTION": Code("error", "the model is given another instruction"),
        "MESSAGE_LOST": Code("error", "the model no longer sees a message"),
        "MESSAGE_ADDED": Code("error", "the model sees a message it did not see"),
        "MESSAGE_CHANGED": Code("error", "the model sees a message with other content"),
        "ORDER": Code("error", "the same things come in another order"),
        "TOOLS_MERGE": Code("error", "the model is shown another set of tools"),
        "TOOLS_ORDER": Code("warning", "the model is shown the tools in another order"),
        "SETTINGS": Code("error", "options of a call are lost or changed"),
        "EXTRA_CALL": Code("error", "a call is made that was not made before"),
        "MISSING_CALL": Code("error", "a call is no longer made"),
        "TOOL_ARGUMENTS": Code("error", "a tool runs with other arguments"),
        "TOOL_REPLACED": Code("error", "another tool runs"),
        "ANSWER": Code("error", "the run gives another answer"),
        "STATUS": Code("error", "the run ends in another way"),
        "STATE_LOST": Code("error", "what is kept lacks a message or a key"),
        "STATE_CHANGED": Code("error", "what is kept is something else"),
        "STORED_LOST": Code("error", "a session no longer keeps an event"),
        "STORED_EXTRA": Code("error", "a session keeps an event that it did not"),
        "STORED_CHANGED": Code("error", "a session keeps an event with other content"),
        "SAVED": Code("error", "a store has something else of a session, or nothing"),
        "PART_LOST": Code("error", "an answer lacks a part"),
        "PART_EXTRA": Code("error", "an answer has a part that it had not"),
        "PART_OPEN": Code("error", "a part is left open, or closed, otherwise"),
        "PART_CHANGED": Code("error", "a part says something else"),
        "PART_EVENT": Code("error", "changes of a part are told otherwise"),
        "DELIVERY_LOST": Code("error", "a callback is no longer told of something"),
        "DELIVERY_EXTRA": Code("error", "a callback is told of something more"),
        "DELIVERED_TO": Code("error", "others are told of the same thing"),
        "DELIVERY_CHANGED": Code("error", "a callback is told of it otherwise"),
        "ARTIFACT": Code("error", "other artifacts are kept"),
        "AUTHOR": Code("error", "an event is another agent's"),
        "PAIRING": Code("error", "tool calls and results are paired otherwise"),
        "CALLER_CHANGED": Code("error", "an object of the caller is changed"),
        "EVENT_ORDER": Code("error", "the consumer receives other events"),
        "STREAM_TEXT": Code("error", "the consumer receives another text"),
        "STREAM_LEAK": Code(
            "error", "on one side the consumer receives what no kept history shows"
        ),
        "ERROR_POINT": Code("error", "an error arises at another point"),
        "ERROR_CLASS": Code("error", "an error of another class comes out"),
        "ERROR_CAUSE": Code("error", "an error comes out that has another cause"),
        "ERROR_LOST": Code("error", "an error no longer comes out"),
        "ERROR_NEW": Code("error", "an error comes out that did not before"),
        "EFFECT_LOST": Code("error", "a side effect is no longer done"),
        "EFFECT_EXTRA": Code("error", "a side effect is done that was not before"),
        "EFFECT_CHANGED": Code("error", "a side effect is done with other data"),
        "ASKED": Code("error", "a person is asked otherwise, or not at all"),
        "TYPE": Code("error", "a value has another type; 1, 1.0 and true differ"),
        "OBSERVED": Code("info", "neighbouring extensions see something else"),
        "CHUNKS": Code("info", "streams are cut at other places"),
        "STATE_KEPT": Code(
            "warning", "what is kept of a run on its way is something else"
        ),
        "INTERLEAVING": Code("info", "concurrent calls run in another order"),
        "MARKS": Code("info", "messages that are kept carry other marks, or status"),
        "WAY_LOST": Code("error", "it cannot be run in all the ways it could"),
        "INTENT": Code("error", "a side does not have an effect that is intended"),
    }
)
"""Every code, by name."""

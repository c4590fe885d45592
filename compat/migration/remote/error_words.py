"""What an engine says itself of a call that failed, in the words of those before it.

From 7 on the AI SDK puts the class of an error before its message, where it tells the
model of a tool that failed, that is not there, or whose arguments do not fit. Texts of
errors are a framework's own, and not compared (``docs/check-report.md``); without this
each port to 7 would be accused, whatever it does.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.trace import Trace

NAMES_CLASSES: Final = "ai-sdk@7"
_NAME: Final = r"(?:(?:AI_)?[A-Z]\w*: )?"
CLASS: Final = re.compile(
    rf"^(tool\([^)]*\):)?{_NAME}(?:(Invalid input for tool [^:]*: ){_NAME})?"
)
"""A class, in an answer or in the notation of one, and that of its cause."""
SAYS: Final = frozenset(("content", "text", "message"))
"""Under which keys what is answered stands."""


def in_older_words(jsonl: str, engine: str) -> str:
    """Return a trace without the classes that an engine puts before what it answers.

    A result that a tool gave stays as it is.
    """
    if engine != NAMES_CLASSES:
        return jsonl
    trace = Trace.from_jsonl(jsonl)
    gave = {each.call_id for each in trace.of("tool_end")}
    asked: Any = [each.data["message"] for each in trace.of("model_response")]
    calls = {call["id"] for each in asked for call in each.get("tool_calls", ())}
    failed = frozenset(calls - gave)
    if not failed:
        return jsonl
    plain = (replace(x, data=_plain(x.data, failed, x.call_id)) for x in trace)
    return Trace(plain).to_jsonl()


def _plain(value: Any, failed: AbstractSet[str], call: str | None) -> Any:  # noqa: ANN401  # a value of JSON
    """Return a value in which answers to failed calls begin with their message."""
    if is_list(value):
        return [_plain(each, failed, None) for each in value]
    if not is_mapping(value):
        return value
    call = call or value.get("tool_call_id")
    return {
        key: CLASS.sub(r"\1\2", each)
        if call in failed and key in SAYS and isinstance(each, str)
        else _plain(each, failed, call if key == "whole" else None)
        for key, each in value.items()
    }

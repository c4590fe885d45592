"""The event stream of a judgement as a file: one JSON object a line.

The lines are ASCII, so that a lone surrogate of some engine's answer survives, and
every line is written in one way only.

    python -m compat.report.conform_stream

prints the published schema of a line.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable
from typing import Any, Final, TextIO

from pydantic import TypeAdapter

from compat.report.conform_text import cleaned
from compat.verdicts.conformance import (
    VERSION,
    AnyEvent,
    Footer,
    Progress,
    StreamHeader,
)
from refengine.testing.json_values import is_list, is_mapping

_EVENTS: Final[TypeAdapter[AnyEvent]] = TypeAdapter(AnyEvent)


class JudgementStream:
    """Writes events as they come, and knows their digest at the end.

    Without a file it only counts the digest. Progress is live only, and left out.
    """

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out
        self._digest = hashlib.sha256()

    def telling(
        self, emit: Callable[[AnyEvent], None], shown: Callable[[str], str]
    ) -> Callable[[AnyEvent], None]:
        """Return what tells an event here and to another, both without secrets.

        ``shown`` takes out of a text what is not to be told.
        """

        def told(event: AnyEvent) -> None:
            if not isinstance(event, Progress):
                event = scrubbed(event, shown)
            self.take(event)
            emit(event)

        return told

    def take(self, event: AnyEvent) -> None:
        """Write an event; every one between header and footer counts for the digest."""
        if isinstance(event, Progress):
            return
        text = line(event)
        if not isinstance(event, StreamHeader | Footer):
            self._digest.update(text.encode("ascii"))
        if self._out is not None:
            self._out.write(text)
            self._out.flush()

    def end(self, exit_code: int) -> Footer:
        """Write the footer and return it."""
        footer = Footer(exit_code=exit_code, digest=self._digest.hexdigest())
        self.take(footer)
        return footer


def line(event: AnyEvent) -> str:
    """Return the line of an event, with its end of line."""
    # Not pydantic's own JSON, which refuses lone surrogates.
    data = finite(cleaned(event).model_dump())
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return f"{text}\n"


def scrubbed(event: AnyEvent, shown: Callable[[str], str]) -> AnyEvent:
    """Return an event without secrets, as every reader of a judgement is told it.

    Field names count for nothing here: a world has to stay the one that was played.
    """
    data = event.model_dump()
    text = json.dumps(finite(data))
    if shown(text) == text:
        return event
    told = _mapped(data, lambda leaf: shown(leaf) if isinstance(leaf, str) else leaf)
    return _EVENTS.validate_python(told)


def finite(value: Any) -> Any:  # noqa: ANN401  # anything an event holds
    """Return a value in which numbers that JSON does not have are texts."""
    return _mapped(value, _finite)


def _finite(leaf: object) -> object:
    is_json = not isinstance(leaf, float) or math.isfinite(leaf)
    return leaf if is_json else str(leaf)


def _mapped(value: Any, each: Callable[[object], object]) -> Any:  # noqa: ANN401  # as finite
    """Return a value with what ``each`` makes of all in it but objects and lists."""
    if is_mapping(value):
        return {key: _mapped(inner, each) for key, inner in value.items()}
    if is_list(value):
        return [_mapped(inner, each) for inner in value]
    return each(value)


def schema_text() -> str:
    """Return the published text: sorted, indented, with a newline at its end."""
    found = _EVENTS.json_schema()
    found["title"] = f"A line of the event stream of a judgement, version {VERSION}"
    return json.dumps(found, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())

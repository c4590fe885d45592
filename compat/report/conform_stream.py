"""The event stream of a judgement as a file: one JSON object a line, and back.

A reader trusts nothing: a file without its footer was cut off, one whose digest is
another was changed, and both are refused. The lines are ASCII, so that a lone surrogate
of some engine's answer survives, and every line is written in one way only.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, TextIO, cast

from pydantic import TypeAdapter, ValidationError

from compat.report.conform_text import cleaned, plain
from compat.verdicts.conformance import (
    VERSION,
    AnyEvent,
    Footer,
    Progress,
    StreamHeader,
)

_EVENTS: Final[TypeAdapter[AnyEvent]] = TypeAdapter(AnyEvent)


class StreamError(ValueError):
    """The text is not a judgement; says in which line, and what is wrong there."""

    def __init__(self, line: int, what: str) -> None:
        self.line = line
        self.what = what
        super().__init__(f"line {line}: {what}")


class CutOffError(StreamError):
    """There is no footer, so nothing that stands in the file counts."""


class ChangedError(StreamError):
    """The digest is not that of the lines, so something was changed afterwards."""


class UnknownVersionError(StreamError):
    """The file was written in another version of the format."""


class NotAnEventError(StreamError):
    """The line is not an event that can stand in this place."""


class JudgementStream:
    """Writes events as they come, and knows their digest at the end.

    Without a file it only counts the digest. Progress is live only, and left out.
    """

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out
        self._digest = hashlib.sha256()

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


def read_stream(text: str) -> list[AnyEvent]:
    """Return the events of a file; raises a StreamError that names the line."""
    lines = text.split("\n")
    if lines[-1]:
        raise CutOffError(len(lines), "the line does not end: the file was cut off")
    events = [_read(number, each) for number, each in enumerate(lines[:-1], 1)]
    if not events or not isinstance(events[-1], Footer):
        raise CutOffError(len(lines), "there is no footer: the file was cut off")
    for number, each in enumerate(events[:-1], 1):
        if isinstance(each, Footer):
            raise NotAnEventError(number, "a footer is the last line")
    _check_digest(lines[1:-2], events[-1], len(events))
    return events


def _read(number: int, text: str) -> AnyEvent:
    data = _object(number, text)
    if number == 1 and data.get("version", VERSION) != VERSION:
        theirs = plain(json.dumps(data["version"]))
        what = f"version {theirs} is unknown; this reads version {VERSION}"
        raise UnknownVersionError(number, what)
    try:
        event = _EVENTS.validate_python(data)
    except ValidationError as error:
        raise NotAnEventError(number, _first_mistake(error)) from None
    if isinstance(event, StreamHeader) != (number == 1):
        what = f"a {event.event} cannot stand here: the first line is the header"
        raise NotAnEventError(number, what)
    if isinstance(event, Progress):
        raise NotAnEventError(number, "progress is live only and stands in no file")
    return event


def _object(number: int, text: str) -> Mapping[str, Any]:
    try:
        data: object = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise NotAnEventError(number, f"is not JSON: {plain(str(error))}") from None
    if not isinstance(data, dict):
        raise NotAnEventError(number, f"is a {type(data).__name__}, not an object")
    return cast("Mapping[str, Any]", data)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number of JSON")


def _first_mistake(error: ValidationError) -> str:
    first, *_ = error.errors(include_url=False)
    where = ".".join(map(str, first["loc"]))
    return plain(f"{where}: {first['msg']}" if where else first["msg"])


def _check_digest(between: Sequence[str], footer: Footer, number: int) -> None:
    found = hashlib.sha256()
    for each in between:
        found.update(f"{each}\n".encode("utf-8", "surrogatepass"))
    if found.hexdigest() != footer.digest:
        what = "the digest is not that of the lines: the file was changed"
        raise ChangedError(number, what)


def finite(value: Any) -> Any:  # noqa: ANN401  # anything an event holds
    """Return a value in which numbers that JSON does not have are texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        found = cast("Mapping[str, Any]", value)
        return {key: finite(each) for key, each in found.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in cast("Sequence[Any]", value)]
    return value

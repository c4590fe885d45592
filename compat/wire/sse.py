"""Server-sent events out of the bytes of a stream, however they are cut.

As the HTML standard has it (§9.2.6, interpreting an event stream): UTF-8 with at most
one byte order mark, lines ended by CR LF, LF or CR, comments, several ``data`` lines
joined by newlines, and an event that no empty line ends is dropped.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_LINE_END: Final = re.compile("\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: its data, its type and the last id that the stream gave."""

    data: str
    type: str = "message"
    id: str = ""


class EventParser:
    """Parses a stream in pieces; the events do not depend on where it was cut.

    Feed it until the stream ends, then ask ``unended`` whether an event was left over.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._begun = False
        self._rest = ""
        self._data: list[str] = []
        self._type = ""
        self._id = ""

    @property
    def unended(self) -> bool:
        """Whether data came that no empty line made an event of."""
        return bool(self._data) or self._rest.startswith("data")

    def feed(self, piece: bytes, *, last: bool = False) -> list[ServerSentEvent]:
        """Return the events that this piece ends."""
        text = self._decode(piece, last)
        if text and not self._begun:
            self._begun = True
            text = text.removeprefix("\ufeff")
        self._rest += text
        return [event for line in self._lines(last=last) for event in self._take(line)]

    def _lines(self, *, last: bool) -> list[str]:
        """Return the lines that are ended; of a CR at the end an LF may be to come."""
        lines: list[str] = []
        at = 0
        for end in _LINE_END.finditer(self._rest):
            if end.group() == "\r" and end.end() == len(self._rest) and not last:
                break
            lines.append(self._rest[at : end.start()])
            at = end.end()
        self._rest = self._rest[at:]
        return lines

    def _take(self, line: str) -> Iterator[ServerSentEvent]:
        if not line:
            yield from self._dispatch()
            return
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._type = value
        elif field == "id" and "\0" not in value:
            self._id = value

    def _dispatch(self) -> Iterator[ServerSentEvent]:
        if self._data:
            yield ServerSentEvent(
                "\n".join(self._data), self._type or "message", self._id
            )
        self._data = []
        self._type = ""


def events_of(pieces: Iterable[bytes]) -> tuple[list[ServerSentEvent], bool]:
    """Return the events of a whole stream, and whether one was left unended."""
    parser = EventParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    events += parser.feed(b"", last=True)
    return events, parser.unended

"""Log records, warnings and printed lines of the subject's own code, as effects.

Compared are level and formatted message, category and text, and whole lines; not the
logger, the module, the line or the thread. What a handler of ``logging`` prints is the
record that it was given, and is put down once.
"""

from __future__ import annotations

import hashlib
import io
import logging
import sys
import threading
import warnings
from types import FrameType
from typing import Any, Final, cast

from refengine.testing.isolation.side_doors import SideDoors, caller, steady

LOGGED: Final = logging.INFO
"""From this level on a record is an effect, though nobody has set up any logging: that
is what an application does around the agent."""
SHOWN: Final = 20_000
"""Characters of a line, and of the lines of a run, that are put down as they are."""
BEGINNING: Final = 200
"""Characters that are shown of a line which is longer than that."""
DEPRECATION: Final = (DeprecationWarning, PendingDeprecationWarning)


def watch_logging(doors: SideDoors) -> None:
    """Have each record that passes its logger's filters put down."""
    enabled = logging.Logger.isEnabledFor
    calls = logging.Logger.callHandlers

    def is_enabled_for(logger: logging.Logger, level: int) -> bool:
        return enabled(logger, level) or _counts(doors, logger, level)

    def call_handlers(logger: logging.Logger, record: logging.LogRecord) -> None:
        if doors.innermost(_beyond_logging(caller())):
            data = {"level": record.levelname, "message": steady(_message(record))}
            doors.put_down("log", data)
        if enabled(logger, record.levelno):
            calls(logger, record)

    setattr(logging.Logger, "isEnabledFor", is_enabled_for)  # noqa: B010  # a method
    setattr(logging.Logger, "callHandlers", call_handlers)  # noqa: B010  # as above


def _counts(doors: SideDoors, logger: logging.Logger, level: int) -> bool:
    """Tell whether only the level that Python begins with keeps a record back."""
    if doors.recorder is None or level < LOGGED or logger.disabled:
        return False
    if logger.manager.disable >= level or logging.root.level != logging.WARNING:
        return False
    return logger.getEffectiveLevel() == logging.WARNING and not _has_level(logger)


def _has_level(logger: logging.Logger) -> bool:
    each: logging.Logger | None = logger
    while each is not None and each is not logging.root:
        if each.level:
            return True
        each = each.parent
    return False


def _beyond_logging(frame: FrameType | None) -> FrameType | None:
    """Return the frame that asked ``logging`` for a record."""
    while frame is not None and frame.f_code.co_filename == logging.__file__:
        frame = frame.f_back
    return frame


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001  # as logging does, which tells of it elsewhere
        return str(record.msg)


def watch_warnings(doors: SideDoors) -> None:
    """Have each warning put down that is not of deprecation, however often it comes."""
    warn = warnings.warn

    def warned(
        message: Warning | str,
        category: type[Warning] | None = None,
        stacklevel: int = 1,
        source: object = None,
        **more: Any,  # noqa: ANN401  # what later versions of Python have
    ) -> None:
        kind = type(message) if isinstance(message, Warning) else category
        kind = kind or UserWarning
        is_told = doors.everything or not issubclass(kind, DEPRECATION)
        if is_told and doors.innermost(caller(1)):
            data = {"category": kind.__name__, "text": steady(str(message))}
            doors.put_down("warning", data)
        warn(message, category, stacklevel + 1, source, **more)

    warnings.warn = warned


class PrintedStream(io.TextIOWrapper):
    """Standard output or error: what own code prints is put down line by line."""

    def __init__(self, doors: SideDoors, name: str, plain: io.TextIOWrapper) -> None:
        super().__init__(
            plain.buffer,
            encoding=plain.encoding,
            errors=plain.errors,
            line_buffering=plain.line_buffering,
        )
        self._plain = plain  # closes the buffer when nobody has it any more
        self._doors = doors
        self._name = name
        self._begun: dict[object, list[str]] = {}
        self._shown = 0
        self._more = 0
        self._digest = hashlib.sha256()

    def write(self, text: str) -> int:
        """Write a text; whole lines of it are effects."""
        written = super().write(text)
        if self._doors.recorder is not None and self._doors.innermost(caller()):
            self._take(text)
        return written

    def end_lines(self) -> None:
        """Take for a line what has not been ended, in the order in which it began."""
        while self._begun:
            self._end_line("".join(self._begun.pop(next(iter(self._begun)))))
        if self._more:
            more = f"{self._more} lines more, sha256 {self._digest.hexdigest()[:16]}"
            self._put_down(more)
        self._anew()

    def forget(self) -> None:
        """Forget what has been begun."""
        self._begun.clear()
        self._anew()

    def _anew(self) -> None:
        if self._shown:
            self._shown = self._more = 0
            self._digest = hashlib.sha256()

    def _take(self, text: str) -> None:
        key = self._doors.call_id, threading.get_ident()
        *lines, rest = text.split("\n")
        for line in lines:
            # In pieces: a line may be written in very many.
            self._end_line("".join([*self._begun.pop(key, ()), line]))
        if rest:
            self._begun.setdefault(key, []).append(rest)

    def _end_line(self, line: str) -> None:
        """Put a line down, or count it where a run has printed too much to show."""
        if self._shown > SHOWN:
            self._more += 1
            self._digest.update(_bytes(f"{line}\n"))
        else:
            self._put_down(_bounded(line))
        self._shown += 1 + (len(line) if len(line) <= SHOWN else BEGINNING)

    def _put_down(self, text: str) -> None:
        self._doors.put_down("print", {"stream": self._name, "text": text})


def _bounded(line: str) -> str:
    """Return a line as somebody would read it; of one that nobody would, a digest."""
    if len(line) <= SHOWN:
        return steady(line)
    digest = hashlib.sha256(_bytes(line)).hexdigest()[:16]
    shown = steady(line[:BEGINNING])
    return f"{shown}… ({len(line)} characters, sha256 {digest})"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def watch_prints(doors: SideDoors) -> list[PrintedStream]:
    """Have what is printed put down; returns the streams."""
    made: list[PrintedStream] = []
    for name in ("stdout", "stderr"):
        plain = cast("io.TextIOWrapper", getattr(sys, name))
        if plain.__class__ is io.TextIOWrapper:
            plain.flush()
            stream = PrintedStream(doors, name, plain)
            setattr(sys, name, stream)
            made.append(stream)
    return made

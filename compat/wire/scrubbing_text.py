"""Replacing in a text what must not reach a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from compat.wire.key_shapes import shape_spans
from compat.wire.secret_forms import Forms, Span

T = TypeVar("T")

TURNS: Final = 10
PLACEHOLDER: Final = "SCRUBBED"
"""Stands where something was; scrubbing it again changes nothing."""


class Finder:
    """Finds the given secrets and what looks like a key."""

    __slots__ = ("_forms",)

    def __init__(self, secrets: Iterable[str]) -> None:
        self._forms = Forms(secrets)

    def spans(self, text: str) -> list[Span]:
        """Return where something must be replaced, in order and not overlapping."""
        return merged([*self._forms.spans(text), *shape_spans(text)])

    def known(self, text: str) -> bool:
        """Tell whether one of the given secrets stands there, in any form."""
        return next(self._forms.spans(text), None) is not None

    def clean(self, text: str) -> str:
        """Return the text with placeholders."""
        return settled(lambda each: edited([each], self.spans(each))[0], text)


def settled(clean: Callable[[T], T], value: T) -> T:
    """Clean a value until that changes nothing.

    A placeholder may end one secret and begin what looks like another. It takes a few
    turns; a value that still changes then is refused where it would be written.
    """
    for _ in range(TURNS):
        found = clean(value)
        if found == value:
            break
        value = found
    return value


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, those that touch as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        elif start < end:
            found.append((start, end))
    return found


def edited(pieces: Sequence[str], spans: Sequence[Span]) -> list[str]:
    """Return pieces of one text without the spans of that text.

    The placeholder goes where a span begins; what it has in later pieces is taken out.
    """
    whole = list(_edits(pieces, spans))
    return ["".join(parts) for parts in whole]


def _edits(pieces: Sequence[str], spans: Sequence[Span]) -> Iterator[list[str]]:
    begin = 0
    for piece in pieces:
        end, at = begin + len(piece), begin
        parts: list[str] = []
        for start, stop in spans:
            if stop <= begin or start >= end:
                continue
            parts.append(piece[at - begin : max(start, begin) - begin])
            parts.extend([PLACEHOLDER] if start >= begin else [])
            at = min(stop, end)
        parts.append(piece[at - begin :])
        yield parts
        begin = end

"""Texts that look like a key, a token or a password, whoever gave them out.

Each shape names a piece of text that must be there, in lower case, so that a text
without any is not searched. What looks like a key and is none is replaced too: that
costs a word of a text, a key in a file costs more.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from compat.wire.secret_forms import Span

_NAMES: Final = (
    r"(?:x[-_]?)?(?:goog[-_]?)?api[-_]?key|password|passwd|pwd|client[-_]?secret"
    r"|secret(?:[-_]?(?:access[-_]?)?key)?|access[-_]?key(?:[-_]?id)?|private[-_]?key"
    r"|(?:access|refresh|id|auth|api|session|security|bearer)[-_]?token"
    r"|organization[-_]?id|org[-_]?id|project[-_]?id|session[-_]?id"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """A pattern; only its group ``secret`` is replaced, or all of it without one."""

    hints: tuple[str, ...]
    pattern: re.Pattern[str]

    def spans(self, text: str, lowered: str) -> Iterator[Span]:
        """Yield where the shape stands in the text."""
        if not any(hint in lowered for hint in self.hints):
            return
        group = "secret" if self.pattern.groups else 0
        for match in self.pattern.finditer(text):
            yield match.span(group)


def _shape(hints: str, pattern: str, flags: int = 0) -> Shape:
    return Shape(tuple(hints.split(" ")), re.compile(pattern, flags))


def _token(hints: str, pattern: str) -> Shape:
    """Return a shape that begins where a word does, or behind an escaped line end."""
    return _shape(hints, rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:{pattern})")


SHAPES: Final = (
    _token("sk- pk- rk-", r"[spr]k-[A-Za-z0-9_-]{12,}"),
    _token("sk_ pk_ rk_ whsec_", r"(?:[spr]k_(?:live|test)|whsec)_[A-Za-z0-9]{8,}"),
    _token("akia asia aroa aida", r"(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}"),
    _token("gh", r"gh[opusr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}"),
    _token("xox xapp", r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{8,}"),
    _token("eyj", r"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*"),
    _token("aiza ya29. gocspx", r"AIza[\w-]{30,}|ya29\.[\w.-]{16,}|GOCSPX-[\w-]{16,}"),
    _token(
        "gsk_ hf_ r8_ npm_ pypi- glpat- dop_v1_ lsv2_ nvapi- xai- csk- pplx- tvly- sg.",
        r"(?:gsk_|hf_|r8_|npm_|pypi-|glpat-|dop_v1_|lsv2_|nvapi-|xai-|csk-|pplx-|tvly-"
        r"|SG\.)[A-Za-z0-9_.-]{16,}",
    ),
    _token("org- proj_", r"(?:org-|proj_)[A-Za-z0-9]{12,}"),
    _shape("private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END|\Z)"),
    _shape("bearer", r"bearer\s+(?P<secret>[A-Za-z0-9._~+/=-]{6,})", re.IGNORECASE),
    _shape(
        "authorization",
        r"authorization\\*[\"']?\s*[:=]\s*\[?\\*[\"']?(?P<secret>[^\r\n\"'\\,\]]{6,})",
        re.IGNORECASE,
    ),
    _shape(
        "cookie",
        r"cookie\\*[\"']?\s*:\s*\[?\\*[\"']?(?P<secret>[\w.-]+=[^\r\n\"'\\]+)",
        re.IGNORECASE,
    ),
    _shape("://", r"(?<=://)(?P<secret>[^/\s:@\"'\\]*:[^/\s@\"'\\]+)(?=@)"),
    _shape("/projects/", r"(?<=/projects/)(?P<secret>[^/?#\s\"'\\]+)"),
    _shape(
        "key token",
        r"(?<![A-Za-z0-9])(?:x-)?(?:goog-)?(?:api-key|auth-token)\s*:\s*"
        r"(?P<secret>[^\s\"'\\,;]{4,})",
        re.IGNORECASE,
    ),
    # A field of JSON inside a text, quoted there or not; one of a form or an address.
    _shape(
        "key pass pwd secret token id",
        rf"[\"'](?:{_NAMES})\\*[\"']\s*:\s*\\*[\"'](?P<secret>[^\"'\\]+)",
        re.IGNORECASE,
    ),
    _shape(
        "key pass pwd secret token id",
        rf"(?<![A-Za-z0-9])(?:{_NAMES})=(?P<secret>[^\s&\"'\\;,<>]+)",
        re.IGNORECASE,
    ),
    # A line of settings; what has no digit or is short is taken for a word.
    _shape(
        "key pass pwd secret token",
        rf"(?<![A-Za-z0-9])(?:aws[-_])?(?:{_NAMES})(?:\s*:\s*|\s+=\s*|=\s+)"
        r"\\*[\"']?(?P<secret>(?=[^\s\"']*[0-9])[^\s\"'\\,;]{6,})",
        re.IGNORECASE,
    ),
)

_BASIC: Final = re.compile(r"basic\s+([A-Za-z0-9+/_-]{4,}=*)", re.IGNORECASE)


def shape_spans(text: str) -> Iterator[Span]:
    """Yield where something stands that looks like a key."""
    lowered = text.lower()
    for shape in SHAPES:
        yield from shape.spans(text, lowered)
    if "basic" in lowered:
        yield from _basic(text)


def _basic(text: str) -> Iterator[Span]:
    """Yield name and password in base64; "basic knowledge" is none, and stays."""
    for match in _BASIC.finditer(text):
        digits = match[1].translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
        if len(digits) % 4 != 1:
            raw = b64decode(digits + "=" * (-len(digits) % 4))
            if b":" in raw:
                yield match.span(1)

"""What a judgement comes to as known failures: a new file, or an old one made fresh.

The text of an old file is edited and what a person wrote is left alone: entries are
cut out and put in as lines, so order, comments and reasons of all others stay as they
are. The edited text is read again before anybody writes it.

tomlkit was tried (0.15): it takes a comment above an entry for the end of the entry
before, so where one is cut out, the comment of the next one goes with it and its own
stays, above the next. What a person wrote would then stand at another failure.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.version import InvalidVersion, Version

from compat.verdicts.conformance import Breakdown, ClauseFailure, ClauseResult
from property_tests.check import PLAYED
from property_tests.failures import Replay
from property_tests.known.entries import EVERY, Known, KnownFailures, parse_known
from property_tests.known.states import state_of, unmatched
from property_tests.registry import Contract
from refengine.testing.given_text import read_toml

_HEADER: Final = re.compile(r"\s*\[\[\s*failure\s*\]\]\s*(#.*)?")
_SILENT: Final = re.compile(r"\s*(#.*)?")

REASON: Final = "TODO: say why it fails"
ISSUE: Final = "TODO: a link to the issue"


class EditError(ValueError):
    """The text is written in a way that entries cannot be told apart in it."""

    def __init__(self) -> None:
        super().__init__(
            "its entries cannot be told apart: write each under a line [[failure]],"
            " and no comment as the last line of a text"
        )


def entry_text(engine: str, versions: str, clause: str, failure: ClauseFailure) -> str:
    """Return an entry in which reason and issue are still to be written."""
    world = json.dumps(failure.scenario).replace("\x7f", "\\u007f")
    world = world.replace("'''", "\\u0027\\u0027\\u0027")  # the end of the text
    lines = [
        "[[failure]]",
        f"clause = {_quoted(clause)}",
        f"engine = {_quoted(engine)}",
        f"versions = {_quoted(versions)}",
        'kind = "bug"  # or "unsupported", "disagrees"',
        f"reason = {_quoted(REASON)}",
        f"issue = {_quoted(ISSUE)}",
        f"world = '''{world}'''",
    ]
    if failure.variant != PLAYED:
        lines.append(f"variant = {_quoted(failure.variant)}")
    return "".join(f"{line}\n" for line in lines)


def edited(text: str, drop: Collection[int], add: Sequence[str]) -> str:
    """Return the text without the entries of these numbers, and with others added.

    A comment directly above an entry goes with it. Raises EditError.
    """
    before = _entries(text)
    kept = [each for at, each in enumerate(before, 1) if at not in drop]
    lines = text.split("\n")
    for at, (start, end) in reversed([*enumerate(_extents(lines, len(before)), 1)]):
        if at in drop:
            lines[start:end] = []
    newline = "\r\n" if "\r\n" in text else "\n"
    new = "\n".join(lines)
    if drop:
        new = f"{new.rstrip()}{newline}" if new.strip() else ""
    for each in add:
        new = f"{new.rstrip()}{newline}{newline}" if new.strip() else ""
        new += each.replace("\n", newline)
    if _entries(new)[: len(kept)] != kept:
        raise EditError
    return new


def _extents(lines: Sequence[str], count: int) -> list[tuple[int, int]]:
    """Return where each entry begins and ends, its own comments with it."""
    headers = list(_headers(lines))
    if len(headers) != count:
        raise EditError
    ends = [*headers[1:], len(lines)][:count]
    return [_extent(lines, *each) for each in zip(headers, ends, strict=True)]


def _headers(lines: Sequence[str]) -> Iterator[int]:
    """Yield the lines that begin an entry; inside a longer text none does."""
    for at, line in enumerate(lines):
        if _HEADER.fullmatch(line) and _is_toml("\n".join(lines[:at])):
            yield at


def _extent(lines: Sequence[str], header: int, end: int) -> tuple[int, int]:
    start = header
    while start and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    while _SILENT.fullmatch(lines[end - 1]):
        end -= 1
    if end < len(lines) and not lines[end].strip():  # one empty line goes with it
        end += 1
    return start, end


def _entries(text: str) -> list[Any]:
    try:
        found: list[Any] = read_toml(text).get("failure", [])
    except tomllib.TOMLDecodeError:
        raise EditError from None
    return found


def _is_toml(text: str) -> bool:
    try:
        read_toml(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _quoted(text: str) -> str:
    """Return a text as TOML writes it, which is what JSON does but for one letter."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@dataclass(frozen=True, slots=True)
class JudgedOnce:
    """What a judgement of one engine said."""

    engine: str
    version: str
    results: Sequence[ClauseResult]
    faults: Sequence[Breakdown] = ()

    @property
    def failing(self) -> list[ClauseResult]:
        """The results that count as failures."""
        return [each for each in self.results if each.verdict in {"fail", "blocked"}]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The text of a file, and what was done to it.

    ``added`` and ``dropped`` are ids of clauses. ``unpinned`` fail too, but without a
    world there is nothing to pin. ``lost`` says of which entries nothing was judged.
    """

    text: str
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    unpinned: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def new_baseline(judged: JudgedOnce) -> Baseline:
    """Return a file with an entry for each failing clause."""
    return _with_new(judged, "", (), ())


def fresh_baseline(
    text: bytes, path: Path, judged: JudgedOnce, contract: Contract, replay: Replay
) -> Baseline:
    """Return the file without stale entries, and with entries for what is new.

    Entries about other engines, versions and clauses that were not judged stay. Raises
    KnownFailuresError, EditError, and PinnedWorldError.
    """
    known = parse_known(text, path, drafts=True)
    looked_at = {each.clause for each in judged.results}
    mine = known.for_engine(judged.engine, judged.version)
    states = [state_of(each, replay) for each in mine if each.clause in looked_at]
    stale = [each.known for each in states if each.state == "stale"]
    kept = [each for each in known.entries if each not in stale]
    fresh = _with_new(judged, text.decode("utf-8"), stale, kept)
    own = KnownFailures(tuple(e for e in known.entries if e.engine == judged.engine))
    lost = unmatched(own, {judged.engine: judged.version}, contract)
    return Baseline(
        fresh.text,
        fresh.added,
        tuple(each.clause for each in stale),
        fresh.unpinned,
        lost,
    )


def _with_new(
    judged: JudgedOnce, text: str, stale: Sequence[Known], kept: Sequence[Known]
) -> Baseline:
    mine = [each for each in kept if each.engine == judged.engine]
    listed = {each.clause for each in mine if each.covers(judged.version)}
    others = {each.clause for each in mine} - listed
    new = [each for each in judged.failing if each.clause not in listed]
    add = [
        entry_text(
            judged.engine,
            _versions(judged.version, alone=each.clause not in others),
            each.clause,
            each.failure,
        )
        for each in new
        if each.failure is not None
    ]
    return Baseline(
        edited(text, {each.number for each in stale}, add),
        tuple(each.clause for each in new if each.failure is not None),
        unpinned=tuple(each.clause for each in new if each.failure is None),
    )


def _versions(version: str, *, alone: bool) -> str:
    """Return the range of a new entry: from this version on, if no other is about it.

    The pinned world is played on every version that the range covers, so a wide range
    hides nothing; an engine without a version that can be compared is meant as it is.
    """
    try:
        public = Version(version).public
    except InvalidVersion:
        return EVERY
    return f">={public}" if alone else f"=={public}"

"""Every error of the wire, one class for what a caller tells apart.

    WireError
    ├── CassetteError (ValueError)             a file that cannot be played
    ├── ScrubbingError (ValueError)            a cassette that is not written
    │   └── LeakError                          a secret would still be in the file
    ├── PlayingError (AssertionError)          a session that is not the recorded one
    │   ├── MismatchError                      the n-th request is another one
    │   ├── ExtraRequestError                  more requests than interactions
    │   └── NotAllPlayedError                  fewer requests than interactions
    ├── RecordingError (ValueError)            a session that cannot be recorded
    ├── OpenCassetteError                      a second cassette of one process
    ├── DeliveryError (ValueError)             a body cannot be cut like that
    ├── ManifestError (ValueError)             a folder that its manifest does not tell
    │   ├── NoManifestError                    there is none
    │   └── ChangedFileError                   a file with another hash
    └── MissingWireExtraError (ImportError)    what the extra ``wire`` brings

Messages name file and interaction, counted from 1, and say what to do. They
never quote a body: it may hold what must not be shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from compat.wire.json_trees import JsonDifference
from refengine.testing.machine import install_line

SHOWN: Final = 6
"""So many numbers of interactions are told."""
DRAWN: Final = r"(?=.*\d)(\w{1,12}[-_])?([0-9a-fA-F-]{12,}|[0-9A-Za-z]{20,})"
"""How ids look that programs draw: digits of a number, or letters and digits."""
PLACEHOLDER: Final = "SCRUBBED"
"""Stands where a secret was; scrubbing it again changes nothing."""
Found: TypeAlias = tuple[JsonDifference, Sequence[int]]
"""Where two requests differ, and which interactions the sent one would match."""


class WireError(Exception):
    """What every error of this package is."""


class CassetteError(WireError, ValueError):
    """A file that cannot be played; ``file`` is its name, without its folder.

    ``interaction`` counts from 1; it is None if the whole file is meant.
    """

    def __init__(self, file: str, problem: str, interaction: int | None = None) -> None:
        self.file = file
        self.interaction = interaction
        where = "" if interaction is None else f", interaction {interaction}"
        super().__init__(f"{file}{where}: {problem}")


def no_interaction(file: str) -> CassetteError:
    """Return the error for a cassette that would show nothing."""
    return CassetteError(file, "it holds no interaction: record it again")


def not_a_cassette(file: str, problem: str) -> CassetteError:
    """Return the error for what is not YAML or JSON, or not of vcrpy's version 1."""
    return CassetteError(
        file, f"{problem}: record it in vcrpy's format, version 1 (YAML or JSON)"
    )


class ScrubbingError(WireError, ValueError):
    """A cassette that is not written, because it would tell what it must not."""


class LeakError(ScrubbingError):
    """A secret is still there after scrubbing, so nothing was written."""

    def __init__(self, file: str, where: str) -> None:
        self.file = file
        self.where = where
        super().__init__(
            f"{file} was not written: {where} still holds a secret after scrubbing."
            " Keep it out of the session, or name the field with fields=[…]"
        )


class PlayingError(WireError, AssertionError):
    """A session that is not the recorded one."""


class MismatchError(PlayingError):
    """A request is not that of the next interaction, nor of one that overlapped it.

    ``number`` is the interaction that it is compared with: ``difference`` says where
    they differ first. ``matches`` numbers the interactions that the request does match,
    if it only came out of turn. All count from 1.
    """

    def __init__(
        self,
        file: str,
        numbers: Sequence[int],
        sides: tuple[str, str],
        found: Found,
    ) -> None:
        self.file = file
        self.number = numbers[0]
        self.difference, self.matches = found
        recorded, sent = sides
        super().__init__(
            f"{_not_next(file, numbers)}\n"
            f"recorded: {recorded}\nsent:     {sent}\n"
            f"they differ first at {self.difference}\n"
            f"{_advice(self.matches, self.difference)}"
        )


class ExtraRequestError(PlayingError):
    """All interactions were played, and one more request came."""

    def __init__(self, file: str, recorded: int, sent: str) -> None:
        self.file = file
        self.number = recorded + 1
        super().__init__(
            f"all interactions of {file} were played ({recorded});"
            f" request {self.number} is one too many: {sent}\n"
            "Record the session again if it belongs there. If the client repeats"
            " requests by itself, set max_retries=0"
        )


class NotAllPlayedError(PlayingError):
    """The session ended before all interactions were played."""

    def __init__(self, file: str, played: int, left: Mapping[int, str]) -> None:
        self.file = file
        self.played = played
        self.left = tuple(left.values())
        listed = "".join(f"\n  {number}. {each}" for number, each in left.items())
        super().__init__(
            f"not all interactions of {file} were played,"
            f" only {played} of {played + len(self.left)}; not played:{listed}\n"
            "Record the session again if it should end earlier"
        )


class RecordingError(WireError, ValueError):
    """A session that cannot be recorded."""


def check_absent(path: Path, *, overwrite: bool) -> None:
    """Refuse to write over a file that was recorded before; raises RecordingError."""
    if path.exists() and not overwrite:
        raise RecordingError(
            f"{path.name} is there already: give overwrite=True to record it again"
        )


def nothing_recorded(file: str) -> RecordingError:
    """Return the error for a file that would have no exchange."""
    return RecordingError(
        f"{file} was not written, since no request was recorded: make one, through"
        " a client that vcrpy knows (httpx2, httpx, requests, aiohttp, urllib3)"
    )


class OpenCassetteError(WireError):
    """A cassette is open in this process, and vcrpy's patches know only one."""

    def __init__(self, file: str) -> None:
        self.file = file
        super().__init__(
            f"{file} cannot be opened while another cassette is: vcrpy replaces parts"
            " of HTTP clients for the whole process. Play one after the other, in"
            " processes of their own, or with ReplayTransport"
        )


class DeliveryError(WireError, ValueError):
    """A body cannot be delivered in that way."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"{problem}: give places inside the body, and count interactions from 1"
        )


class ManifestError(WireError, ValueError):
    """A folder of cassettes that its manifest does not tell."""


class NoManifestError(ManifestError):
    """There is no manifest, so nobody knows where the cassettes came from."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no {name}: write one, with an entry for each cassette"
        )


class ChangedFileError(ManifestError):
    """A file that is not the one its entry tells of."""

    def __init__(self, name: str, file: str, problem: str) -> None:
        self.file = file
        super().__init__(
            f"{file} is not what {name} says ({problem}): record it again, and write"
            " its entry anew"
        )


class MissingWireExtraError(WireError, ImportError):
    """A library that the extra ``wire`` brings is not installed."""

    def __init__(self, library: str) -> None:
        self.library = library.partition(".")[0]
        super().__init__(
            f"{self.library} is not installed: {install_line('wire')}", name=library
        )


def _is_drawn(value: object) -> bool:
    """Tell whether a value looks like an id that a program draws."""
    return re.fullmatch(DRAWN, str(value).strip('"')) is not None


def _not_next(file: str, numbers: Sequence[int]) -> str:
    number, *others = numbers
    if not others:
        return f"request {number} is not interaction {number} of {file}"
    shown = ", ".join(map(str, numbers[:SHOWN])) + " …" * (len(numbers) > SHOWN)
    return (
        f"the request is none of interactions {shown} of {file}, which were asked for"
        f" at one time when it was recorded; beside interaction {number}:"
    )


def _advice(matches: Sequence[int], difference: JsonDifference) -> str:
    if matches:
        numbers = ", ".join(map(str, matches))
        return (
            f"It matches interaction {numbers}: the requests came in a different order"
        )
    again = "Record the session again if the request is meant to differ"
    if _is_drawn(difference.recorded) and _is_drawn(difference.sent):
        name = difference.path.rpartition(".")[2]
        return (
            f"{again}; if {name} is drawn anew each time, name it: cassette serve"
            f" --field {name}, or Scrubber(fields=[{name!r}])"
        )
    if PLACEHOLDER not in str(difference.recorded):
        return again
    return (
        f"{again}; if a value was taken out as a secret, name it here as well, by"
        " cassette serve --secret-env or --field, or Scrubber([value], fields=[name])"
    )

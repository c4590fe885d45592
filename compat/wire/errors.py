"""Every error of the wire, one class a cause; the message says what to do.

    WireError
    ├── CassetteError (ValueError)             a file that cannot be played
    │   ├── NoCassetteError                    there is no such file
    │   ├── NotACassetteError                  not YAML or JSON, or another shape
    │   ├── EmptyCassetteError                 no interaction in it
    │   ├── UnknownKeyError                    a key that reading would drop
    │   ├── InteractionError                   a part of an interaction is missing
    │   └── EncodedBodyError                   a compressed body that is none
    ├── ScrubbingError (ValueError)            a cassette that is not written
    │   ├── ShortSecretError                   a secret that stands everywhere
    │   ├── UnsetSecretError                   a variable that holds no secret
    │   ├── CredentialHeaderError              a header that is never kept
    │   ├── PackedBodyError                    a body nothing here unpacks
    │   └── LeakError                          a secret would still be in the file
    ├── PlayingError (AssertionError)          a session that is not the recorded one
    │   ├── MismatchError                      the n-th request is another one
    │   ├── ExtraRequestError                  more requests than interactions
    │   └── NotAllPlayedError                  fewer requests than interactions
    ├── RecordingError                         a session that cannot be recorded
    │   ├── CassetteExistsError                a recorded file is not written over
    │   ├── AppendedNameError                  a name of which no file grows
    │   └── NothingRecordedError               no request was seen
    ├── OpenCassetteError                      a second cassette of one process
    ├── DeliveryError (ValueError)             a body cannot be cut like that
    ├── ManifestError (ValueError)             a folder that its manifest does not tell
    │   ├── NoManifestError                    there is none
    │   ├── InvalidManifestError               another shape, or an entry twice
    │   ├── EmptyManifestError                 no cassette in it
    │   ├── UnlistedFileError                  a file without an entry
    │   ├── MissingCassetteError               an entry without a file
    │   └── ChangedFileError                   a file with another hash
    └── MissingWireExtraError (ImportError)    what the extra ``wire`` brings

Messages name file and interaction, counted from 1. They never quote a body: it may hold
what must not be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from compat.wire.json_trees import JsonDifference
from refengine.testing.machine import install_line

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


class NoCassetteError(CassetteError):
    """There is no such file."""

    def __init__(self, file: str) -> None:
        super().__init__(file, "there is no such cassette: record it first")


class NotACassetteError(CassetteError):
    """The file is not YAML or JSON, or not of vcrpy's version 1."""

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(
            file, f"{problem}: record it in vcrpy's format, version 1 (YAML or JSON)"
        )


class EmptyCassetteError(CassetteError):
    """There is no interaction, so that playing it would show nothing."""

    def __init__(self, file: str) -> None:
        super().__init__(file, "it holds no interaction: record it again")


class UnknownKeyError(CassetteError):
    """A key that reading would drop without a word."""

    def __init__(
        self, file: str, where: str, keys: Iterable[str], interaction: int | None = None
    ) -> None:
        self.keys = tuple(sorted(keys))
        named = ", ".join(map(repr, self.keys))
        super().__init__(
            file,
            f"{where} has {named}, which is not read: remove it, or extend the reader",
            interaction,
        )


class InteractionError(CassetteError):
    """A part of an interaction is missing or has another shape."""

    def __init__(self, file: str, problem: str, interaction: int) -> None:
        super().__init__(file, f"{problem}: repair the interaction", interaction)


class EncodedBodyError(CassetteError):
    """A body that its header calls compressed cannot be decompressed here."""

    def __init__(self, file: str, encoding: str, interaction: int) -> None:
        self.encoding = encoding
        super().__init__(
            file,
            f"the body is not what content-encoding {encoding!r} says,"
            " or nothing here decodes it: record it decoded",
            interaction,
        )


class ScrubbingError(WireError, ValueError):
    """A cassette that is not written, because it would tell what it must not."""


class ShortSecretError(ScrubbingError):
    """A secret of so few characters stands in other texts by chance.

    ``index`` counts the given secrets, longest first, from 0. The value is not shown.
    """

    def __init__(self, index: int, length: int, shortest: int) -> None:
        self.index = index
        super().__init__(
            f"a secret this short (length {length}) turns up in other texts by chance:"
            f" give one of at least {shortest}, or leave it out"
        )


class UnsetSecretError(ScrubbingError):
    """A variable that is to hold a secret, and holds nothing."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"the variable {name} is not set, so its value cannot be taken out: set it,"
            " or leave it out"
        )


class CredentialHeaderError(ScrubbingError):
    """Headers that hold credentials are never kept, whoever asks."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(sorted(names))
        super().__init__(
            f"{', '.join(self.names)} may hold credentials and is never kept:"
            " take it out of keep_headers"
        )


class PackedBodyError(ScrubbingError):
    """A body that nothing here unpacks, so that nobody knows what it holds."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        super().__init__(
            f"a body with content-encoding {encoding!r} cannot be looked into:"
            " have the client ask for gzip with the header accept-encoding"
        )


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
    """The n-th request is not that of the n-th interaction.

    ``difference`` says where they differ first; ``matches`` numbers the interactions
    that the request does match, if it only came out of turn. Both count from 1.
    """

    def __init__(
        self, file: str, number: int, sides: tuple[str, str], found: Found
    ) -> None:
        self.file = file
        self.number = number
        self.difference, self.matches = found
        recorded, sent = sides
        super().__init__(
            f"request {number} is not interaction {number} of {file}\n"
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

    def __init__(self, file: str, played: int, left: Iterable[str]) -> None:
        self.file = file
        self.played = played
        self.left = tuple(left)
        listed = "".join(
            f"\n  {number}. {each}" for number, each in enumerate(self.left, played + 1)
        )
        super().__init__(
            f"not all interactions of {file} were played,"
            f" only {played} of {played + len(self.left)}; not played:{listed}\n"
            "Record the session again if it should end earlier"
        )


class RecordingError(WireError):
    """A session that cannot be recorded."""


class CassetteExistsError(RecordingError):
    """A file that was recorded before is not written over by accident."""

    def __init__(self, file: str) -> None:
        self.file = file
        super().__init__(
            f"{file} is there already: give overwrite=True to record it again"
        )


class AppendedNameError(RecordingError, ValueError):
    """JSON ends with a bracket, so that nothing can be written behind it."""

    def __init__(self, file: str) -> None:
        self.file = file
        super().__init__(
            f"{file!r} cannot grow while it is recorded: give a name that ends in .yaml"
        )


class NothingRecordedError(RecordingError):
    """No request was seen, so there is nothing to write."""

    def __init__(self, file: str) -> None:
        self.file = file
        super().__init__(
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


class InvalidManifestError(ManifestError):
    """The manifest is not TOML or has another shape."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}: see docs/cassettes.md for its entries")


class EmptyManifestError(ManifestError):
    """No entry, so that checking would show nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no entry: record a cassette")


class UnlistedFileError(ManifestError):
    """Files that no entry names."""

    def __init__(self, name: str, files: Iterable[str]) -> None:
        self.files = tuple(sorted(files))
        super().__init__(
            f"{name} has no entry for {', '.join(self.files)}: add one, or remove the"
            " file"
        )


class MissingCassetteError(ManifestError):
    """Entries whose file is not there."""

    def __init__(self, name: str, files: Iterable[str]) -> None:
        self.files = tuple(sorted(files))
        super().__init__(
            f"{name} names {', '.join(self.files)}, which is not there: record it, or"
            " remove the entry"
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
        self.library = library
        super().__init__(
            f"{library} is not installed: {install_line('wire')}", name=library
        )


def _advice(matches: Sequence[int], difference: JsonDifference) -> str:
    if matches:
        numbers = ", ".join(map(str, matches))
        return (
            f"It matches interaction {numbers}: the requests came in a different order"
        )
    again = "Record the session again if the request is meant to differ"
    if PLACEHOLDER not in str(difference.recorded):
        return again
    return (
        f"{again}; if a value was taken out as a secret, name it here as well, by"
        " cassette serve --secret-env or --field, or Scrubber([value], fields=[name])"
    )

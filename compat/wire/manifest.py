"""Where each cassette of a folder came from: ``manifest.toml``, checked.

A recorded answer is evidence only if one can tell who gave it, when, and how to get it
again. So each file has an entry, each entry a file, and the file has the entry's hash.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from compat.wire.cassette_files import parsed
from compat.wire.errors import (
    ChangedFileError,
    LeakError,
    ManifestError,
    NoManifestError,
)
from compat.wire.exchanges import Exchange
from compat.wire.scrubbing import RULES, RULES_VERSION, Scrubber
from refengine.testing.given_text import problem, read_toml, unread

NAME: Final = "manifest.toml"

_INSIDE: Final = r"^([^./\\:][^/\\:]*/)*[^./\\:][^/\\:]*\.(yaml|json)$"
"""A path that stays in the folder, of a cassette."""

_Text = Annotated[str, Field(min_length=1)]
_Rule = Literal["headers", "addresses", "fields", "shapes", "values"]


class Scrubbing(BaseModel):
    """Which rules a recording was scrubbed by; ``fields`` are its additional names."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    version: Annotated[int, Field(ge=1, le=RULES_VERSION)] = RULES_VERSION
    rules: Annotated[tuple[_Rule, ...], Field(min_length=1, strict=False)] = RULES
    fields: Annotated[tuple[_Text, ...], Field(strict=False)] = ()


class ManifestEntry(BaseModel):
    """Where one cassette came from.

    ``source`` says who answered, such as a vendor or ``scripted server``; ``command``
    records it again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    file: Annotated[str, Field(pattern=_INSIDE)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    interactions: Annotated[int, Field(ge=1)]
    source: _Text
    sdk: _Text
    sdk_version: _Text
    date: date
    command: _Text
    scrubbing: Scrubbing = Scrubbing()


class Manifest(BaseModel):
    """The entries of a folder, in its file's order.

    ``other`` names the folders beside the cassettes, and says what they hold.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    version: Literal[1]
    other: dict[str, _Text] = Field(default_factory=dict[str, _Text])
    cassette: Annotated[tuple[ManifestEntry, ...], Field(strict=False)] = ()


def read_manifest(folder: Path) -> Manifest:
    """Return what the manifest says; raises a ManifestError."""
    try:
        text = (folder / NAME).read_text("utf-8")
    except FileNotFoundError as error:
        raise NoManifestError(NAME) from error
    except UnicodeDecodeError as error:
        raise _invalid(unread(error, "TOML")) from error
    try:
        manifest = Manifest.model_validate(read_toml(text))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise _invalid(_problem(error)) from error
    twice = [
        file for file, n in Counter(e.file for e in manifest.cassette).items() if n > 1
    ]
    if twice:
        raise _invalid(f"two entries for {', '.join(twice)}")
    return manifest


def check(folder: Path) -> Manifest:
    """Check that the manifest tells the folder, and return it.

    Raises a ManifestError, a CassetteError for a file that cannot be played, and
    LeakError for one that holds what scrubbing would take out.
    """
    manifest = read_manifest(folder)
    if not manifest.cassette:
        raise ManifestError(f"{NAME} has no entry: record a cassette")
    _check_names(folder, manifest)
    for entry in manifest.cassette:
        _check_file(folder, entry)
    return manifest


def files_of(folder: Path) -> set[str]:
    """Return the files of a folder but the manifest and pages, by their path in it."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.name != NAME and path.suffix != ".md"
    }


def _check_names(folder: Path, manifest: Manifest) -> None:
    listed, present = {entry.file for entry in manifest.cassette}, files_of(folder)
    of_others = {each for each in present if each.partition("/")[0] in manifest.other}
    if unlisted := ", ".join(sorted(present - of_others - listed)):
        raise ManifestError(
            f"{NAME} has no entry for {unlisted}: add one, or remove the file"
        )
    empty = set(manifest.other) - {each.partition("/")[0] for each in of_others}
    if missing := ", ".join(sorted((listed - present) | empty)):
        raise ManifestError(
            f"{NAME} names {missing}, which is not there: record it, or remove the"
            " entry"
        )


def _check_file(folder: Path, entry: ManifestEntry) -> None:
    data = (folder / entry.file).read_bytes()
    if sha256(data).hexdigest() != entry.sha256:
        raise ChangedFileError(NAME, entry.file, "the hash differs")
    whole = parsed(data, entry.file)
    if len(whole.exchanges) != entry.interactions:
        problem = f"it holds {len(whole.exchanges)} interactions"
        raise ChangedFileError(NAME, entry.file, problem)
    if whole.metadata:
        raise ChangedFileError(NAME, entry.file, "it has metadata, which is not played")
    scrubber = Scrubber(fields=entry.scrubbing.fields)
    _check_clean(entry.file, whole.exchanges, scrubber)


def _check_clean(file: str, exchanges: Iterable[Exchange], scrubber: Scrubber) -> None:
    for number, exchange in enumerate(exchanges, 1):
        if scrubber.exchange(exchange) != exchange:
            raise LeakError(file, f"interaction {number}")


def entry_text(entry: ManifestEntry) -> str:
    """Return an entry as TOML, to be added to the manifest."""
    fields = entry.model_dump(mode="json", exclude={"scrubbing"})
    lines = [f"{name} = {_toml(value)}" for name, value in fields.items()]
    lines[list(fields).index("date")] = f"date = {entry.date.isoformat()}"
    rules = entry.scrubbing.model_dump(mode="json")
    named = ", ".join(f"{name} = {_toml(value)}" for name, value in rules.items())
    return "\n".join(["[[cassette]]", *lines, f"scrubbing = {{ {named} }}", ""])


def manifest_text(manifest: Manifest) -> str:
    """Return a whole manifest as TOML, as ``read_manifest`` reads it."""
    other = [f"{_toml(name)} = {_toml(text)}" for name, text in manifest.other.items()]
    folders = ["\n".join(["[other]", *other, ""])] if other else []
    entries = map(entry_text, manifest.cassette)
    return "\n".join([f"version = {manifest.version}\n", *folders, *entries])


def hash_of(path: Path) -> str:
    """Return the hash of a file as an entry tells it."""
    return sha256(path.read_bytes()).hexdigest()


def _toml(value: object) -> str:
    # What TOML and JSON write alike: texts, whole numbers, arrays of these.
    return json.dumps(value)


def _invalid(problem: str) -> ManifestError:
    return ManifestError(f"{NAME}: {problem}: see docs/cassettes.md for its entries")


def _problem(error: tomllib.TOMLDecodeError | ValidationError) -> str:
    """Return what is wrong, without the value, in one line."""
    if isinstance(error, tomllib.TOMLDecodeError):
        return f"no TOML ({error})"
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {problem(first['msg'])}"

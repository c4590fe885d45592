"""A corpus as a file: a scenario a line, with its hash and where it comes from.

JSON lines, compressed by gzip: a first line that says what it is, an entry a line, and
a last line with their number and digest, so that a file that was cut off is told. It is
written and read line by line, so a million entries take no more memory than one.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Final

from compat.spreading import UnitData
from refengine.testing.given_text import read_json
from refengine.testing.json_values import is_mapping
from refengine.testing.notation import CALL_START
from refengine.testing.scenario import Scenario

FORMAT: Final = "refengine-corpus"
VERSION: Final = 1
END: Final = "end"
_LEVEL: Final = 3
"""Of gzip's compression: higher ones take twice as long, for a tenth less."""


class CorpusFileError(ValueError):
    """A file that is not a corpus, or not all of one."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        super().__init__(f"{path}: {problem}")


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """One scenario of a corpus, as JSON, with what is known of it.

    ``source`` names the file and the place in it, ``stratum`` the kind of session it
    is, by which samples are drawn. ``exercised`` are the clauses that it decides on the
    reference engine, and ``branches`` those that it takes of a subject; None where
    nobody has looked.
    """

    scenario: Mapping[str, Any]
    source: str
    kind: str
    stratum: str
    exercised: tuple[str, ...] | None = None
    branches: tuple[str, ...] | None = None
    hash: str = field(default="")

    def __post_init__(self) -> None:
        if not self.hash:
            object.__setattr__(self, "hash", hash_of(self.scenario))

    @property
    def line(self) -> str:
        """The entry as a line of JSON."""
        data: dict[str, Any] = {
            "hash": self.hash,
            "from": self.source,
            "kind": self.kind,
            "stratum": self.stratum,
        }
        if self.exercised is not None:
            data["exercised"] = list(self.exercised)
        if self.branches is not None:
            data["branches"] = list(self.branches)
        return json.dumps({**data, "scenario": self.scenario}, separators=(",", ":"))

    def with_exercised(self, clauses: Iterable[str]) -> CorpusEntry:
        """Return it with the clauses that it decides."""
        return replace(self, exercised=tuple(sorted(clauses)))

    def with_branches(self, branches: Iterable[str]) -> CorpusEntry:
        """Return it with the branches of a subject that it takes."""
        return replace(self, branches=tuple(branches))


def answered_parts(
    entries: Iterable[CorpusEntry],
    size: int,
    answers: Callable[[Iterator[Sequence[CorpusEntry]]], Iterator[UnitData]],
) -> Iterator[tuple[Sequence[CorpusEntry], UnitData]]:
    """Yield so many entries at a time, each part with its answer, in their order.

    ``answers`` has parts played, in their order. No more entries are held than are
    under way.
    """
    taken: deque[Sequence[CorpusEntry]] = deque()

    def parts() -> Iterator[Sequence[CorpusEntry]]:
        reading = iter(entries)
        while part := list(islice(reading, size)):
            taken.append(part)
            yield part

    for answer in answers(parts()):
        yield taken.popleft(), answer


def hash_of(scenario: Mapping[str, Any]) -> str:
    """Return the first 32 hexadecimal digits of the SHA-256 of canonical JSON."""
    text = json.dumps(scenario, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:32]


def entry_of(scenario: Scenario, source: str, kind: str) -> CorpusEntry:
    """Return a scenario as an entry."""
    data = scenario.model_dump(mode="json", exclude_defaults=True)
    return CorpusEntry(data, source, kind, stratum_of(scenario, data))


def stratum_of(scenario: Scenario, data: Mapping[str, Any]) -> str:
    """Return which kind of session it is: how many turns and calls, what stops it."""
    calls = len(CALL_START.findall(json.dumps(data.get("model_script", ()))))
    told = [f"turns {_about(len(scenario.runs))}", f"calls {_about(calls)}"]
    if scenario.keeps:
        told.append("kept")
    if any(each.cancel for each in scenario.runs):
        told.append("cancelled")
    return ", ".join(told)


def _about(number: int) -> str:
    """Return the range between powers of two that a number is in."""
    if number < 2:
        return str(number)
    low = 1 << (number.bit_length() - 1)
    return f"{low}-{2 * low - 1}"


@dataclass(frozen=True, slots=True)
class SampledFrom:
    """What a sample was drawn from: so many entries, and what a clean one promises.

    At a confidence of 95 %, no more than the share ``bound`` of them diverges if none
    of the sample does.
    """

    entries: int
    bound: float


@dataclass(frozen=True, slots=True)
class CorpusWritten:
    """What was written: so many entries, and the digest of their hashes in order."""

    entries: int
    digest: str


def write_entries(
    path: Path,
    entries: Iterable[CorpusEntry],
    sample: SampledFrom | None = None,
) -> CorpusWritten:
    """Write a corpus; the file is there when it is whole, and not before.

    ``sample`` says of what it is a sample. Raises OSError, and whatever ``entries``
    raises.
    """
    begun = path.with_name(f"{path.name}.part")
    digest, count = sha256(), 0
    try:
        with (
            begun.open("wb") as raw,
            gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as out,
        ):
            of = {} if sample is None else {"sample": asdict(sample)}
            out.write(_line({FORMAT: VERSION, **of}))
            for each in entries:
                out.write(each.line.encode() + b"\n")
                digest.update(each.hash.encode())
                count += 1
            written = CorpusWritten(count, digest.hexdigest())
            out.write(_line({END: count, "digest": written.digest}))
        begun.replace(path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(begun)  # noqa: PTH108  # of what was not finished
    return written


def _line(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data).encode() + b"\n"


def is_corpus(path: Path) -> bool:
    """Tell whether a file begins as a corpus does; raises OSError."""
    try:
        with gzip.open(path) as file:
            return file.read(len(FORMAT) + 4).startswith(f'{{"{FORMAT}"'.encode())
    except (gzip.BadGzipFile, EOFError):
        return False


def sample_of(path: Path) -> SampledFrom | None:
    """Return of what a corpus is a sample, None if of nothing; as ``read_entries``."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = read_json(next(file)).get("sample")
    return None if found is None else SampledFrom(found["entries"], found["bound"])


def read_entries(path: Path) -> Iterator[CorpusEntry]:
    """Yield the entries of a corpus; raises CorpusFileError or OSError."""
    if not is_corpus(path):
        raise CorpusFileError(
            path,
            "is not a corpus: refengine corpus import makes one of chats, cassettes,"
            " spans and scenarios",
        )
    digest, count, told = sha256(), 0, None
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            _check_version(path, next(file))
            # Up to the end of the file, where gzip looks whether all of it is there.
            for number, line in enumerate(file, 2):
                data = read_json(line)
                if told is None and is_mapping(data) and END in data:
                    told = data
                    continue
                entry = _entry(data, path, number)
                digest.update(entry.hash.encode())
                count += 1
                yield entry
    except (EOFError, gzip.BadGzipFile, zlib.error, json.JSONDecodeError) as error:
        raise CorpusFileError(path, f"is cut off or broken ({error})") from error
    if told is None:
        raise CorpusFileError(path, f"is cut off after {count} entries")
    if (told[END], told.get("digest")) != (count, digest.hexdigest()):
        raise CorpusFileError(path, "its entries are not those told")


def _check_version(path: Path, line: str) -> None:
    found = read_json(line)[FORMAT]
    if found != VERSION:
        raise CorpusFileError(path, f"has version {found}, and {VERSION} is read here")


def _entry(data: object, path: Path, number: int) -> CorpusEntry:
    if not is_mapping(data) or not is_mapping(data.get("scenario")):
        raise CorpusFileError(path, f"line {number} is not an entry")
    exercised, branches = data.get("exercised"), data.get("branches")
    return CorpusEntry(
        data["scenario"],
        str(data["from"]),
        str(data["kind"]),
        str(data["stratum"]),
        None if exercised is None else tuple(exercised),
        None if branches is None else tuple(branches),
        str(data["hash"]),
    )

"""Known failures of engines, in a file: each with a reason, an issue and its world.

    [[failure]]
    clause = "TOOL-004"
    engine = "langchain"
    versions = ">=1.4,<2"      # or "*": every version
    kind = "bug"               # or "unsupported", "disagrees"
    reason = "Equal names are refused when the agent is built."
    issue = "https://example.org/issues/1"
    world = '''{"agent": {}, "runs": [{"input": ["user:a"]}]}'''

The pinned world alone decides: if the clause still fails in it the failure is known,
if not the entry is stale. So generated worlds may fail the clause in one corpus and
not in another, and nothing flakes. Entries are keyed on ids, never on a text of ours.

The world of a door to a dialect is one of that dialect, and says so: its ``subject``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, cast

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from property_tests.corpus import repeated
from property_tests.dialects.dialects import world_of_dialect
from property_tests.variants import CHANGES
from refengine.testing.given_text import problem, read_json, read_toml, unread
from refengine.testing.scenario_files import parse_scenario

EVERY: Final = "*"
TODO: Final = "TODO"
"""What ``baseline write`` puts where a person has to say something."""

Kind: TypeAlias = Literal["bug", "unsupported", "disagrees"]
_LINK: Final = re.compile(r"https?://[^\s/]+\.[^\s/]+(/\S*)?")


def _filled(given: object) -> object:
    if isinstance(given, str) and not given.strip():
        raise ValueError("say something here: it is empty")
    return given


Text: TypeAlias = Annotated[StrictStr, BeforeValidator(_filled)]


class KnownFailuresError(ValueError):
    """A file of known failures that cannot be used: which entries, what is right."""

    def __init__(self, path: Path, problems: Iterable[str]) -> None:
        self.path = path
        self.problems = tuple(problems)
        super().__init__("\n".join((f"{path}:", *(f"  {p}" for p in self.problems))))


class Known(BaseModel):
    """One entry. ``variant`` says in which one it failed; nothing is chosen by it.

    ``repeat`` says how often the last one of a list of the world's agent stands there.
    ``file`` and ``number`` say where it stands.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    number: int
    clause: Text
    engine: Text
    versions: Text
    kind: Kind
    reason: Text
    issue: Text
    repeat: Mapping[StrictStr, StrictInt] = Field(default_factory=dict[str, int])
    world: BaseModel
    variant: str = ""

    @property
    def where(self) -> str:
        """File and entry, for messages."""
        return f"{self.file}: {_entry(self.number, self.clause, self.engine)}"

    def covers(self, version: str) -> bool:
        """Tell whether it is about this version of its engine."""
        if self.versions == EVERY:
            return True
        try:
            range_ = SpecifierSet(self.versions, prereleases=True)
            return range_.contains(Version(version))
        except InvalidVersion:
            return False

    @field_validator("versions")
    @classmethod
    def _are_versions(cls, given: str) -> str:
        try:
            SpecifierSet("" if given == EVERY else given)
        except InvalidSpecifier:
            raise ValueError(
                f"{given!r} is not a range of versions: write '>=1.4,<2', or '*' for"
                " all"
            ) from None
        return given

    @field_validator("reason")
    @classmethod
    def _says_why(cls, given: str, info: ValidationInfo) -> str:
        if given.startswith(TODO) and not info.context:
            raise ValueError(f"{given!r} is still to be written: say why it fails")
        return given

    @field_validator("issue")
    @classmethod
    def _is_a_link(cls, given: str, info: ValidationInfo) -> str:
        if _LINK.fullmatch(given) or (info.context and given.startswith(TODO)):
            return given
        raise ValueError(f"{given!r} is not a link: give the issue's, as 'https://…'")

    @field_validator("world", mode="before")
    @classmethod
    def _is_a_world(cls, given: object, info: ValidationInfo) -> BaseModel:
        if not isinstance(given, str):
            raise ValueError("give the scenario as text: world = '''{…}'''")  # noqa: TRY004  # pydantic wants ValueError
        of_dialect = _of_dialect(given)
        if of_dialect is not None:
            return of_dialect
        often: Mapping[str, int] = info.data.get("repeat", {})
        return repeated(parse_scenario(given, "it"), often, "it")

    @field_validator("variant")
    @classmethod
    def _is_a_variant(cls, given: str) -> str:
        if given and given not in CHANGES:
            there = ", ".join(CHANGES)
            raise ValueError(f"{given!r} is not a variant; there are {there}")
        return given


@dataclass(frozen=True, slots=True)
class KnownFailures:
    """The entries of a file, or none."""

    entries: tuple[Known, ...] = ()

    def for_engine(self, name: str, version: str) -> tuple[Known, ...]:
        """Return the entries about this version of an engine."""
        return tuple(e for e in self.entries if e.engine == name and e.covers(version))


def joined_known(files: Iterable[KnownFailures]) -> KnownFailures:
    """Return the entries of files, each once: the same file may be there twice."""
    entries = {each.where: each for file in files for each in file.entries}
    return KnownFailures(tuple(entries.values()))


def read_known(path: Path, *, drafts: bool = False) -> KnownFailures:
    """Read a file of known failures; raises KnownFailuresError or OSError.

    With ``drafts`` an entry may still lack its reason and issue.
    """
    return parse_known(path.read_bytes(), path, drafts=drafts)


def parse_known(text: bytes, path: Path, *, drafts: bool = False) -> KnownFailures:
    """Read the text of a file of known failures; raises KnownFailuresError."""
    entries = _tables(text, path)
    found: list[Known] = []
    problems: list[str] = []
    for number, data in enumerate(entries, 1):
        try:
            found.append(_known(data, path, number, drafts=drafts))
        except ValidationError as error:
            problems += _problems(error, number, data)
    problems += _conflicts(found)
    if problems:
        raise KnownFailuresError(path, problems)
    return KnownFailures(tuple(found))


def _tables(text: bytes, path: Path) -> list[Mapping[str, Any]]:
    """Return the entries as they stand there."""
    try:
        data = read_toml(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise KnownFailuresError(path, [unread(error, "TOML")]) from None
    found = data.pop("failure", [])
    problems = [f"{key}: there is no such key; write [[failure]]" for key in data]
    if not isinstance(found, list):
        problems.append("failure: write [[failure]], in two brackets")
    if problems:
        raise KnownFailuresError(path, problems)
    return cast("list[Mapping[str, Any]]", found)


def _known(
    data: Mapping[str, Any], path: Path, number: int, *, drafts: bool
) -> Known:  # raises ValidationError
    given = {f"{key} " if key in {"file", "number"} else key: data[key] for key in data}
    placed = {**given, "file": str(path), "number": number}
    return Known.model_validate(placed, context=drafts or None)


def _of_dialect(text: str) -> BaseModel | None:
    """Return the world of the dialect that a text says it is of, None if of none."""
    try:
        found: object = read_json(text)
    except ValueError:
        return None  # what is wrong with it is told where a scenario is read
    if not isinstance(found, dict):
        return None
    data = cast("Mapping[str, Any]", found)
    return world_of_dialect(data)


def _problems(
    error: ValidationError, number: int, data: Mapping[str, Any]
) -> Iterator[str]:
    who = _entry(number, data.get("clause"), data.get("engine"))
    for each in error.errors(include_url=False):
        loc = ".".join(map(str, each["loc"])).strip()
        message = problem(each["msg"])
        if each["type"] == "extra_forbidden":
            keys = [key for key in Known.model_fields if key not in {"file", "number"}]
            message = f"there is no such key; there are {', '.join(keys)}"
        yield f"{who}: {loc}: {message}"


def _conflicts(entries: Iterable[Known]) -> Iterator[str]:
    for one, other in combinations(entries, 2):
        same = (one.clause, one.engine) == (other.clause, other.engine)
        if same and _overlap(one, other):
            defaults = {"number": 0, "versions": ""}
            equal = one.model_copy(update=defaults) == other.model_copy(update=defaults)
            what = "is there twice" if equal else "contradicts it"
            yield (
                f"{_entry(other.number, other.clause, other.engine)}: entry"
                f" {one.number} is about it for {one.versions!r}, and this {what} for"
                f" {other.versions!r}: keep one, or ranges that do not overlap"
            )


def _overlap(one: Known, other: Known) -> bool:
    """Tell whether both cover some version.

    Ranges that meet do so at, just above or just below a version that they name.
    """
    if EVERY in {one.versions, other.versions}:
        return True
    named = re.findall(r"\d[\w!+]*(?:\.\w+)*", f"{one.versions},{other.versions}")
    near = [n for each in named for n in (each, f"{each}.0.0.1", f"{each}.dev0")]
    return any(one.covers(each) and other.covers(each) for each in (*near, "0"))


def _entry(number: int, clause: object, engine: object) -> str:
    return f"entry {number} ({clause or 'no clause'}, {engine or 'no engine'})"

"""The registry: the contract as clauses, each one sentence with an id.

``contract.toml`` holds them, family by family, each with its source and whether it is
checked. An id is never given twice: a clause that is taken out stands under ``retired``
with the reason. The version is 0.x while statements of the seeds are still missing; 1.0
is frozen when all seeds are in.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from compat.verdicts.conformance import Level, Status
from property_tests.check import Check
from property_tests.dialects.table import DIALECTS
from refengine.postures import options_of
from refengine.profile import options
from refengine.testing.projection import Projection

FAMILIES: Final = (
    *("ORD", "INS", "TOOL", "RD", "MSG", "WRAP", "STR", "ERR", "CTX", "EVT", "RUN"),
    *("CONC", "DEEP", "EXT", "COMPAT", "SER", "INT", "SURF", "STO"),
    *(each.family for each in DIALECTS),
)
"""The families of clauses, in the order they are shown."""

_ID: Final = re.compile(r"([A-Z]+)-(\d{3})")
_NEARLY_ID: Final = re.compile(r"([A-Z]+)[-_ ]?(\d{1,9})", re.ASCII)
_SECOND_SENTENCE: Final = re.compile(r"[.!?]\s+[A-Z]")
_WISH: Final = re.compile(r"\b(?:should|must|shall)\b", re.IGNORECASE)


class Frozen(BaseModel):
    """A value of the file: nothing in it is unknown, and nothing changes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SeedSource(Frozen):
    """A section of a seed, whose text is in ``docs/seeds``, with a short quote."""

    seed: str
    section: str
    quote: str

    def __str__(self) -> str:
        return f"seed {self.seed} {self.section}: “{self.quote}”"


class UpstreamSource(Frozen):
    """A file of an upstream project, at a version."""

    project: str
    version: str
    file: str
    quote: str = ""

    def __str__(self) -> str:
        quote = f": “{self.quote}”" if self.quote else ""
        return f"{self.project} {self.version}, {self.file}{quote}"


class OwnSource(Frozen):
    """A decision of the contract, where neither seed nor upstream speaks."""

    decision: str

    def __str__(self) -> str:
        return f"decided: {self.decision}"


Source: TypeAlias = SeedSource | UpstreamSource | OwnSource


class NamedChange(Frozen):
    """A small change of the engine: a function with its module, and what becomes what.

    ``refengine mutant made`` lists them.
    """

    function: str
    change: str


class Clause(Frozen):
    """One statement of the contract. ``why`` says why it is not checked, if it is not.

    ``postures`` are the points of a profile on which the expected behaviour depends;
    ``needs`` are capabilities, and ``under`` options of postures, without which it does
    not apply. ``compares`` is what of an engine's trace is that of the reference, in
    ``worlds`` that meet these conditions (``refengine.testing.projection``); a clause
    without it has a check in code. ``made`` are small changes of the engine that it
    notices. ``since`` is the version of the contract in which it came.
    """

    id: str
    level: Level
    sentence: str
    intent: str
    source: Source
    status: Status
    why: str = ""
    postures: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    worlds: tuple[str, ...] = ()
    under: Mapping[str, tuple[str, ...]] = {}
    compares: tuple[Projection, ...] = ()
    made: tuple[NamedChange, ...] = ()
    since: str = "0.1"

    @property
    def family(self) -> str:
        """The family it belongs to: ``ORD`` of ``ORD-001``."""
        return self.id.partition("-")[0]

    @field_validator("id")
    @classmethod
    def _is_an_id(cls, given: str) -> str:
        return _an_id(given)

    @field_validator("sentence")
    @classmethod
    def _is_one_statement(cls, given: str) -> str:
        if not given.endswith(".") or _SECOND_SENTENCE.search(given):
            raise ValueError("a clause is one sentence and ends with a full stop")
        if wish := _WISH.search(given):
            raise ValueError(f"a clause says what is, without {wish.group()!r}")
        return given

    @field_validator("postures")
    @classmethod
    def _are_postures(
        cls, given: tuple[str, ...], about: ValidationInfo
    ) -> tuple[str, ...]:
        known = _postures_of(str(about.data.get("id", "")).partition("-")[0])
        for each in given:
            if each not in known:
                close = difflib.get_close_matches(each, known, n=1)
                hint = f", did you mean {close[0]!r}?" if close else ""
                raise ValueError(f"{each!r} is not a posture of a profile{hint}")
        return given


def _postures_of(family: str) -> Iterable[str]:
    """Return the postures of the kind of profile that a family is judged under."""
    for each in DIALECTS:
        if each.family == family:
            module, _, name = each.profiles.partition(":")
            return options_of(getattr(import_module(module), name))
    return options()


class Retired(Frozen):
    """An id that once was a clause's, and why it is no more."""

    id: str
    why: str

    @field_validator("id")
    @classmethod
    def _is_an_id(cls, given: str) -> str:
        return _an_id(given)


def _padded(given: str, known: Sequence[str]) -> list[str]:
    """Return the id that only differs in how its number is written, as ORD-1 does."""
    match = _NEARLY_ID.fullmatch(given.strip().upper())
    id_ = f"{match[1]}-{int(match[2]):03}" if match else ""
    return [id_] if id_ in known else []


def _an_id(given: str) -> str:
    match = _ID.fullmatch(given)
    if match is None or match[1] not in FAMILIES:
        raise ValueError(
            f"an id is one of {', '.join(FAMILIES)} and three digits, as ORD-001"
        )
    return given


__all__ = [
    "FAMILIES",
    "FILE",
    "Clause",
    "Contract",
    "ContractError",
    "Frozen",
    "OwnSource",
    "Retired",
    "SeedSource",
    "UnknownSelectorError",
    "UpstreamSource",
    "contract",
    "families",
    "read_contract",
    "read_entry",
    "unmatched",
]

FILE: Final = Path(__file__).with_name("contract.toml")

Value = TypeVar("Value", bound=Frozen)


class ContractError(ValueError):
    """The file of the contract is not what it has to be; says where and what."""

    def __init__(self, where: str, what: str) -> None:
        self.where = where
        self.what = what
        super().__init__(f"{where}: {what}")


class UnknownSelectorError(LookupError):
    """A selector chooses no clause; names those that are written nearly so."""

    def __init__(self, selector: str, known: Sequence[str]) -> None:
        self.selector = selector
        close = _padded(selector, known) or difflib.get_close_matches(
            selector.upper(), known, n=3
        )
        self.close = tuple(close)
        nearly = f"did you mean {', '.join(self.close)}?" if self.close else ""
        if selector.upper() in FAMILIES:
            listed = f"refengine clause list --clause {selector.upper()}"
            nearly = f"that is a family, which '{listed}' lists"
        hint = nearly or "'refengine clause list' shows all"
        super().__init__(f"no clause matches {selector!r}; {hint}")


class EverythingExcludedError(ValueError):
    """What is to be left out leaves nothing of what is chosen."""

    def __init__(self, without: Sequence[str]) -> None:
        self.without = tuple(without)
        super().__init__(
            f"nothing is left to be judged without {', '.join(without)}: exclude less"
        )


class Contract(Frozen):
    """All clauses, in the order of their ids, and the ids that are given no more."""

    version: str
    clauses: tuple[Clause, ...]
    retired: tuple[Retired, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all clauses."""
        return tuple(each.id for each in self.clauses)

    @property
    def checked(self) -> tuple[Clause, ...]:
        """The clauses that a check decides."""
        return tuple(each for each in self.clauses if each.status == "checked")

    def clause(self, id_: str) -> Clause:
        """Return the clause of that id, in any case; raises UnknownSelectorError."""
        wanted = id_.strip().upper()
        for each in self.clauses:
            if each.id == wanted:
                return each
        raise UnknownSelectorError(id_, self.ids)

    def select(
        self,
        words: Sequence[str] = (),
        without: Sequence[str] = (),
    ) -> tuple[Clause, ...]:
        """Return the clauses that some word chooses; all if none is given.

        A word, in any case, is an id, or chooses the ids that begin with it, so that RD
        is not found in ORD, or else those that have it anywhere. The words of
        ``without`` take clauses out again. Raises UnknownSelectorError for one that
        matches nothing, and EverythingExcludedError.
        """
        chosen = {id_ for each in words for id_ in self.matching(each)}
        if not words:
            chosen.update(self.ids)
        left = chosen.difference(*(self.matching(each) for each in without))
        if not left:
            raise EverythingExcludedError(without)
        return tuple(each for each in self.clauses if each.id in left)

    def taken_out(
        self, words: Sequence[str], without: Sequence[str]
    ) -> Mapping[str, int]:
        """Return how many of the chosen clauses each word of ``without`` takes out."""
        chosen = {each.id for each in self.select(words)}
        return {each: len(chosen.intersection(self.matching(each))) for each in without}

    def matching(self, word: str) -> list[str]:
        """Return the ids that a word chooses; raises UnknownSelectorError if none."""
        prefix = word.strip().upper()
        begin = [each for each in self.ids if each.startswith(prefix)]
        found = begin or [each for each in self.ids if prefix in each]
        if not prefix or not found:
            families = {each.family for each in self.clauses}
            raise UnknownSelectorError(word, (*sorted(families), *self.ids))
        return found


@cache
def contract() -> Contract:
    """Return the contract that comes with the package."""
    return read_contract(FILE.read_text("utf-8"), FILE.name)


def read_contract(text: str, where: str) -> Contract:
    """Read and validate the text of a contract; raises ContractError."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ContractError(where, f"is not TOML: {error}") from error
    clauses = [read_entry(Clause, each, where) for each in data.pop("clause", ())]
    retired = [read_entry(Retired, each, where) for each in data.pop("retired", ())]
    found = read_entry(
        Contract, {**data, "clauses": clauses, "retired": retired}, where
    )
    for each in found.clauses:
        _check_clause(each, where)
    _check_order(found, where)
    return found


def unmatched(found: Contract, checks: Iterable[Check]) -> tuple[str, ...]:
    """Return what does not fit between clauses and checks, a sentence each.

    Every clause with status ``checked`` has exactly one check, and no other has any.
    """
    decided = [each.clause for each in checks]
    by_id = {each.id: each for each in found.clauses}
    return (
        *(f"{each.id} is checked, but no check decides it"
          for each in found.checked if each.id not in decided),
        *(f"a check decides {each}, which is not a clause"
          for each in dict.fromkeys(decided) if each not in by_id),
        *(f"a check decides {each}, which is {by_id[each].status}"
          for each in dict.fromkeys(decided)
          if each in by_id and by_id[each].status != "checked"),
        *(f"{decided.count(each)} checks decide {each}"
          for each in dict.fromkeys(decided) if decided.count(each) > 1),
    )  # fmt: skip


def read_entry(kind: type[Value], data: Mapping[str, object], where: str) -> Value:
    """Return a value of this kind; raises ContractError that names the entry."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        whose = data.get("id", "entry")
        first = error.errors(include_url=False)[0]
        path = ".".join(map(str, first["loc"]))
        raise ContractError(where, f"{whose}, {path}: {first['msg']}") from error


def _check_clause(clause: Clause, where: str) -> None:
    if (clause.status == "checked") == bool(clause.why):
        mistake = "has no 'why'" if clause.status == "checked" else "says why"
        raise ContractError(where, f"{clause.id} is {clause.status}, and so {mistake}")
    if not clause.intent or not clause.sentence:
        raise ContractError(where, f"{clause.id} has no intent")


def _check_order(found: Contract, where: str) -> None:
    orders = [place_of(each) for each in found.ids]
    for before, after in zip(found.clauses, found.clauses[1:], strict=False):
        if place_of(before.id) >= place_of(after.id):
            why = "is there twice" if before.id == after.id else f"is after {before.id}"
            raise ContractError(where, f"{after.id} {why}: ids go up, in families")
    for each in found.retired:
        if place_of(each.id) in orders:
            raise ContractError(where, f"{each.id} is retired, and not given again")


def place_of(id_: str) -> tuple[int, int]:
    """Return where an id stands: its family among all, and its number."""
    family, _, number = id_.partition("-")
    return FAMILIES.index(family), int(number)


def families(clauses: Iterable[Clause]) -> Iterator[tuple[str, tuple[Clause, ...]]]:
    """Yield each family that has clauses among these, with them."""
    known = tuple(clauses)
    for family in FAMILIES:
        if mine := tuple(each for each in known if each.family == family):
            yield family, mine

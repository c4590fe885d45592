"""What a clause is: a sentence with an id, its source, and whether it is checked."""

from __future__ import annotations

import difflib
import re
from typing import Final, TypeAlias

from pydantic import BaseModel, ConfigDict, field_validator

from compat.verdicts.conformance import Level, Status
from refengine.profile import options

FAMILIES: Final = (
    *("ORD", "INS", "TOOL", "RD", "MSG", "WRAP", "STR", "ERR", "CTX", "EVT", "RUN"),
    *("CONC", "DEEP", "EXT", "COMPAT", "SER", "INT", "SURF"),
)
"""The families of clauses, in the order they are shown."""

_ID: Final = re.compile(r"([A-Z]+)-(\d{3})")
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


class Clause(Frozen):
    """One statement of the contract. ``why`` says why it is not checked, if it is not.

    ``postures`` are the points of a profile on which the expected behaviour depends;
    ``since`` is the version of the contract that brought it.
    """

    id: str
    level: Level
    sentence: str
    intent: str
    source: Source
    status: Status
    why: str = ""
    postures: tuple[str, ...] = ()
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
    def _are_postures(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for each in given:
            if each not in options():
                close = difflib.get_close_matches(each, options(), n=1)
                hint = f", did you mean {close[0]!r}?" if close else ""
                raise ValueError(f"{each!r} is no posture of a profile{hint}")
        return given


class Retired(Frozen):
    """An id that once was a clause's, and why it is no more."""

    id: str
    why: str

    @field_validator("id")
    @classmethod
    def _is_an_id(cls, given: str) -> str:
        return _an_id(given)


def _an_id(given: str) -> str:
    match = _ID.fullmatch(given)
    if match is None or match[1] not in FAMILIES:
        raise ValueError(
            f"an id is one of {', '.join(FAMILIES)} and three digits, as ORD-001"
        )
    return given

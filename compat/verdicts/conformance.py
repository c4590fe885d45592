"""What a judgement of an engine says: one stream of events, from header to footer.

Every report reads these and nothing else: terminal, JSON, JUnit, Markdown, HTML. The
stream as a file is one JSON object a line; a file without its footer was cut off.
Times, paths and versions stand in the header alone, so that the digest, which covers
all else, is the same for the same engines, corpus and contract (verdicts).
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue

VERSION: Final = 1
THIN: Final = 30
"""A clause that passes in fewer worlds is marked, if all worlds were generated."""

Verdict: TypeAlias = Literal["pass", "fail", "not-applicable", "blocked", "error"]
"""Only ``pass`` is a pass; blocked counts as a failure (verdicts, Conformance)."""
VERDICTS: Final[tuple[Verdict, ...]] = (
    "pass",
    "fail",
    "not-applicable",
    "blocked",
    "error",
)
Level: TypeAlias = Literal["MUST", "SHOULD", "MAY"]
Status: TypeAlias = Literal["checked", "planned", "untestable"]


class Event(BaseModel):
    """One line of the stream: frozen, and nothing in it is unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StreamHeader(Event):
    """What was asked for, and of what; the only place of times and versions."""

    event: Literal["header"] = "header"
    version: Literal[1] = VERSION
    subject: Literal["engine", "store"] = "engine"
    """What is judged; a store is told of as an engine is, without a profile."""
    contract: str
    corpus: str
    """SHA-256 of the corpus."""
    seed: int
    worlds: int
    fixed: int
    recorded: int = 0
    """So many are fixed cases, so many recorded sessions; the others are generated."""
    told: tuple[str, ...] = ()
    """What a reader has to know, such as that generated worlds were not run."""
    engines: tuple[str, ...]
    selected: tuple[str, ...]
    """The ids of the clauses that are judged."""
    excluded: dict[str, int] = {}
    """Each word that took clauses out of them, and how many."""
    versions: dict[str, str] = {}
    """The version of each engine that tells one."""
    tool: str = ""
    python: str = ""
    started: str = ""
    command: str = ""


class ClauseInfo(Event):
    """One clause of the contract, for whoever reads a report and not the registry."""

    event: Literal["clause"] = "clause"
    id: str
    family: str
    level: Level
    status: Status
    sentence: str
    why: str = ""
    """Why it is not checked, if it is not."""


class EngineInfo(Event):
    """An engine before it is judged: what it says of itself, and what probes found."""

    event: Literal["engine"] = "engine"
    engine: str
    profile: str
    capabilities: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    """Declared, but the probe did not find it."""
    undeclared: tuple[str, ...] = ()
    """Found by its probe, but not declared."""


class SmokeResult(Event):
    """A check of the first stage, whose failure means that the door is wrong."""

    event: Literal["smoke"] = "smoke"
    engine: str
    name: str
    passed: bool
    asked: str
    got: str = ""


class Progress(Event):
    """How far it has come; live only, in no file and in no digest."""

    event: Literal["progress"] = "progress"
    engine: str
    done: int
    worlds: int
    failing: int
    """So many clauses fail so far."""


class SeenLine(Event):
    """An observation near the one that decided, in a line; ``mark`` is ``>`` there."""

    mark: Literal[">", " "]
    text: str


class FirstDivergence(Event):
    """Where an engine first does otherwise than the reference engine, in a world."""

    sign: str
    """What differs there, without its values: failures of one sign go together."""
    expected: JsonValue
    """What the reference engine does there."""
    got: JsonValue


class ClauseFailure(Event):
    """The first failing decision of a clause, in the smallest world found for it.

    Of a clause that is blocked: where the engine stops in a world that would let its
    check decide.
    """

    event: Literal["failure"] = "failure"
    variant: str
    asked: str
    """What the check asked for at the deciding observation, in words."""
    expected: JsonValue
    got: JsonValue
    path: str = ""
    """Where in the two values they first differ."""
    around: tuple[SeenLine, ...] = ()
    scenario: dict[str, JsonValue]
    """The smallest world found, without defaults."""
    played: dict[str, JsonValue] | None = None
    """The same as the variant has it, where it differs."""
    how: str = ""
    """What the variant is, in words."""
    divergence: FirstDivergence | None = None
    reproduce: str = ""
    """The command that shows it again."""


class ClauseResult(Event):
    """The verdict on one clause for one engine."""

    event: Literal["verdict"] = "verdict"
    engine: str
    clause: str
    level: Level
    verdict: Verdict
    worlds: int = 0
    """So many worlds let the check decide."""
    failing: int = 0
    """In so many of them it decided against the engine."""
    recorded: int = 0
    """So many of the worlds that decide are recorded sessions, or made of them."""
    reason: str = ""
    """Why it does not apply, was blocked, or could not be judged."""
    blocked_by: str = ""
    """The failing clause that likely blocks it; empty if none is near."""
    thin: bool = False
    """Whether it passes in so few worlds that a fault may have been missed."""
    known: Literal["", "known", "stale"] = ""
    """Whether the failure is listed as known; stale: it is, and no longer fails."""
    known_reason: str = ""
    known_issue: str = ""
    failure: ClauseFailure | None = None


class Breakdown(Event):
    """The engine, its door or the harness broke down: not a matter of a clause."""

    event: Literal["fault"] = "fault"
    engine: str
    whose: Literal["engine", "door", "harness", "known-failures"]
    text: str

    @property
    def headline(self) -> str:
        """What is the matter, in a few words."""
        if self.whose == "known-failures":
            return "an entry of the known failures is of no use"
        return f"the {self.whose} broke down"


class LikelyCause(Event):
    """A clause that fails, and others whose worlds begin to differ in the same way.

    Likely is all it is: nobody proves that one fault makes all of them fail.
    """

    clause: str
    sign: str
    behind: tuple[str, ...]


class EngineSummary(Event):
    """What all verdicts on an engine come to."""

    event: Literal["summary"] = "summary"
    engine: str
    profile: str
    clauses: int
    """The clauses that were chosen."""
    checked: int
    """Those of them that a check decides: so many verdicts there are."""
    verdicts: dict[Verdict, int]
    """Without the known failures; with them they come to ``checked``."""
    conformant: bool
    known: int = 0
    stale: int = 0
    """So many that pass are listed as known failures."""
    thin: tuple[str, ...] = ()
    """The clauses that pass in fewer than ``THIN`` worlds."""
    causes: tuple[LikelyCause, ...] = ()
    expected: int = 0
    """So many checks were to run; ``never`` names those that no world let decide."""
    run: int = 0
    recorded: int = 0
    """So many of the clauses that were decided rest on recorded worlds, too."""
    never: tuple[str, ...] = ()
    refused: int = 0
    """So many worlds were not played, because they need undeclared capabilities."""


class Footer(Event):
    """The end of the stream. Without it nothing that stands before it counts."""

    event: Literal["footer"] = "footer"
    exit_code: int
    digest: str
    """SHA-256 of all lines between header and footer."""


AnyEvent: TypeAlias = Annotated[
    StreamHeader
    | ClauseInfo
    | EngineInfo
    | SmokeResult
    | Progress
    | ClauseResult
    | Breakdown
    | EngineSummary
    | Footer,
    Field(discriminator="event"),
]

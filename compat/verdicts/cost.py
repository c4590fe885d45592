"""What a benchmark says: costs beside what they are compared with, and how sure it is.

Every report reads these and nothing else. All times are seconds, all sizes bytes, all
intervals hold with 99 %. A cost whose run did not do the work that it is measured for
has no numbers: it is ``blocked``, with the clause that was not kept. Correctness first.
"""

from __future__ import annotations

from typing import Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict

VERSION: Final = 1
CONFIDENCE: Final = 0.99

Shape: TypeAlias = Literal["constant", "linear", "n log n", "quadratic"]
SHAPES: Final[tuple[Shape, ...]] = ("constant", "linear", "n log n", "quadratic")
Floor: TypeAlias = Literal[
    "bare Python", "no handlers", "native", "against", "without it", "plain"
]
"""What a cost stands over: a bare loop or onion written by hand, the engine with no
handler, the engine with struct middlewares as they are, the subject that was given as
--against, all others of the subject without this handler, the same run of a framework
without the setup."""
Section: TypeAlias = Literal[
    "hooks", "axes", "corners", "forms", "subject", "handlers", "observed"
]
Unit: TypeAlias = Literal["handlers", "chunks"]
"""Of what a run has more and more."""
Change: TypeAlias = Literal["dearer", "cheaper", "not distinguishable"]


class Part(BaseModel):
    """A piece of a report: frozen, and nothing in it is unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Estimate(Part):
    """A value and the interval that holds it with 99 %."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Estimate:
        """Return it in another unit; ``factor`` is positive."""
        return Estimate(
            value=self.value * factor, low=self.low * factor, high=self.high * factor
        )


class Blocked(Part):
    """Why a cost has no numbers: the clause that its run did not keep, and how."""

    clause: str | None = None
    """None where no clause is to blame: the run raised, or cannot be set up."""
    why: str


class Compared(Part):
    """A cost over one floor, from samples of both that took turns."""

    floor: Floor
    floor_seconds: float
    seconds: float
    ratio: Estimate
    per_handler: Estimate | None = None
    """Seconds a run that one handler takes more than this floor; None for none."""
    change: Change
    """Against 1, and against the noise of the same process: see ``Costs.noise``."""


class Missing(Part):
    """A floor that a cost does not stand over, and why."""

    floor: Floor
    why: str


class Memory(Part):
    """What one run holds, more than before it.

    ``peak`` and ``left`` are bytes, at its peak and when its result was let go.
    ``blocks`` are pieces of memory that are in use where the model or the tool runs,
    whichever has more; no run, no blocks.
    """

    peak: int
    left: int
    blocks: int


class Cost(Part):
    """One row: what was run, and what it costs over each floor."""

    key: str
    """Names the row in every report: ``bench compare`` joins by it."""
    section: Section
    name: str
    n: int
    history: int
    tools: int
    compared: tuple[Compared, ...] = ()
    missing: tuple[Missing, ...] = ()
    memory: Memory | None = None
    blocked: Blocked | None = None


class HookCost(Part):
    """What one hook of one of the user's handlers takes itself, without what it calls.

    ``share`` is of what all hooks of the subject take; ``change`` is against a hook
    that does nothing, measured by the same probe.
    """

    handler: str
    hook: str
    calls: int
    """Calls in one run."""
    seconds: Estimate
    """Of one call."""
    share: float
    change: Change


class GrowthPoint(Part):
    """A run with ``n`` handlers, in seconds."""

    n: int
    seconds: float
    bare_seconds: float | None = None
    """The hand-written equal; None above the depth where plain Python cannot run it.
    With a setup it is the same run without it."""


class Fit(Part):
    """A shape laid through the points; ``error`` is the mean relative distance."""

    shape: Shape
    error: float


class Growth(Part):
    """How a run grows with the number of handlers of one kind."""

    name: str
    points: tuple[GrowthPoint, ...]
    slope: Estimate | None
    """Seconds that one more handler adds to a run."""
    bare_slope: Estimate | None = None
    fits: tuple[Fit, ...] = ()
    shape: Shape | None = None
    """The simplest shape that fits as well as any; None if blocked."""
    memory_slope: float | None = None
    """Bytes that one more handler adds to the peak of a run."""
    blocked: Blocked | None = None
    unit: Unit = "handlers"
    rise: Estimate | None = None
    """With a setup: how many times as large the ratio to the plain run is with most of
    them as with fewest."""
    faster: bool = False
    """Whether that is more than the noise: it grows faster than the work."""


class CostFailure(Part):
    """From how many handlers on a peer fails, and how.

    ``silent`` is a run that ends as if all were well, and did not do its work.
    """

    n: int
    how: Literal["exception", "silent", "killed", "too slow"]
    what: str


class PeerCost(Part):
    """One kind of hook of another framework, beside ours that does the same.

    A base run is one tool call and two model calls without handlers, over the run
    written by hand. ``per_handler`` is seconds a run; ``over_bare`` is that over what
    the bare loop or onion takes for one, ``over_ours`` over what our engine takes.
    """

    peer: str
    version: str
    hook: str
    ours: str
    """The hook of ours that does the same."""
    base_seconds: float | None = None
    base_over_bare: Estimate | None = None
    base_over_ours: Estimate | None = None
    per_handler: Estimate | None = None
    over_bare: Estimate | None = None
    over_ours: Estimate | None = None
    fails: CostFailure | None = None
    tried: int = 0
    """No failure up to so many handlers, where ``fails`` is None."""
    memory: float | None = None
    """Bytes that one handler adds to the peak of a run."""
    points: tuple[GrowthPoint, ...] = ()
    blocked: Blocked | None = None
    own: bool = False
    """whether it is a dialect of this house, and no other framework"""


class Absent(Part):
    """A peer that is not installed, or cannot be imported."""

    peer: str
    why: str


class Bar(Part):
    """A limit that is held, or not; ``holds`` is None where it was not measured."""

    name: str
    ratio: float | None
    limit: float
    holds: bool | None
    why: str = ""


class CostHeader(Part):
    """What was asked for, and on what it was measured."""

    version: Literal[1] = VERSION
    tool: str
    machine: dict[str, str]
    command: str
    quick: bool
    subject: str | None = None
    against: str | None = None
    setup: str | None = None
    started: str = ""
    seconds: float = 0.0


class CostNoise(Part):
    """What two equal sides were told to differ by, in the same process.

    ``ratio`` is of a side to itself: what lies nearer to 1 than its further end is not
    distinguishable.
    """

    ratio: Estimate
    band: float
    """So far from 1, as a share, nothing is told apart."""


class Costs(Part):
    """All that one ``bench run`` found."""

    header: CostHeader
    noise: CostNoise
    costs: tuple[Cost, ...] = ()
    hooks: tuple[HookCost, ...] = ()
    growth: tuple[Growth, ...] = ()
    peers: tuple[PeerCost, ...] = ()
    absent: tuple[Absent, ...] = ()
    bars: tuple[Bar, ...] = ()
    told: tuple[str, ...] = ()
    """What a reader has to know: what was left out, and what could not be measured."""

    @classmethod
    def read(cls, text: str) -> Self:
        """Return what a file holds; raises pydantic's ValidationError."""
        return cls.model_validate_json(text)


class ComparedRow(Part):
    """One row of two reports: how the ratio over the floor changed."""

    key: str
    name: str
    floor: Floor
    change: Estimate | None
    verdict: Literal["pass", "fail", "not distinguishable", "not shown"]
    why: str = ""

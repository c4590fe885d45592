"""What comes of a side: its subject's code, each world played, or why there is none."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from compat.pipes import Printed
from compat.process import ChildCall, ChildDiedError, ChildError, ChildHungError
from refengine.testing.child import LOST
from refengine.testing.compare_probes import CompareSite, Seen
from refengine.testing.probes import Arm
from refengine.testing.trace import Trace

ADVICE: Final[Mapping[str, str]] = {
    "syntax": "correct the file",
    "import": "make it importable on its own",
    "missing-file": "give a file, or a module that can be imported from here",
    "missing-name": "give the name of a function subject(world)",
    "not-callable": "give the name of a function subject(world)",
    "exit": "a subject must not end the process",
    "ended": "a subject must not end the process",
    "killed": "see what it calls that is not Python",
    "fork": "start processes with subprocess, or multiprocessing with 'spawn'",
    "timeout": "make it end, or allow it more time",
    "intent": "correct the predicate",
    "damage": "a subject must leave its process as it is",
    "large": "make its texts, results and errors shorter",
    "frame": "a subject must use only what it opened itself",
    "harness": "please report it",
}
"""What to do about each kind of fault; the others say it themselves."""


class SideFault(Exception):
    """A side could not be played: who, in which world, what, and what to do.

    Kinds before any world: missing-file, missing-name, not-callable, syntax, import,
    and setup, if it is the setup's.
    In a world: raised, wrong-result, effect, endless, exit, intent, damage, harness.
    With these, in a world or before, the side is over: fork, timeout, ended, killed,
    large, frame, closed.
    """

    def __init__(
        self,
        kind: str,
        label: str,
        reference: str,
        text: str,
        world: int | None = None,
        advice: str | None = None,
    ) -> None:
        """Say it; ``advice`` takes the place of what its kind advises."""
        self.kind = kind
        self.label = label
        self.reference = reference
        self.text = text
        self.world = world
        where = "" if world is None else f", world {world}"
        advised = advice or ADVICE.get(kind, "")
        more = f"; {advised}" if advised and not text.endswith("?") else ""
        who = f"{label} ({reference})" if label else reference
        super().__init__(f"{who}{where}: {text}{more}")


@dataclass(frozen=True, slots=True)
class Deed:
    """What a side told before it did it, of which its process may end."""

    what: str
    lasts: bool
    """Whether it may end of that later, as of a limit."""
    call: int | None
    """The number of the call in which it did so."""


ALARMS: Final = frozenset((signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF))
"""Signals that a process asks for itself."""


def line_in(text: bytes, folder: Path) -> str:
    """Return the innermost line in that folder of a traceback of faulthandler's."""
    pattern = r'  File "(.+)", line (\d+) in '
    for file, line in re.findall(pattern, text.decode(errors="replace")):
        if Path(file).is_relative_to(folder):
            return f" ({Path(file).relative_to(folder)}, line {line})"
    return ""


Reply: TypeAlias = Mapping[str, Any]  # as the child wrote it


@dataclass(frozen=True, slots=True)
class LastLine:
    """A line of a side's own, the last before the observation of number ``seen``."""

    seen: int
    file: str
    line: int
    function: str


@dataclass(frozen=True)
class SidePlayed:
    """One world: its trace, how often each hook ran, the arms taken, what was printed.

    ``compared`` is what was compared at each site, where that was asked for.

    The traces of two sides are mostly equal, and then so is their text ``jsonl``.
    ``outside`` is what the process has reached by now beyond its temporary folder: the
    sockets that it was allowed, and files that were written elsewhere.
    """

    jsonl: str
    hooks: Mapping[str, int]
    arms: frozenset[int]
    printed: Printed
    way: str | None = None
    """How a graph was run, None if it is not a graph."""
    refused: str | None = None
    """Why this world is outside the subject's domain, if it is."""
    unbuilt: str | None = None
    """What ``subject(world)`` raised here, if it did."""
    lines: frozenset[tuple[str, int]] = frozenset()
    """The lines of its own that were reached, if that was asked for."""
    steps: int | None = None
    """How many statements of its own were begun, if that was asked for."""
    outside: tuple[str, ...] = ()
    compared: Mapping[int, Sequence[Seen]] = field(
        default_factory=dict[int, Sequence[Seen]]
    )
    places: Sequence[LastLine] = ()
    """What of its own ran last before each observation, if that was asked for."""

    keeps: str | None = None
    """What keeps its runs, if anything does that goes on with them."""

    @cached_property
    def trace(self) -> Trace:
        """What the world saw."""
        return Trace.from_jsonl(self.jsonl)


@dataclass(slots=True)
class SideLoaded:
    """What is known of a subject's code; grows with what it imports later.

    ``files`` are its own modules, relative to ``folder``, first the one that holds the
    subject. ``taken`` are the arms that ran at import, and ``printed`` what was printed
    there.
    """

    folder: Path
    intents: tuple[str, ...]
    taken: frozenset[int]
    printed: Printed
    files: tuple[str, ...] = ()
    arms: tuple[Arm, ...] = ()
    frameworks: Mapping[str, str] = field(default_factory=dict[str, str])
    sites: tuple[CompareSite, ...] = ()
    changed: int = 0
    """So many attributes of what it observes did its setup change."""
    spans: int = 0
    """So many spans did its setup's observers begin."""
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The lists of its extensions by what they are, with names, if that was asked."""

    @classmethod
    def read(cls, reply: Reply, printed: Printed) -> Self:
        """Return what the reply to loading says."""
        folder, taken = Path(reply["folder"]), frozenset[int](reply["taken"])
        known = cls(folder, tuple(reply["intents"]), taken, printed)
        known.learn(reply)
        return known

    def learn(self, reply: Reply) -> None:
        """Take over what a reply tells that is new."""
        self.files += tuple(reply.get("files", ()))
        self.arms += tuple(Arm(**each) for each in reply.get("arms", ()))
        self.sites += tuple(CompareSite(**each) for each in reply.get("sites", ()))
        self.frameworks = reply.get("frameworks", self.frameworks)
        observed = reply.get("setup", {})
        self.changed = observed.get("changed", self.changed)
        self.spans = observed.get("spans", self.spans)
        lists = reply.get("lists")
        if lists is not None:
            self.lists = tuple((place, tuple(names)) for place, names in lists)


def broken_setup(name: str, error: ChildError | None) -> str:
    """Return what a setup did to the process that ended, or did not answer, in it."""
    match error:
        case ChildHungError(where=where, call=ChildCall(limit=limit)):
            what = f"did not end within {limit:g} s{where}"
        case ChildDiedError(status=status) if 0 <= status != LOST:
            what = f"ends the process (status {status})"
        case _:
            what = "ends the process, or takes the pipes by which it is played"
    return f"its setup {name} {what}"

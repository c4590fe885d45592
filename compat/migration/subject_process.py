"""A side of a migration check: the parent's end of the child that runs a subject.

    with SubjectProcess(parse_ref("old.py"), "old").waited() as old:
        played = old.play(scenario)

Both sides are played at the same time: their calls are sent ahead, and the pipes of
both are moved together (``compat.process``; verdicts, Migration: time-outs).
"""

from __future__ import annotations

import os
import re
import warnings
import weakref
from collections import deque
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from fnmatch import fnmatchcase
from functools import partial
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, Self, TypeAlias

from compat.environments.cache import SideEnvironment
from compat.migration.kept_runs import KeptRuns, LeftData
from compat.migration.options import GIVEN, NO_REACH, TIMEOUT, Reach
from compat.migration.refs import SubjectLocation, SubjectRef, located
from compat.migration.replies import (
    ADVICE,
    ALARMS,
    Deed,
    LastLine,
    Reply,
    SideFault,
    SideLoaded,
    SidePlayed,
    broken_setup,
    line_in,
)
from compat.migration.session_copy import session_copy
from compat.migration.wire import Wire
from compat.pipes import Printed
from compat.process import (
    SILENT,
    BadFrameError,
    ChildCall,
    ChildDiedError,
    ChildError,
    ChildHungError,
    ChildMuteError,
    ChildProcess,
    LongFrameError,
    move,
    python,
    signal_name,
)
from compat.warm import WARM
from refengine.testing.child import CUT, LOST, CallError, Params
from refengine.testing.scenario import Scenario
from refengine.testing.subject_worlds.source import modules_of, python_source
from refengine.testing.trace import Trace

# What a side takes, returns and raises is found with it.
__all__ = [
    "Label",
    "Printed",
    "SideFault",
    "SideLoaded",
    "SidePlayed",
    "SubjectProcess",
    "play_together",
]

Label: TypeAlias = Literal["old", "new"]

IMPORT_TIMEOUT: Final = 30.0
FRAMEWORKS: Final = frozenset(
    ("langchain", "langchain_core", "langchain_openai", "langgraph")
)
"""What takes a child longer to import than anything else does."""
ADK_STACK: Final = ("refengine.testing.adk.warmed",)
"""As much of ADK as playing it needs, the modules of a first session among them."""
PYDANTIC_AI_STACK: Final = ("refengine.testing.pydantic_ai.playing",)
"""The same of pydantic-ai."""
CLIENTS: Final = frozenset(("langchain_openai",))
STACK: Final = (
    "langgraph.prebuilt",
    "langchain.agents.middleware",
    "langchain_openai",
)
"""What of it nearly every subject comes to import, by one way or another."""
GRAPHS: Final = "refengine.testing.graphs.session"
"""What plays any of them."""

SUBJECT_CHILD: Final = "refengine.testing.subject_server"

PLAIN: Final[Mapping[str, object]] = MappingProxyType({})
"""Loading a subject as it is."""

UNDONE: Final[Mapping[str, str]] = {
    "initialize": "was not started",
    "setup": "setup did not end",
    "load": "was not imported",
    "play": "did not end",
    "intends": "its predicates did not end",
}
"""What a child has not done when its time is up, by what it was called for."""


class SubjectProcess:
    """One subject in a child; ``with`` or ``close`` ends it, or else its last use."""

    def __init__(  # noqa: PLR0913  # what a child is made of
        self,
        ref: SubjectRef,
        label: Label,
        *,
        timeout: float = TIMEOUT,
        import_timeout: float = IMPORT_TIMEOUT,
        profile: str = "seed-001",
        hash_seed: int = 0,
        loading: Mapping[str, object] = PLAIN,
        reach: Reach = NO_REACH,
    ) -> None:
        """Start the child and ask for the subject, without waiting for it.

        ``hash_seed`` is the child's PYTHONHASHSEED, which orders sets of texts; where
        it is 0, a value in the user's environment is kept. ``loading`` is what else a
        child is to know when it loads the subject (``subject_server``), and ``reach``
        what the subject's code may see and use of what is around it. Raises
        RefError.
        """
        self.ref = ref
        self.label = label
        self._timeout = timeout
        self._known: SideLoaded | None = None
        self.ways: Sequence[str] = ()
        self.wire: Wire | None = None
        self.kept: KeptRuns | None = None
        self._addresses: dict[int, str] = {}
        with ExitStack() as stack:
            place = stack.enter_context(located(ref))
            location = stack.enter_context(session_copy(ref, place))
            self._folders = (str(location.folder), str(place.folder))
            self.child = ChildProcess(
                _command(ref),
                cwd=location.cwd,
                env=environment(hash_seed, reach.env, ref.environment),
                locate=partial(line_in, folder=location.folder),
                frameworks=_frameworks(location, ref.environment),
                functions={"does": partial(_take, deeds := list[Deed]())},
            )
            self._deeds = deeds
            stack.callback(_end, self.child, ref)
            # Not only by close: an interrupted parent ends it on its way out.
            self._ending = weakref.finalize(
                self, _end_own, stack.pop_all(), os.getpid()
            )
        self._over: SideFault | None = None
        request = {
            "ref": _reference(ref, location),
            "profile": profile,
            "isolation": {**reach.request, "top": str(location.isolation)},
            "nodes": ref.same_code,
            **_ordering(ref),
            **loading,
        }
        self._import_timeout = import_timeout
        self._request = request
        self._changed = "change" in loading
        self.child.initialize(import_timeout)
        self._setting: ChildCall | None = None
        if ref.setup is not None:
            file = {"name": ref.setup.name, "file": str(_copied(ref.setup, location))}
            asked = {**request, **file}
            self._setting = self.child.start("setup", asked, import_timeout)
        self._loading = self.child.start("load", request, import_timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child and all that it started, and remove what was made for it."""
        self._over = self._over or self._fault("closed", "it is closed")
        if self.child.busy or self._changed:
            self.child.kill()  # what a small change left behind cleans up nothing
        self._ending()
        for call in tuple(self._addresses):
            self._played_at(call)

    def wait(self) -> None:
        """Wait until the subject is loaded; raises SideFault."""
        _wait([(self, self._loading)])
        try:
            if self._setting is not None:
                self.result(self._setting)
            reply = self.result(self._loading)
        except SideFault as fault:
            self._give_up(fault)
            raise
        if self._known is None:
            self._known = SideLoaded.read(reply, self._loading.printed)

    def load_anew(self, loading: Mapping[str, object]) -> None:
        """Load the subject once more, with another change; raises SideFault.

        What is its own is imported anew, and nothing else: a setup that ran before it
        stays. Where that imported what is the side's own, or files were written, it is
        not as at its beginning: then that is a fault, ``spoiled``.
        """
        request = {**self._request, **loading}
        self._known = None
        self._loading = self._start_for("load", request, self._import_timeout)
        _wait([(self, self._loading)])
        reply = self.result(self._loading)
        self._known = SideLoaded.read(reply, self._loading.printed)

    def waited(self) -> Self:
        """Return it once the subject is loaded; raises SideFault, being closed then."""
        try:
            self.wait()
        except BaseException:
            self.close()
            raise
        return self

    @property
    def alive(self) -> bool:
        """Whether it can be played further."""
        return self._over is None and self.child.over is None

    @property
    def loaded(self) -> SideLoaded:
        """What is known of the subject's code; waits for it, and raises SideFault."""
        while self._known is None:
            self.wait()
        return self._known

    def ask(
        self, world: Scenario, number: int | None = None, *, places: bool = False
    ) -> ChildCall:
        """Ask for a world without waiting."""
        request: dict[str, object] = {"world": _written(world)}
        if places:
            request["places"] = True
        if self.ways:
            request["ways"] = list(self.ways)
        if world.hand_over is not None and self.kept is not None:
            request["half"] = self.kept.left(world)
        if self.wire is None:
            return self._start("play", request, number)
        request["wire"] = address = self.wire.begin(world)
        try:
            call = self._start("play", request, number)
        except SideFault:
            self.wire.end(address)
            raise
        self._addresses[call.id] = address
        return call

    def leave(self, world: Scenario) -> LeftData:
        """Play a session up to where it is handed over; raises SideFault."""
        request = {"world": _written(world), "half": None}
        call = self._start("play", request, None)
        _wait([(self, call)])
        left: LeftData = self.result(call)["left"]
        return left

    def _start(
        self, method: str, request: Mapping[str, object], world: int | None
    ) -> ChildCall:
        return self._start_for(method, request, self._timeout, world)

    def _start_for(
        self,
        method: str,
        request: Mapping[str, object],
        limit: float,
        world: int | None = None,
    ) -> ChildCall:
        if self._over is not None or self.child.over is not None:
            raise self._ended()
        return self.child.start(method, request, limit, world)

    def _played_at(self, request: int) -> None:
        """Let the server forget the world of a request, if it was played there."""
        address = self._addresses.pop(request, None)
        if self.wire is not None and address is not None:
            self.wire.end(address)

    def result(self, call: ChildCall) -> Reply:
        """Return what came of a call; raises SideFault."""
        self._played_at(call.id)
        if call.reply is None:
            raise self._ended()
        try:
            reply: Reply = call.result
        except CallError as error:
            kind = str(error.data.get("kind", "harness"))
            fault = self._fault(kind, error.message, call.label)
            if kind in {"fork", "damage"}:  # after which it has ended, or is of no use
                self._give_up(fault)
            raise fault from error
        return reply

    def played(self, call: ChildCall) -> SidePlayed:
        """Return what came of a world; raises SideFault."""
        reply = self.result(call)
        self.loaded.learn(reply)
        arms = frozenset[int](reply["taken"])
        return SidePlayed(
            reply["trace"],
            reply["hooks"],
            arms,
            call.printed,
            reply.get("way"),
            reply.get("refused") or _unleft(reply),
            reply.get("unbuilt"),
            frozenset((file, line) for file, line in reply.get("lines", ())),
            reply.get("steps"),
            tuple(reply.get("outside", ())),
            {int(site): some for site, some in reply.get("compared", {}).items()},
            tuple(LastLine(*each) for each in reply.get("places", ())),
            reply.get("keeps"),
        )

    def _fault(
        self,
        kind: str,
        text: str,
        world: int | None = None,
        advice: str | None = None,
    ) -> SideFault:
        text = text.replace(*self._folders)  # of the copy nobody has heard
        return SideFault(kind, self.label, self.ref.text, _hinted(text), world, advice)

    def _give_up(self, fault: SideFault) -> None:
        self._over = self._over or fault
        self.child.kill()

    def _ended(self) -> SideFault:
        """Return why it cannot be played any more, always the same."""
        if self._over is None:
            error = self.child.over
            self._over = self._fault_of_setup(error) or self._fault_of(error)
        return self._over

    def _fault_of(self, error: ChildError | None) -> SideFault:
        call = None if error is None else error.call
        world = None if call is None else call.label
        match error:
            case ChildHungError(where=where) if call is not None:
                text = f"{UNDONE[call.method]} within {call.limit:g} s{where}"
                return self._fault("timeout", text, world)
            case ChildMuteError():
                return self._lost(call)
            case ChildDiedError(status=status, where=where):
                return self._died(status, where, call)
            case BadFrameError(frame=frame):
                return self._framed(frame, world)
            case LongFrameError(longest=longest):
                text = f"to tell what it does takes more than {longest:,} bytes"
                return self._fault("large", text, world)
            case _:
                why = "there is no answer" if error is None else error.why
                return self._fault("harness", why, world)

    def _lost(self, call: ChildCall | None) -> SideFault:
        """Return by what a side lost the pipes of its calls."""
        deed = self._deed(call)
        what = deed.what if deed else "it closes what it did not open"
        return self._fault("damage", what, None if call is None else call.label)

    def _died(self, status: int, where: str, call: ChildCall | None) -> SideFault:
        """Return what a side died of, and by what it was ended, as far as it told."""
        world = None if call is None else call.label
        if status == LOST:
            return self._lost(call)
        deed = self._deed(call)
        if status >= 0:
            text = f"ended with exit status {status}"
            return self._fault("ended", text, world)
        text = f"died of {signal_name(-status)}{where}"
        why = "" if deed is None else deed.what
        if not why and -status in ALARMS:
            why = "a timer that it set ended, and nothing handles the signal"
        if why:
            text, advice = f"{text}: {why}", ADVICE["ended"]
            return self._fault("killed", text, world, advice)
        return self._fault("killed", text, world)

    def _framed(self, frame: bytes, world: int | None) -> SideFault:
        """Return what came through the pipe of replies that is none."""
        if b'"kind": "fork"' in frame:
            return self._fault("fork", "it forks its process", world)
        if b'"by": "reading"' in frame:
            return self._fault("frame", CUT.message, world)
        shown = frame[:60].decode(errors="replace")
        text = f"wrote {shown!r} into the harness's own pipe"
        return self._fault("frame", text, world)

    def _deed(self, call: ChildCall | None) -> Deed | None:
        """Return the last that it told of which it may have ended in this call."""
        number = None if call is None else call.id
        told = (each for each in self._deeds if each.lasts or each.call == number)
        return next(told, None)

    def _fault_of_setup(self, error: ChildError | None) -> SideFault | None:
        """Return what a setup did to the process, if that ended while it ran."""
        call, setup = None if error is None else error.call, self.ref.setup
        if setup is None or call is None or call.method != "setup":
            return None
        return self._fault("setup", broken_setup(setup.name, error))

    def play(
        self, scenario: Scenario, world: int | None = None, *, places: bool = False
    ) -> SidePlayed:
        """Play one world; raises SideFault, in which it is called ``world``."""
        call = self.ask(scenario, world, places=places)
        _wait([(self, call)])
        return self.played(call)

    def play_all(
        self, scenarios: Iterable[Scenario], first: int = 0
    ) -> Generator[SidePlayed, None, None]:
        """Play worlds without a round trip each; they are numbered from ``first``."""
        for (played,) in play_together([self], scenarios, first):
            yield played

    def broken_intents(self, trace: Trace | str, world: int | None = None) -> list[str]:
        """Return which intended effects a trace does not show; raises SideFault."""
        jsonl = trace if isinstance(trace, str) else trace.to_jsonl()
        call = self._start("intends", {"trace": jsonl}, world)
        _wait([(self, call)])
        return [str(text) for text in self.result(call)["broken"]]


def play_together(
    sides: Sequence[SubjectProcess], scenarios: Iterable[Scenario], first: int = 0
) -> Generator[tuple[SidePlayed, ...], None, None]:
    """Play the same worlds on several sides at the same time; raises SideFault.

    Yields what each side played, world by world. All worlds are asked for at once, and
    the sides work on while the caller looks at what it has. After a fault, sides that
    are alive can be played further.
    """
    calls: deque[list[tuple[SubjectProcess, ChildCall]]] = deque()
    try:
        for number, scenario in enumerate(scenarios, first):
            calls.append([(side, side.ask(scenario, number)) for side in sides])
        while calls:
            pairs = calls.popleft()
            _wait(pairs)
            for side, call in pairs:
                if call.reply is None and side.child.over is not None:
                    side.result(call)  # it says why, and the others only wait
            yield tuple(side.played(call) for side, call in pairs)
    finally:
        for side in sides:
            side.child.forget_unsent()


def _wait(pairs: Sequence[tuple[SubjectProcess, ChildCall]]) -> None:
    """Move all pipes until these are answered, or cannot be any more."""
    while waiting := [side.child for side, call in pairs if call.reply is None]:
        if any(child.over is not None for child in waiting):
            return
        move([side.child for side, _ in pairs if side.child.over is None])


def _written(scenario: Scenario) -> str:
    return scenario.model_dump_json(exclude_defaults=True)


def _reference(ref: SubjectRef, location: SubjectLocation) -> dict[str, object]:
    """Return the reference as the child reads it."""
    return {
        "folder": str(location.folder),
        "name": ref.name,
        "file": None if location.file is None else str(location.file),
        "module": ref.module,
        "moved": None
        if location.moved is None
        else [str(each) for each in location.moved],
    }


def _ordering(ref: SubjectRef) -> dict[str, object]:
    """Return in which order its extensions are to stand, if lists are to be told."""
    return {} if ref.order is None else {"order": [*map(asdict, ref.order)]}


def _command(ref: SubjectRef) -> Sequence[str]:
    """Return the command of a child, in the Python that its side runs with."""
    if ref.environment is None:
        return python(SUBJECT_CHILD)
    return python(SUBJECT_CHILD, executable=ref.environment.python)


def _copied(file: Path, location: SubjectLocation) -> Path:
    """Return where a file stands that is run with a subject: in its copy, if there."""
    if location.moved is not None and file.is_relative_to(location.moved[0]):
        copy = location.moved[1] / file.relative_to(location.moved[0])
        return copy if copy.is_file() else file
    return file


def _frameworks(
    location: SubjectLocation, environment: SideEnvironment | None = None
) -> Sequence[str]:
    """Return what a child imports first of all, if its subject is one of frameworks.

    Not where its folder has something of that name, which would be imported in its
    location. The whole stack is named for any part of it, so that all sides are copies
    of one process for each hash seed.
    """
    names = _imported(location)
    folders = (location.cwd, location.folder)
    if any(each.split(".")[:2] == ["google", "adk"] for each in names):
        return ADK_STACK if _has("google.adk", folders, environment) else ()
    if any(each.partition(".")[0] == "pydantic_ai" for each in names):
        found = _has("pydantic_ai", folders, environment)
        return PYDANTIC_AI_STACK if found else ()
    there = {each.stem for folder in folders for each in folder.glob("lang*")}
    named = {each.partition(".")[0] for each in names} & FRAMEWORKS
    if not named or named & there:
        return ()
    stack = [each for each in STACK if _is_installed(each, named, environment)]
    return [*stack, GRAPHS] if STACK[0] in stack else stack


def _has(
    module: str, folders: Sequence[Path], environment: SideEnvironment | None
) -> bool:
    """Tell whether a module is installed, and no folder has its package's name."""
    package, *inside = module.split(".")
    if any(each.stem == package for f in folders for each in f.glob(f"{package}*")):
        return False
    if environment is not None:
        return any(
            each.joinpath(package, *inside).is_dir() for each in environment.sites
        )
    return find_spec(package) is not None and find_spec(module) is not None


def _is_installed(
    module: str, named: Collection[str], environment: SideEnvironment | None
) -> bool:
    """Tell whether a module is to be imported: a client only where it is named."""
    root = module.partition(".")[0]
    if root in CLIENTS and root not in named:
        return False
    if environment is None:
        return find_spec(root) is not None
    return PathFinder.find_spec(root, [*map(str, environment.sites)]) is not None


def _imported(location: SubjectLocation) -> Sequence[str]:
    """Return what a subject's file imports when it is imported itself."""
    try:
        text = b"" if location.file is None else location.file.read_bytes()
    except OSError:
        return ()
    tree = python_source(text).tree
    return [*modules_of(() if tree is None else tree.body)]


def environment(
    hash_seed: int, names: Sequence[str] = (), packages: SideEnvironment | None = None
) -> Mapping[str, str]:
    """Return a child's environment, with the seed by which sets of text are ordered.

    Sets have one order in all children: else two sides differ by chance. The seed 0
    asks for no order in particular, so the user's own setting is kept. ``names`` are
    given, too, as far as they are set. A child that runs with ``packages`` of its own
    finds their programs first.
    """
    patterns = (*GIVEN, *names)
    given = {
        name: value
        for name, value in os.environ.items()
        if any(fnmatchcase(name, each) for each in patterns)
    }
    seed = {"PYTHONHASHSEED": str(hash_seed)}
    own = {**given, **seed} if hash_seed else {**seed, **given}
    if packages is not None:
        own.pop("PYTHONHOME", None)  # another Python's
        own |= packages.variables
    return {**own, **SILENT}


def _unleft(reply: Reply) -> str | None:
    """Return why a session is not one that is handed over; None if it is, or whole."""
    return "OLD leaves no run there" if "left" in reply else None


def _hinted(text: str) -> str:
    """Return what went wrong, with what to do where a variable is not given on."""
    found = re.search(r"KeyError: '(\w+)'", text)
    if found is None or found[1] not in os.environ:
        return text
    return f"{text}; the environment is not inherited, so give --env {found[1]}"


def prepare(ref: SubjectRef, seeds: Iterable[int], reach: Reach = NO_REACH) -> None:
    """Have processes import what sides of this subject need, and wait for none.

    Those of an earlier commit are not looked into: its tree would have to be written.
    """
    if ref.revision is None:
        with located(ref) as location:
            frameworks = _frameworks(location, ref.environment)
        for seed in seeds:
            env = environment(seed, reach.env, ref.environment)
            WARM.expect(_command(ref), env, frameworks)


def _take(deeds: list[Deed], told: Params) -> None:
    """Remember what a side told, the last first; but for limits, only the last."""
    deeds[:] = [Deed(**told), *(each for each in deeds if each.lasts)]


class LeftBehindWarning(UserWarning):
    """Processes that a subject has started, and that nobody here can end."""


def _end(child: ChildProcess, ref: SubjectRef) -> None:
    child.end()
    if child.left:
        text = f"{ref}: started processes that could not be ended: {child.left}"
        warnings.warn(text, LeftBehindWarning, stacklevel=2)


def _end_own(stack: ExitStack, owner: int) -> None:
    """End what this process started; a forked copy of it leaves that alone."""
    if os.getpid() == owner:
        stack.close()

"""The child of a migration check: it serves one subject.

    python -m refengine.testing.subject_server

Calls and replies are those of ``refengine.testing.child``:

    setup    {"name": "tracing.py", "file": …} and as load: runs a setup before that
    load     {"ref": {…}, "profile": "seed-001", "isolation": {"top": …}}
                                                       imports the subject
    play     {"world": "<scenario as JSON text>"}      plays it in a world
    intends  {"trace": "<trace as JSON lines>"}        checks its intended effects

A call of ``load`` may have ``change``, the file and number of a small change that is
made, and ``steps``: then replies to ``play`` have the ``lines`` that were reached and
how many ``steps`` that took, of which there are that many at most, if it is not null.
It may come again with another ``change``, or null for none: what is the subject's own
is imported anew, and all else stays, a setup that ran before it, too. Not so where that
has imported what is the subject's own, or files were written.

With ``nodes`` runs of graphs say through which they went. With ``order``, a list of
moves, extensions stand in another order, and replies have the ``lists`` once they are
new. With ``compares`` replies have the ``sites`` of comparisons that are new, and what
was ``compared`` there. Where lines are known, a call of ``play`` may ask for the
``places`` that were last before each thing that the world saw. It may have ``ways`` of
running a graph, and ``wire``: the base URL of a scripted server that the graph's model
asks. With ``half`` a session that is handed over is played up to where it is left, and
the reply has what is ``left`` of it; or, where the ``half`` is that, on from there.
Faults are errors whose ``data`` has their ``kind`` (verdicts, Migration).
"""

from __future__ import annotations

import asyncio
import functools
import gc
import io
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from refengine.interrupts import Interrupt
from refengine.profile import SEED_001, Profile, profile
from refengine.testing.child import (
    CUT,
    CallError,
    Connection,
    Forks,
    Function,
    Params,
    ended_with_parent,
    show_where,
)
from refengine.testing.clock import Loops
from refengine.testing.compare_probes import Comparisons
from refengine.testing.hand_over import (
    SessionHalf,
    files_of,
    half_of,
    with_files,
)
from refengine.testing.isolation.damage import Wholeness
from refengine.testing.isolation.deeds import nobody
from refengine.testing.isolation.isolated import Isolation
from refengine.testing.isolation.setups import SideSetup
from refengine.testing.loading import (
    Fault,
    LoadedSubject,
    Own,
    Reference,
    came_through,
    error_line,
    forget_own,
    load,
    own_files,
    ready_to_load,
)
from refengine.testing.machine import limit_memory
from refengine.testing.ordering import Ordering, moves_of
from refengine.testing.person import EndlessQuestionsError
from refengine.testing.points import class_of
from refengine.testing.probes import Branches, Lines, TooManyStepsError
from refengine.testing.recorder import Recorder
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import ScenarioError, parse_scenario
from refengine.testing.subjects import (
    INTENDS,
    WAYS,
    Played,
    Subject,
    SubjectError,
    UnbuiltError,
    play_alone,
)
from refengine.testing.trace import Trace
from refengine.testing.world import EffectError, World

Reply: TypeAlias = dict[str, Any]
Predicate: TypeAlias = Callable[[Trace], object]

ADK: Final = "google-adk"
PYDANTIC_AI: Final = "pydantic-ai-slim"
FRAMEWORKS: Final = (
    ADK,
    "langchain",
    "langchain-core",
    "langchain-openai",
    "langgraph",
    "langgraph-prebuilt",
    PYDANTIC_AI,
)
"""Distributions whose versions belong to a verdict on what was built with them."""
BROUGHT: Final = frozenset(("langchain", "langchain_openai"))
"""What a process of this kind may have imported that its subject does not use."""
IMPORTED: Final = re.compile(r"^\s*(?:from|import)\s+(\w+)", re.MULTILINE)


SELDOM: Final = 50_000
"""So many objects more than before are there when rubbish is looked for."""
FURTHER: Final = 1 << 30
"""Bytes that code with a small change may take beside what is loaded."""


class SubjectServer:
    """The functions of a child that has a subject."""

    def __init__(self) -> None:
        self._branches = Branches()
        self._loops = Loops()
        self._loaded: LoadedSubject | None = None
        self._profile: Profile = SEED_001
        self._arms = 0
        self._sites = 0
        self._modules: set[str] = set()
        self._before: frozenset[str] = frozenset()
        self._taken = False
        self._files: list[str] = []
        self._isolation: Isolation | None = None
        self._whole: Wholeness | None = None
        self._brought: frozenset[str] = frozenset()
        self._named: set[str] = set()
        self._own: Own | None = None
        self._observed: SideSetup | None = None
        self._held = False
        """Whether a setup has imported what is the subject's own, and may hold it."""
        self._tells_nodes = False
        self._ordering: Ordering | None = None
        self.tell: Callable[[Mapping[str, object]], None] = nobody
        """Hears of what own code does of which this process may end."""

    @property
    def functions(self) -> Mapping[str, Function]:
        """What can be called; whatever goes wrong is an error with its kind."""
        return {
            name: self._guarded(function)
            for name, function in (
                ("setup", self._setup),
                ("load", self._load),
                ("play", self._played_apart),
                ("intends", self._intends),
            )
        }

    def _guarded(self, function: Function) -> Function:
        def guarded(params: Params) -> object:
            own = None if self._loaded is None else self._loaded.own
            self._branches.anew()
            try:
                reply = function(params)
                self._see_that_this_is_no_copy()
            except Fault as fault:
                raise _fault(fault.kind, fault.text) from fault
            except (SystemExit, KeyboardInterrupt) as error:
                raise _fault("exit", f"raised {error_line(error, own)}") from error
            except TooManyStepsError as error:
                raise _fault("endless", "it takes too many steps") from error
            except BaseException as error:  # the parent has to hear of it
                mended = "" if self._whole is None else self._whole.mend()
                text = error_line(error, own)
                mine = own is not None and came_through(error, own)
                if damage := mended or self._damage(error):
                    raise _fault("damage", f"{damage}; then {text}") from error
                raise _fault("raised" if mine else "harness", text) from error
            return reply

        return guarded

    def _damage(self, error: BaseException) -> str:
        self._see_that_this_is_no_copy()
        if self._whole is None or self._isolation is None:
            return ""
        hooked = self._isolation.deeds.hooks > 0
        hook = "it adds an audit hook to its process" if hooked else ""
        return self._whole.damage(error) or hook

    def _see_that_this_is_no_copy(self) -> None:
        """Raise CallError in a copy that was made by the system's own fork."""
        if self._whole is not None and self._whole.pid != os.getpid():
            raise _fault("fork", "it forks its process")

    @property
    def _subject(self) -> LoadedSubject:
        if self._loaded is None:
            raise Fault("harness", "there is no subject before 'load'")
        return self._loaded

    def _setup(self, request: Params) -> Reply:
        """Run a setup where its subject will be imported."""
        self._observed = setup = SideSetup(request["name"], request["file"])
        own = self._begin(request, setup.file)
        setup.run()
        self._held = bool(own_files(own, sys.modules.keys() - self._before))
        return {}

    def _begin(self, request: Params, setup: str | None = None) -> Own:
        """Make ready to import a subject, once; a setup is run behind that."""
        if self._own is not None:
            return self._own
        self._profile = profile(request["profile"])
        if request.get("compares"):
            self._branches.comparisons = Comparisons()
        if "steps" in request:
            self._branches.lines = Lines(request["steps"])
        if "change" in request:
            self._branches.change = _change(request)
            limit_memory(FURTHER)
        self._tells_nodes = bool(request.get("nodes"))
        moves = moves_of(request)
        if moves is not None:
            self._ordering = Ordering(moves)
            self._ordering.watch()
        ref = Reference(**request["ref"])
        self._modules = set(sys.modules)  # none of which is the subject's own
        self._before = frozenset(self._modules)
        self._brought = frozenset(BROUGHT.intersection(sys.modules))
        if "isolation" in request:
            isolation = request["isolation"]
            self._isolation = Isolation.begin(isolation, ref.folder, self.tell)
            self._whole = Wholeness.now()
        self._own = ready_to_load(ref, self._branches, setup)
        if self._isolation is not None:
            self._isolation.doors.own = self._own
        return self._own

    def _load(self, request: Params) -> Reply:
        if self._own is not None and self._taken:
            self._forget(self._own, request)
        own = self._begin(request)
        self._taken = True
        self._loaded = load(Reference(**request["ref"]), self._branches, own)
        if self._isolation is not None:
            self._isolation.ready(self._loaded.own)
        if self._whole is not None:
            self._whole = self._whole.with_modules()
        # What is loaded stays; each play's rubbish is collected without it.
        gc.freeze()
        intents = [text for text, _ in _predicates(self._loaded)]
        return {"intents": intents, "folder": self._loaded.own.roots[0], **self._seen()}

    def _forget(self, own: Own, request: Params) -> None:
        """Make ready to load the subject once more, with another small change."""
        if self._held:
            raise Fault("spoiled", "its setup would not run once more")
        if self._isolation is not None and self._isolation.folder.was_written:
            raise Fault("spoiled", "its sessions write files")
        self._loaded = None
        forget_own(own, self._before)
        self._branches.forget()
        self._arms = 0
        self._branches.change = _change(request)

    def _intends(self, request: Params) -> Reply:
        return {"broken": _broken(Trace.from_jsonl(request["trace"]), self._subject)}

    def _play(self, request: Params) -> Reply:
        loaded = self._subject
        raised: list[BaseException] = []

        @functools.wraps(loaded.subject)
        def subject(world: World) -> object:
            if self._isolation is not None:
                self._isolation.enters(world.recorder)
                self._isolation.files.bring(files_of(half))
            if request.get("places") and self._branches.lines is not None:
                self._branches.lines.follow(world.recorder.count)
            world.tells_nodes, world.half = self._tells_nodes, half
            try:
                return self._ordered(loaded.subject, world)
            except BaseException as error:
                raised.append(error)
                raise

        scenario = _world(request)
        half = half_of(request)

        def play() -> Played:
            ways, wire = request.get("ways", WAYS), request.get("wire")
            with self._session(wire):
                played = play_alone(
                    scenario, subject, self._profile, ways, wire, self._loops
                )
                self._take_files(half)
                return played

        played = self._played(play, raised)
        if isinstance(played, _Unbuilt):
            return {**played.reply, **self._seen()}
        hooks = dict(played.hooks)
        try:
            trace = played.trace.to_jsonl()
        except (TypeError, ValueError, RecursionError) as error:
            raise Fault("raised", f"what it hands on is not JSON: {error}") from error
        more = {"way": played.way, "refused": played.refused, "keeps": played.keeps}
        found: Reply = {k: value for k, value in more.items() if value is not None}
        if half is not None and half.given is None:
            found["left"] = half.left and half.left.json
        return {"trace": trace, "hooks": hooks, **found, **self._seen()}

    def _ordered(self, subject: Subject, world: World) -> object:
        """Return what a subject returns, in the order that was asked for."""
        if self._ordering is None:
            return subject(world)
        self._ordering.begin()
        return self._ordering.applied(subject(world), world)

    def _take_files(self, half: SessionHalf | None) -> None:
        """Have what the session wrote be left with it, before it is put back."""
        if half is not None and half.left is not None and self._isolation is not None:
            half.left = with_files(half.left, self._isolation.files.left())

    def _session(self, wire: str | None) -> AbstractContextManager[None]:
        return (
            nullcontext() if self._isolation is None else self._isolation.session(wire)
        )

    def _played_apart(self, request: Params) -> Reply:
        """Play a world; say what it reached, and nothing of where its folder is."""
        reply = self._play(request)
        if self._isolation is None:
            return reply
        masked = self._isolation.masked
        said = {
            key: masked(text) for key, text in reply.items() if isinstance(text, str)
        }
        return {**reply, **said, **self._isolation.told}

    def _played(
        self, play: Callable[[], Played], raised: list[BaseException]
    ) -> Played | _Unbuilt:
        own = None if self._loaded is None else self._loaded.own
        try:
            return play()
        except (SystemExit, KeyboardInterrupt, TooManyStepsError):
            raise
        except BaseException as error:
            text = error_line(error, own)
            if fault := _own_fault(error, text, own):
                raise fault from error
            if any(error is each for each in raised) and isinstance(error, Exception):
                return _Unbuilt(text, class_of(error))
            if any(error is each for each in raised):
                raise Fault("raised", text) from error
            if isinstance(error, asyncio.CancelledError):
                why = (
                    f"a hook raised {text}, which cancels the run instead of failing it"
                )
                raise Fault("raised", why) from error
            if isinstance(error, UnbuiltError):
                return _Unbuilt(error_line(error.cause, own), class_of(error))
            if isinstance(error, SubjectError):
                raise Fault("wrong-result", str(error)) from error
            if isinstance(error, EndlessQuestionsError):
                raise Fault("endless", str(error)) from error
            raise

    def _seen(self) -> Reply:
        """Return the arms that were taken, and what was imported since."""
        seen: Reply = {"taken": sorted(self._branches.taken)}
        arms = self._branches.arms
        lines = self._branches.lines
        if lines is not None:
            seen |= {"lines": sorted(lines.reached), "steps": lines.steps}
            seen |= {"places": lines.last} if lines.last else {}
        if len(arms) > self._arms:
            seen["arms"] = [asdict(arm) for arm in arms[self._arms :]]
            self._arms = len(arms)
        observed: Reply = {} if self._observed is None else self._observed.reply
        if self._ordering is not None:
            observed |= self._ordering.reply
        return {**seen, **self._compared(), **self._imported(), **observed}

    def _compared(self) -> Reply:
        """Return the sites of comparisons that are new, and what was compared."""
        comparisons = self._branches.comparisons
        if comparisons is None:
            return {}
        new = comparisons.sites[self._sites :]
        self._sites += len(new)
        return {"sites": list(map(asdict, new)), "compared": comparisons.seen}

    def _imported(self) -> Reply:
        """Return what modules that were imported since say of files and frameworks."""
        if self._loaded is None or self._modules.issuperset(sys.modules):
            return {}
        new = sys.modules.keys() - self._modules
        self._modules |= new
        return {**self._new_files(self._loaded, new), **self._frameworks()}

    def _new_files(self, loaded: LoadedSubject, modules: Iterable[str]) -> Reply:
        own = loaded.own
        first = own.name(loaded.module.__file__ or "")
        found = sorted(own_files(own, modules), key=lambda name: (name != first, name))
        new = [name for name in found if name not in self._files]
        self._files += new
        for file in (Path(root, name) for root in own.roots for name in new):
            with suppress(OSError):  # it is in one of them
                text = file.read_text("utf-8", errors="replace")
                self._named.update(IMPORTED.findall(text))
        return {"files": new} if new else {}

    def _frameworks(self) -> Reply:
        """Return the versions of the frameworks that the subject has imported."""
        absent = self._brought - self._named
        found = {name: name.replace("-", "_") for name in FRAMEWORKS} | {
            ADK: "google.adk",
            PYDANTIC_AI: "pydantic_ai",
        }
        there = [n for n, m in found.items() if m in sys.modules and m not in absent]
        return {"frameworks": {n: version(n) for n in there}} if there else {}


def _own_fault(error: BaseException, text: str, own: Own | None) -> Fault | None:
    """Return what is wrong with an error that says so by its class."""
    if isinstance(error, EffectError):
        return Fault("effect", text)
    fails = (Exception, BaseExceptionGroup, Interrupt, asyncio.CancelledError)
    if isinstance(error, fails) or own is None or not came_through(error, own):
        return None
    return Fault("exit", f"raised {text}, which is no Exception")


@dataclass(frozen=True, slots=True)
class _Unbuilt:
    """A session that ended where ``subject(world)`` raised: all there is to see."""

    text: str
    error: str

    @property
    def reply(self) -> Reply:
        """Return it as a session that was played, in which nothing was built."""
        recorder = Recorder()
        point = {"point": "subject", "text": self.text}
        recorder.add("build_error", {"error": point, "class": self.error})
        return {
            "trace": recorder.trace().to_jsonl(),
            "hooks": {},
            "refused": f"subject(world) raised {self.text}",
            "unbuilt": self.text,
        }


def _world(request: Params) -> Scenario:
    try:
        return parse_scenario(request["world"])
    except ScenarioError:  # the parent wrote one, so somebody else has read of it
        raise Fault("frame", CUT.message) from None


def _change(request: Params) -> tuple[str, int] | None:
    change = request.get("change")
    return None if change is None else (str(change[0]), int(change[1]))


def _predicates(loaded: LoadedSubject) -> list[tuple[str, Predicate]]:
    """Return the intended effects that stand in the subject's module, each once."""
    found: dict[int, tuple[str, Predicate]] = {}
    for each in vars(loaded.module).values():
        text = getattr(each, INTENDS, None)
        if isinstance(text, str) and callable(each):
            found[id(each)] = text, cast("Predicate", each)
    return list(found.values())


def _broken(trace: Trace, loaded: LoadedSubject) -> list[str]:
    broken: list[str] = []
    for text, predicate in _predicates(loaded):
        try:
            good = predicate(trace)
            if isinstance(good, Awaitable):
                raise TypeError("it is async: write 'def'")
            if not good:
                broken.append(text)
        except Exception as error:
            raise Fault(
                "intent", f"{text!r}: {error_line(error, loaded.own)}"
            ) from error
    return broken


def _fault(kind: str, text: str) -> CallError:
    return CallError(text, {"kind": kind})


def main() -> None:
    """Serve until the parent has no more calls."""
    # Nearly all that a session makes is freed by itself, and is looked through in vain.
    gc.set_threshold(SELDOM)
    server = SubjectServer()
    connection = Connection(server.functions)
    for stream in (sys.stdout, sys.stderr):
        # A debugging print of a lone surrogate is no fault of the middleware.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace", line_buffering=True)
    show_where(connection.log)
    sys.argv = [""]

    def forked() -> None:
        text = "it forks (os.fork, or multiprocessing with 'fork')"
        connection.reply(connection.current, {"error": _fault("fork", text).json})

    def tell(deed: Mapping[str, object]) -> None:
        connection.notify("does", {**deed, "call": connection.current})

    server.tell = tell
    with ended_with_parent() as ending:
        Forks(forked).install()
        ending.lost = not connection.serve()


if __name__ == "__main__":
    main()

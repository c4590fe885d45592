"""The child of a migration check: it serves one subject over pipes.

    python -m refengine.testing.child

Requests come on the standard input, replies go to the standard output, one JSON object
a line, each reply with the ``id`` of its request:

    {"id": 1, "do": "load", "ref": {…}, "profile": "seed-001", "token": "…"}
    {"id": 2, "do": "play", "world": "<scenario as JSON text>"}
    {"id": 3, "do": "intends", "trace": "<trace as JSON lines>"}

A request to play may have ``ways`` of running a graph, and ``wire``: the base URL of a
scripted server that the graph's model asks.

The subject never sees those pipes: before it is imported, both are moved to private
duplicates. Its own input is empty, and whatever it prints, by whichever way, goes to
the standard error, where a line with the token ends what belongs to one reply. Faults
are data, ``{"fault": {"kind": …, "text": …}}`` (verdicts, Migration).
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import faulthandler
import functools
import gc
import io
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, Final, TypeAlias, cast

from refengine.profile import SEED_001, Profile, profile
from refengine.testing.branches import Branches
from refengine.testing.loading import Fault, Loaded, Reference, load, own_files, told
from refengine.testing.person import EndlessQuestionsError
from refengine.testing.reading import parse_scenario
from refengine.testing.subjects import (
    INTENDS,
    WAYS,
    Played,
    SubjectError,
    play_alone,
)
from refengine.testing.trace import Trace
from refengine.testing.world import EffectError, World

Reply: TypeAlias = dict[str, Any]
Predicate: TypeAlias = Callable[[Trace], object]

FRAMEWORKS: Final = (
    "langchain",
    "langchain-core",
    "langchain-openai",
    "langgraph",
    "langgraph-prebuilt",
)
"""Distributions whose versions belong to a verdict on what was built with them."""

ALONE: Final = 1.0
"""Seconds after which a child that hangs has seen that its parent is gone."""

LAST: Final = 2.0
"""Seconds in which it ends when the parent has closed the pipe."""


class Pipes:
    """The private ends of the protocol; making them redirects the subject's own."""

    def __init__(self) -> None:
        self._requests = os.fdopen(os.dup(0), "rb")
        self._replies = os.fdopen(os.dup(1), "wb")
        self.printed = os.dup(2)
        self._mark = ""
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)
        for stream in (sys.stdout, sys.stderr):
            # A debugging print of a lone surrogate is no fault of the middleware.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace", line_buffering=True)

    def requests(self) -> Iterator[Mapping[str, Any]]:
        """Yield requests until the parent closes its end."""
        for line in self._requests:
            request: Mapping[str, Any] = json.loads(line)
            self._mark = request.get("token", self._mark)
            yield request

    def reply(self, number: int, reply: Reply) -> None:
        """End what was printed for it, then answer."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the subject may have closed them
                stream.flush()
        os.set_blocking(
            self.printed, True
        )  # the subject shares it, and may have set it
        self._print(f"\0{self._mark} {number}\n".encode())
        self._replies.write(json.dumps({"id": number, **reply}).encode() + b"\n")
        self._replies.flush()

    def _print(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.printed, data) :]


class Forks:
    """Ends forked children, and the session that forked.

    A forked copy of the child would answer the parent's requests a second time, and
    the session would wait for something that the copy was to send: it ends at once.
    What ``subprocess`` starts is another program and no copy.
    """

    def __init__(self, forked: Callable[[], object]) -> None:
        self._forked = forked
        self._is_copy = True

    def install(self) -> None:
        """See every fork of this process."""
        os.register_at_fork(
            before=self._before,
            after_in_child=self._in_child,
            after_in_parent=self._in_parent,
        )

    def _before(self) -> None:
        # subprocess forks like this only for a preexec_fn.
        forking = sys._getframe(1)  # noqa: SLF001  # only the stack knows who it is
        self._is_copy = forking.f_globals.get("__name__") != "subprocess"

    def _in_child(self) -> None:
        if self._is_copy:
            os._exit(0)

    def _in_parent(self) -> None:
        if self._is_copy:
            self._forked()
            os._exit(0)


class Server:
    """Answers requests about one subject."""

    def __init__(self) -> None:
        self._branches = Branches()
        self._loaded: Loaded | None = None
        self._profile: Profile = SEED_001
        self._arms = 0
        self._modules = 0
        self._files: list[str] = []

    def answer(self, request: Mapping[str, Any]) -> Reply:
        """Return the reply; whatever goes wrong is one, too."""
        own = None if self._loaded is None else self._loaded.own
        self._branches.taken.clear()
        try:
            return self._answer(request)
        except Fault as fault:
            return _fault(fault.kind, fault.text)
        except (SystemExit, KeyboardInterrupt) as error:
            return _fault("exit", f"raised {told(error, own)}")
        except BaseException as error:  # noqa: BLE001  # the parent has to hear of it
            return _fault("harness", told(error, own))

    def _answer(self, request: Mapping[str, Any]) -> Reply:
        do = request["do"]
        if do == "load":
            return self._load(request)
        if self._loaded is None:
            raise Fault("harness", f"{do!r} before 'load'")
        if do == "play":
            return self._play(request, self._loaded)
        if do == "intends":
            broken = _broken(Trace.from_jsonl(request["trace"]), self._loaded)
            return {"broken": broken}
        raise Fault("harness", f"there is no request {do!r}")

    def _load(self, request: Mapping[str, Any]) -> Reply:
        self._profile = profile(request["profile"])
        self._loaded = load(Reference(**request["ref"]), self._branches)
        # What is loaded stays; each play's rubbish is collected without it.
        gc.freeze()
        intents = [text for text, _ in _predicates(self._loaded)]
        return {"intents": intents, "folder": self._loaded.own.roots[0], **self._seen()}

    def _play(self, request: Mapping[str, Any], loaded: Loaded) -> Reply:
        raised: list[BaseException] = []

        @functools.wraps(loaded.subject)
        def subject(world: World) -> object:
            try:
                return loaded.subject(world)
            except BaseException as error:
                raised.append(error)
                raise

        scenario = parse_scenario(request["world"])

        def play() -> Played:
            ways, wire = request.get("ways", WAYS), request.get("wire")
            return play_alone(scenario, subject, self._profile, ways, wire)

        played = self._played(play, raised)
        hooks = dict(played.hooks)
        try:
            trace = played.trace.to_jsonl()
        except (TypeError, ValueError, RecursionError) as error:
            raise Fault("raised", f"what it hands on is no JSON: {error}") from error
        way = {} if played.way is None else {"way": played.way}
        return {"trace": trace, "hooks": hooks, **way, **self._seen()}

    def _played(
        self, play: Callable[[], Played], raised: list[BaseException]
    ) -> Played:
        own = None if self._loaded is None else self._loaded.own
        try:
            return play()
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            text = told(error, own)
            if isinstance(error, EffectError):
                raise Fault("effect", text) from error
            if any(error is each for each in raised):
                raise Fault("raised", text) from error
            if isinstance(error, asyncio.CancelledError):
                why = f"a hook raised {text}, which ends the run and not its error"
                raise Fault("raised", why) from error
            if isinstance(error, SubjectError):
                raise Fault("wrong-result", str(error)) from error
            if isinstance(error, EndlessQuestionsError):
                raise Fault("endless", str(error)) from error
            raise

    def _seen(self) -> Reply:
        """Return the arms that were taken, and what was imported since."""
        seen: Reply = {"taken": sorted(self._branches.taken)}
        arms = self._branches.arms
        if len(arms) > self._arms:
            seen["arms"] = [asdict(arm) for arm in arms[self._arms :]]
            self._arms = len(arms)
        return {**seen, **self._new_files(), **_frameworks()}

    def _new_files(self) -> Reply:
        count = len(sys.modules)
        if self._loaded is None or count == self._modules:
            return {}
        self._modules = count
        own = self._loaded.own
        first = own.name(self._loaded.module.__file__ or "")
        found = sorted(own_files(own), key=lambda name: (name != first, name))
        new = [name for name in found if name not in self._files]
        self._files += new
        return {"files": new} if new else {}


def _predicates(loaded: Loaded) -> list[tuple[str, Predicate]]:
    """Return the intended effects that stand in the subject's module, each once."""
    found: dict[int, tuple[str, Predicate]] = {}
    for each in vars(loaded.module).values():
        text = getattr(each, INTENDS, None)
        if isinstance(text, str) and callable(each):
            found[id(each)] = text, cast("Predicate", each)
    return list(found.values())


def _broken(trace: Trace, loaded: Loaded) -> list[str]:
    broken: list[str] = []
    for text, predicate in _predicates(loaded):
        try:
            good = predicate(trace)
            if isinstance(good, Awaitable):
                raise TypeError("it is async: write 'def'")
            if not good:
                broken.append(text)
        except Exception as error:
            raise Fault("intent", f"{text!r}: {told(error, loaded.own)}") from error
    return broken


def _frameworks() -> Reply:
    """Return the versions of the frameworks that the subject has imported."""
    found = [name for name in FRAMEWORKS if name.replace("-", "_") in sys.modules]
    return {"frameworks": {name: version(name) for name in found}} if found else {}


def _fault(kind: str, text: str) -> Reply:
    return {"fault": {"kind": kind, "text": text}}


def _watch_over(pipes: Pipes) -> None:
    """Tell the line of a crash, and that of a hang when the parent asks for it."""
    faulthandler.enable(pipes.printed)
    faulthandler.register(signal.SIGUSR2, pipes.printed)


def _end_with_the_parent() -> None:
    """End with all that the subject started, also if the parent was killed.

    Then nobody ends this process, and a subject that hangs sees no closed pipe.
    """
    if os.getsid(0) != os.getpid():
        return  # started by hand, in the session of a shell
    atexit.register(os.killpg, 0, signal.SIGKILL)
    parent = os.getppid()

    def look(_signal: int, _frame: object) -> None:
        if os.getppid() != parent:
            os.killpg(0, signal.SIGKILL)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, ALONE, ALONE)


def main() -> None:
    """Serve until the parent closes the pipe."""
    pipes = Pipes()
    _watch_over(pipes)
    _end_with_the_parent()
    sys.argv = [""]
    server = Server()
    now = 0

    def forked() -> None:
        text = "it forks (os.fork, or multiprocessing with 'fork')"
        pipes.reply(now, _fault("fork", text))

    Forks(forked).install()
    for request in pipes.requests():
        now = request["id"]
        pipes.reply(now, server.answer(request))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, LAST)  # for threads that do not end


if __name__ == "__main__":
    main()

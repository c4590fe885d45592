"""The suite as tests of pytest: engines judged once, a test for each clause.

    pytest --pyargs property_tests --engine NAME

The first test of an engine judges it, in workers of its own; all others look up what
came of it. With pytest-xdist every engine stays on one worker.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from compat.models.errors import GivenFileError, MissingSessionsError, UnusedFileError
from compat.models.importing import import_files
from compat.report.conform_failure import failure_texts
from compat.report.conform_text import counted, does
from compat.report.plain_text import plain
from compat.verdicts.conformance import AnyEvent, Breakdown, ClauseResult, EngineInfo
from property_tests.defaults import EXAMPLES, SEED
from property_tests.drawn_worlds import ship
from property_tests.judging.engine_workers import UnusableEngineError
from property_tests.judging.engines import judging
from property_tests.judging.inputs import ConformRequest
from property_tests.judging.pool import EngineLostError, Pool
from property_tests.known.entries import KnownFailures, KnownFailuresError
from property_tests.known.states import known_of, unmatched
from property_tests.pytest_summary import TITLE, summary_lines, tell, told_by
from property_tests.registry import Clause, UnknownSelectorError, contract
from refengine.errors import UnknownProfileError
from refengine.profile import profile
from refengine.testing.machine import install_line


def lines(result: ClauseResult, clause: Clause) -> Iterator[str]:
    """Yield why a clause is not kept: what was asked, both values, the world."""
    head = f"{clause.id} {clause.level} on {plain(result.engine)}: {result.verdict}"
    yield head
    yield f"  {clause.sentence}"
    if result.reason:
        yield f"  because   {plain(result.reason)}"
    if result.failure is None:
        return
    found = failure_texts(result.failure)
    yield f"  asked     {found.asked}, variant {found.variant}"
    yield f"  expected  {found.expected}"
    yield f"  got       {found.got}"
    if found.differs:
        yield f"  differs   {found.differs}"
    yield f"  fails in  {result.failing} of {counted(result.worlds, 'world')}"
    yield "  observations around it, > decided:"
    yield from (f"  {each.mark} {each.text}" for each in found.around)
    yield "  the smallest world found:"
    yield from (f"    {each}" for each in found.world)
    yield f"  again     {found.reproduce}"


def fault_lines(faults: Iterable[Breakdown]) -> Iterator[str]:
    """Yield what broke down."""
    yield "it could not be judged:"
    yield from (f"  {each.whose}: {plain(each.text)}" for each in faults)


def stale_line(result: ClauseResult) -> str:
    """Return what is wrong with a known failure that is none any more."""
    return (
        f"listed as a known failure ({plain(result.known_issue)}), but"
        f" {plain(result.known_reason)} ('refengine baseline update' mends the file)"
    )


def corpus_text(request: ConformRequest) -> str:
    """Return which worlds are run, and which are not."""
    if not request.examples:
        return "fixed cases only: no generated worlds were asked for"
    generated = counted(request.examples, "generated world")
    if find_spec("hypothesis") is None and not ship(request.examples, request.seed):
        are = does(request.examples, "are")
        return (
            f"fixed cases only: {generated} {are} NOT run, others than the default ones"
            f" need Hypothesis ({install_line('testing')})"
        )
    return f"fixed cases and {generated} of seed {request.seed}"


def some(ids: Sequence[str]) -> str:
    """Return the first of some ids, in brackets."""
    more = ", …" if len(ids) > 3 else ""
    return f" ({', '.join(ids[:3])}{more})" if ids else ""


MISTAKES: Final = (
    GivenFileError,
    KnownFailuresError,
    OSError,
    UnknownProfileError,
    UnknownSelectorError,
    UnusableEngineError,
    UnusedFileError,
    MissingSessionsError,
    EngineLostError,
)


@contextmanager
def mistakes() -> Generator[None, None, None]:
    """Tell a user's mistake as pytest tells one."""
    try:
        yield
    except OSError as error:
        _refuse(f"{error.filename}: {error.strerror}")
    except MISTAKES as error:
        _refuse(str(error))


def request_of(given: Mapping[str, Any]) -> ConformRequest:
    """Return what the options ask for, by their destinations; raises UsageError.

    Also raises UnknownSelectorError and UnknownProfileError.
    """
    examples, seed = (given[f"refengine_engine_{n}"] for n in ("examples", "seed"))
    if examples is not None and examples < 0:
        _refuse(f"--engine-examples is {examples}: give 0 or more")
    under = given["refengine_engine_profile"]
    known = given["refengine_engine_known"]
    return ConformRequest(
        engines=_engines(given["refengine_engine"] or ()),
        profile=None if under is None else profile(under).name,
        clauses=_clauses(given["refengine_engine_clause"] or ()),
        examples=EXAMPLES if examples is None else examples,
        seed=SEED if seed is None else seed,
        known=None if known is None else Path(known),
        worlds=tuple(map(Path, given["refengine_engine_worlds"] or ())),
    )


def _engines(names: Sequence[str]) -> tuple[str, ...]:
    if not names or not all(names):
        _refuse("no engine is named: --engine NAME")
    for at, each in enumerate(names):
        if each in names[:at]:
            _refuse(f"{each!r} is named twice")
    return tuple(names)


def _clauses(words: Sequence[str]) -> tuple[Clause, ...]:
    """Return the chosen clauses, all if none is; refused if no check decides any."""
    found = contract().select(words)
    if not any(each.status == "checked" for each in found):
        first = found[0]
        _refuse(f"{first.id} is {first.status}, so no check decides it: {first.why}")
    return found


def _refuse(why: str) -> NoReturn:
    raise pytest.UsageError(f"--engine: {why}")


FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class JudgedEngine:
    """What the events of a judgement say of one engine."""

    info: EngineInfo | None
    results: Mapping[str, ClauseResult]
    faults: Sequence[Breakdown]


class EngineTests:
    """What was asked for on the command line, and the engines as they are judged."""

    def __init__(self, config: pytest.Config, given: Mapping[str, Any]) -> None:
        """Check what was asked for; raises UsageError.

        A worker of pytest-xdist leaves to the controller what needs the engine.
        """
        self._judged: dict[str, JudgedEngine] = {}
        self._loaded: dict[str, Mapping[str, Any]] = {}
        self._words: Sequence[str] = given["refengine_engine_clause"] or ()
        with mistakes():
            self.request = request_of(given)
            import_files(self.request.worlds)  # a mistake in one comes before all else
            if not hasattr(config, "workerinput"):
                self._loaded |= {
                    each: self._load(each) for each in self.request.engines
                }
                self._refuse_unmatched()

    @property
    def checked(self) -> tuple[Clause, ...]:
        """The chosen clauses that a check decides."""
        return tuple(each for each in self.request.clauses if each.status == "checked")

    def tell(
        self, engine: str, clause: str, record: Callable[[str, object], None]
    ) -> None:
        """Leave with a test what the summary says of its clause."""
        tell(record, engine, clause, self._of(engine).results.get(clause))

    def settle(self, engine: str, clause: str) -> None:
        """Pass, fail, skip or expect to fail, as the clause was judged."""
        __tracebackhide__ = True
        judged = self._of(engine)
        result = judged.results.get(clause)
        if result is None:
            pytest.fail("\n".join(fault_lines(judged.faults)), pytrace=False)
        text = "\n".join(lines(result, contract().clause(clause)))
        if result.known == "known":
            pytest.xfail(f"{result.known_reason} ({result.known_issue})")
        if result.known == "stale":
            pytest.fail(f"{stale_line(result)}\n{text}", pytrace=False)
        if result.verdict == "not-applicable":
            pytest.skip(f"not applicable: {plain(result.reason)}")
        if result.verdict != "pass":
            pytest.fail(text, pytrace=False)

    def settle_door(self, engine: str) -> None:
        """Fail if anything broke down, a capability is absent, or nothing ran."""
        __tracebackhide__ = True
        judged = self._of(engine)
        absent = () if judged.info is None else judged.info.absent
        faults = list(fault_lines(judged.faults)) if judged.faults else []
        faults += [
            f"declares {each!r}, and its probe did not find it" for each in absent
        ]
        if not any(each.worlds for each in judged.results.values()):
            faults.append("no world let any check decide: nothing was judged")
        if faults:
            pytest.fail("\n".join(faults), pytrace=False)

    def pytest_report_header(self) -> list[str]:
        """Tell what is judged, and what is not run."""
        of = contract()
        chosen = f"{len(self.checked)} of {len(of.checked)} checked clauses"
        found = [
            f"refengine: contract {of.version}, {chosen}; {corpus_text(self.request)}"
        ]
        for engine, said in self._loaded.items():
            absent = [e.id for e in self.checked if e.id not in said["applying"]]
            version = f" {said['version']}" if said["version"] else ""
            text = f"refengine: {engine}{version}, profile {said['profile']}"
            found.append(f"{text}: {len(absent)} not applicable{some(absent)}")
        return [plain(each) for each in found]

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        """Say of each engine whether it keeps what was asked, and where to read on."""
        every = (each for found in terminalreporter.stats.values() for each in found)
        told = told_by(each for each in every if isinstance(each, pytest.TestReport))
        if told:
            terminalreporter.section(TITLE)
            for line, wrong in summary_lines(told, self.request, self._words):
                terminalreporter.write_line(line, red=wrong)

    def pytest_pycollect_makemodule(
        self, module_path: Path, parent: pytest.Collector
    ) -> pytest.Module | None:
        """Name our tests alike, wherever the package is installed."""
        if module_path.parent != FOLDER:
            return None
        nodeid = f"{FOLDER.name}/{module_path.name}"
        kind: Any = pytest.Module
        found: pytest.Module = kind.from_parent(parent, path=module_path, nodeid=nodeid)
        return found

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: object) -> object:
        """Keep an engine on one worker, unless the user chose a distribution."""
        if config.getoption("dist") != "load":
            return None
        scheduling: Any = import_module("xdist.scheduler").LoadScopeScheduling
        found = scheduling(config, log)
        found._split_scope = self.scope_of  # noqa: SLF001  # what its subclasses define
        return found

    def scope_of(self, nodeid: str) -> str:
        """Return what stays together with a test: its engine, or the test alone."""
        _, sign, case = nodeid.removesuffix("]").partition("[")
        if sign and nodeid.startswith(f"{FOLDER.name}/"):
            for each in sorted(self.request.engines, key=len, reverse=True):
                if case == each or case.startswith(f"{each}-"):
                    return f"{FOLDER.name}[{each}]"
        return nodeid

    def _of(self, engine: str) -> JudgedEngine:
        if engine not in self._judged:
            self._judged[engine] = self._judge(engine)
        return self._judged[engine]

    def _judge(self, engine: str) -> JudgedEngine:
        request = replace(self.request, engines=(engine,), jobs=_jobs())
        events: list[AnyEvent] = []
        try:
            with judging(request) as judgement:
                judgement.tell(events.append)
        except MISTAKES as error:
            events.append(Breakdown(engine=engine, whose="engine", text=str(error)))
        return _read(events)

    def _load(self, engine: str) -> Mapping[str, Any]:
        """Return what an engine says of itself; raises UnusableEngineError."""
        about = {
            "engine": engine,
            "profile": self.request.profile,
            "clauses": [each.id for each in self.checked],
        }
        with Pool(about, 1, self.request.timeout) as pool:
            found = pool.one({"op": "load"})
        for why in ("usage", "broken"):
            if why in found:
                raise UnusableEngineError(str(found[why]))
        return found

    def _refuse_unmatched(self) -> None:
        """Raise UsageError for known failures of nothing that is judged."""
        versions = {each["name"]: each["version"] for each in self._loaded.values()}
        found = {
            entry.where: entry
            for name in versions
            for entry in known_of(name, self.request.known).entries
        }
        known = KnownFailures(tuple(found.values()))
        if faults := unmatched(known, versions, contract()):
            raise pytest.UsageError("\n".join(faults))


def cases(metafunc: pytest.Metafunc, suite: EngineTests | None) -> None:
    """Make the tests: one for each engine, and one for each of its clauses."""
    engines = () if suite is None else suite.request.engines
    clauses = () if suite is None else suite.checked
    if "clause" in metafunc.fixturenames:
        found = [(engine, clause.id) for engine in engines for clause in clauses]
        ids = [f"{engine}-{clause}" for engine, clause in found]
        metafunc.parametrize(("engine", "clause"), found, ids=ids)
    elif "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", engines, ids=engines)


def _read(events: Sequence[AnyEvent]) -> JudgedEngine:
    infos = [each for each in events if isinstance(each, EngineInfo)]
    results = [each for each in events if isinstance(each, ClauseResult)]
    # What a file lists of other engines was looked at when all of them were known.
    faults = [each for each in events if isinstance(each, Breakdown) and each.engine]
    return JudgedEngine(
        infos[0] if infos else None, {e.clause: e for e in results}, faults
    )


def _jobs() -> int:
    """Return so many workers of an engine that all tests together use each core once.

    0 leaves the number to the suite.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return 0 if workers == 1 else max((os.cpu_count() or 1) // workers, 1)

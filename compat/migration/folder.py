"""A folder of migrations, each judged as its ``migration.toml`` declares.

A case that ``holds`` has to hold; one that ``diverges`` has to diverge, with that code.
What is not declared is an error: nothing passes by absence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter

from compat.drivers.building import DriverBuildError
from compat.drivers.installed import EngineNameError
from compat.engines.capabilities import MissingExtraError
from compat.environments.making import EnvironmentMakingError
from compat.environments.naming import EnvironmentChoiceError
from compat.environments.pythons import PythonError
from compat.migration.check import Checked, check_all, code_of, corpus_of
from compat.migration.differences import AllowedTexts, Mask
from compat.migration.given import NOTHING, GivenData, Samples, read_given
from compat.migration.judge import Allow, Terms
from compat.migration.options import Reach
from compat.migration.refs import (
    LANGUAGES,
    RefError,
    SubjectRef,
    parse_ref,
)
from compat.migration.reproducer import NotOursError
from compat.migration.settings import (
    FILE,
    Allowance,
    DeclaredCase,
    MeantOrder,
    Settings,
    SettingsError,
    load_settings,
)
from compat.migration.subject_runner import CheckOptions
from compat.migration.surroundings import (
    AskedSides,
    SideSurroundings,
    surrounded,
)
from compat.migration.wire import NoWorldsError
from compat.models.errors import GivenFileError, UnusedFileError
from compat.spreading import (
    OtherFilesError,
    RefusedUnitError,
    Spread,
    UnitData,
)
from compat.verdicts.exit_codes import DIFFERS, NOTHING_RAN, exit_code
from compat.verdicts.migration import JudgedCase, Migration
from compat.verdicts.relations import DEFAULT_RELATION
from compat.verdicts.sharpness import EquivalentMark
from compat.wire.errors import WireError
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import ScenarioError, load_scenario
from refengine.testing.world import WorldExtraError

AT_ONCE: Final = 2
"""So many pieces are judged at the same time; each keeps two children busy."""

UNSEEN: Final = "WAY_LOST"
"""The code that no check over the wire gives: a graph is run in one way there."""

CASES: Final = ("right*", "wrong_*")
"""How the files of cases are called, before what they end in."""

Engines: TypeAlias = tuple[str | None, str | None]
Done: TypeAlias = Callable[[JudgedCase], None]
Whole: TypeAlias = "Callable[[Piece, Sequence[JudgedCase]], None]"


class NoPiecesError(ValueError):
    """A folder in which no folder has a file of settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        what = f"no folder in it has a {FILE}" if folder.is_dir() else "no such folder"
        if folder.is_file():
            what = f"this is a file: give a folder of folders with a {FILE} each"
        super().__init__(
            f"{folder}: {what}; refengine init migration writes one to start from"
        )


def mistakes() -> tuple[type[Exception], ...]:
    """Return what a user can get wrong: reported without a traceback."""
    own = RefError, SettingsError, NoPiecesError, NotOursError, NoWorldsError
    given = GivenFileError, UnusedFileError, RefusedUnitError
    driven = EngineNameError, MissingExtraError, DriverBuildError
    made = EnvironmentChoiceError, EnvironmentMakingError, PythonError
    return *own, *given, *driven, *made, WorldExtraError, WireError, OSError


@dataclass(frozen=True, slots=True)
class Piece:
    """One folder: its settings and where they stand."""

    name: str
    folder: Path
    settings: Settings

    def ref(self, text: str) -> SubjectRef:
        """Return which subject a case names; raises RefError."""
        case = self.settings.cases.get(text, DeclaredCase())
        engine = case.engine or self.settings.new_engine
        return replace(self._ref(text), engine=engine)

    @property
    def old(self) -> SubjectRef:
        """The old side; raises RefError."""
        ref = self._ref(self.settings.old)
        return replace(ref, engine=self.settings.old_engine)

    def _ref(self, text: str) -> SubjectRef:
        """Return a subject that the file names; what is wrong tells which file."""
        try:
            return parse_ref(text, cwd=self.folder)
        except RefError as error:
            raise RefError(f"{self.folder / FILE}: {error}") from None

    def terms(self, case: str) -> Terms:
        """Return what a case is held to; raises SettingsError."""
        settings = self.settings
        found = settings.cases.get(case, DeclaredCase())
        return Terms(
            found.holds or settings.require,
            tuple(Mask(each.channel, each.path) for each in settings.volatile),
            tuple(
                Allow(_allowed(each), each.reason, self._world(each.world))
                for each in found.allow
            ),
            outside=settings.outside,
            marks=tuple(
                EquivalentMark(each.file, each.line.strip(), each.change, each.reason)
                for each in settings.equivalent
            ),
            shows=found.diverges,
        )

    @property
    def around(self) -> AskedSides:
        """What is around both sides."""
        said = self.settings
        return (
            SideSurroundings(said.old_with, said.old_setup, self.folder),
            SideSurroundings(said.new_with, said.new_setup, self.folder),
        )

    @property
    def given(self) -> GivenData:
        """What the user has of his own; raises GivenFileError or OSError."""
        settings, samples = self.settings, self.settings.samples
        return read_given(
            [self.folder / name for name in settings.worlds],
            [self.folder / name for name in settings.tools],
            Samples()
            if samples is None
            else Samples(
                samples.texts or (), samples.ids or (), samples.documents or ()
            ),
        )

    def _world(self, name: str) -> Scenario:
        try:
            return load_scenario(self.folder / name)
        except FileNotFoundError:
            why = "there is no such file; --save-world writes it"
        except (ScenarioError, OSError) as error:
            why = str(error)
        raise SettingsError(self.folder / FILE, [f"world {name!r}: {why}"])


def _allowed(said: Allowance) -> Sequence[AllowedTexts]:
    texts = said.role or "", said.old, said.new
    return [AllowedTexts(channel, said.path, *texts) for channel in said.channel]


def pieces_in(folder: Path) -> list[Piece]:
    """Return the pieces of a folder, or the folder itself as the only one.

    Raises NoPiecesError, SettingsError or OSError, before anything is judged.
    """
    files = sorted(folder.glob(f"*/{FILE}"))
    if (folder / FILE).is_file():
        files.insert(0, folder / FILE)
    if not files:
        raise NoPiecesError(folder)
    return [_piece(file) for file in files]


def terms_of(settings: Path | None, new: SubjectRef, require: str | None) -> Terms:
    """Return what one pair is held to; ``require`` wins over the file.

    Allowances are those of the case that is NEW. Raises SettingsError or OSError.
    """
    if settings is None:
        return Terms(require or DEFAULT_RELATION)
    folder = settings.parent.resolve()
    piece = Piece(folder.name, folder, load_settings(settings))
    cases = piece.settings.cases
    names = [name for name in cases if _same(piece.ref(name), new)]
    if cases and not names:
        known = ", ".join(cases)
        raise SettingsError(settings, [f"no case is {new}; there are {known}"])
    terms = piece.terms(names[0] if names else "")
    return terms if require is None else replace(terms, required=require)


def one_side_of(
    settings: Path | None, require: str | None
) -> tuple[Terms, tuple[MeantOrder, ...]]:
    """Return what one side alone is held to, and which orders are meant.

    What is allowed to a new side is nothing that it may differ in from itself. Raises
    SettingsError or OSError.
    """
    if settings is None:
        return Terms(require or DEFAULT_RELATION), ()
    folder = settings.parent.resolve()
    piece = Piece(folder.name, folder, load_settings(settings))
    terms = replace(piece.terms(""), marks=())
    required = require or terms.required
    return replace(terms, required=required), piece.settings.order


def engines_of(settings: Path | None, new: SubjectRef) -> Engines:
    """Return on which engines a file says that OLD and NEW are played."""
    if settings is None:
        return None, None
    folder = settings.parent.resolve()
    piece = Piece(folder.name, folder, load_settings(settings))
    cases = map(piece.ref, piece.settings.cases)
    own = next((each.engine for each in cases if _same(each, new)), None)
    return piece.settings.old_engine, own or piece.settings.new_engine


def around_of(settings: Path | None) -> AskedSides:
    """Return what a file says is around OLD and NEW."""
    if settings is None:
        return SideSurroundings(), SideSurroundings()
    folder = settings.parent.resolve()
    return Piece(folder.name, folder, load_settings(settings)).around


def given_of(settings: Path | None) -> GivenData:
    """Return what a file of settings names of the user's own; raises as it does."""
    if settings is None:
        return NOTHING
    folder = settings.parent.resolve()
    return Piece(folder.name, folder, load_settings(settings)).given


def _same(case: SubjectRef, new: SubjectRef) -> bool:
    return (case.file, case.module, case.name) == (new.file, new.module, new.name)


def judge_pieces(
    pieces: Sequence[Piece],
    how: CheckOptions,
    done: Done,
    whole: Whole = lambda _piece, _cases: None,
) -> list[JudgedCase]:
    """Judge all cases; ``done`` hears of each, and ``whole`` of each piece.

    Who interrupts it need not wait for the pieces that are being judged. Raises
    RefError, SettingsError, GivenFileError or UnusedFileError.
    """
    stop = Event()

    def progress(phase: str, worlds: int, most: int) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        how.progress(phase, worlds, most)

    plans = [
        (
            piece,
            replace(how, given=piece.given, progress=progress),
            {
                case: (piece.ref(case), piece.terms(case))
                for case in _judged(piece, how)
            },
        )
        for piece in pieces
    ]

    def judged(
        plan: tuple[Piece, CheckOptions, Mapping[str, tuple[SubjectRef, Terms]]],
    ) -> list[JudgedCase]:
        piece, how, news = plan
        plain = [ref for ref, _ in news.values()]
        with surrounded(piece.old, plain, piece.around) as (old, refs):
            news = {
                name: (ref, terms)
                for ref, (name, (_, terms)) in zip(refs, news.items(), strict=True)
            }
            corpus = corpus_of([old, *refs], how, piece.settings.outside)
            how.given.used(corpus)
            found = check_all(old, news, corpus, how, explain=False)
        cases = [_case(piece, name, found[name]) for name in news]
        for each in cases:
            done(each)
        whole(piece, cases)
        return cases

    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            return [case for cases in pool.map(judged, plans) for case in cases]
        except KeyboardInterrupt:
            stop.set()
            raise


def _judged(piece: Piece, how: CheckOptions) -> Iterator[str]:
    """Yield the cases that can be judged; over the wire a graph has one way to run."""
    for name, case in piece.settings.cases.items():
        if how.wire is not None and case.diverges == UNSEEN:
            how.wire.leave_out(f"{piece.name}/{name}")
        else:
            yield name


def folder_code(cases: Sequence[JudgedCase]) -> int:
    """Return the exit code of a folder."""
    if not cases:
        return NOTHING_RAN
    codes = [DIFFERS for each in cases if not each.met]
    for each in cases:
        code = code_of(each.verdict)
        codes += [code] if not each.met and code != DIFFERS else []
    return exit_code(*codes)


def _piece(file: Path) -> Piece:
    settings = load_settings(file)
    folder = file.parent.resolve()
    problems = list(_undeclared(folder, settings))
    if problems:
        raise SettingsError(file, problems)
    return Piece(folder.name or str(folder), folder, settings)


def _undeclared(folder: Path, settings: Settings) -> Iterator[str]:
    """Yield what is declared and not there, or there and not declared."""
    if not settings.cases:
        yield 'there is no case: add [cases."new.py"]'
    declared = {_file(name) for name in settings.cases}
    for pattern in (f"{name}{end}" for name in CASES for end in LANGUAGES):
        for path in sorted(folder.glob(pattern)):
            if path.name not in declared:
                yield f'{path.name} is not a case: add [cases."{path.name}"]'


def _file(case: str) -> str:
    return case.partition(":")[0]


def _case(piece: Piece, name: str, checked: Checked) -> JudgedCase:
    case, verdict = piece.settings.cases[name], checked.verdict
    expected = case.diverges or case.holds or piece.settings.require
    return JudgedCase(
        piece.name,
        name,
        expected,
        _got(verdict, expected),
        _met(case, expected, verdict),
        verdict,
    )


def _met(case: DeclaredCase, expected: str, verdict: Migration) -> bool:
    if case.diverges is None:  # it was held to what is expected of it
        return code_of(verdict) == 0
    # That a hook of NEW is never entered may be just what is wrong with it.
    idle = any(side == "old" for side, _ in verdict.idle)
    ran = not (verdict.fault or verdict.noise or idle or verdict.stale)
    return ran and _got(verdict, expected) == expected


def _got(verdict: Migration, expected: str) -> str:
    """Return in a word or two how a case came out.

    Where worlds diverge with several codes, the one that is expected of it.
    """
    if verdict.fault is not None:
        return verdict.fault.kind
    if verdict.noise:
        return "not comparable"
    if not verdict.sufficient and verdict.divergence is not None:
        codes = {each.code for each in verdict.groups}
        return expected if expected in codes else verdict.divergence.code
    if verdict.idle or verdict.crashed:
        return "not exercised"
    if verdict.broken:
        return "INTENT"
    return verdict.holds or "nothing"


# The pieces of a folder as units of a cluster: what is sent, and what comes back. A
# worker reads the same folder at the same place, as where several machines share a file
# system; one with other content there is refused, or its verdicts would be of something
# else.

KIND: Final = "piece"
CASES_AS_JSON: Final = TypeAdapter(list[JudgedCase])
_REACH: Final = TypeAdapter(Reach)

_Options: TypeAlias = "dict[str, Any]"


def judge_spread(
    spread: Spread,
    pieces: Sequence[Piece],
    how: CheckOptions,
    done: Done,
    whole: Whole = lambda _piece, _cases: None,
) -> list[JudgedCase]:
    """Judge all cases on a cluster, as ``judge_pieces``. The order is the folder's.

    Raises RefusedUnitError.
    """
    # The largest first, or the last worker is left alone with it.
    order = sorted(pieces, key=lambda each: -len(each.settings.cases))
    found: dict[str, list[JudgedCase]] = {}
    for at, answer in spread.each(KIND, [unit_of(each, how) for each in order]):
        cases = CASES_AS_JSON.validate_python(answer["cases"], strict=False)
        found[str(order[at].folder)] = cases
        for each in cases:
            done(each)
        whole(order[at], cases)
    return [case for piece in pieces for case in found[str(piece.folder)]]


def unit_of(piece: Piece, how: CheckOptions) -> UnitData:
    """Return a piece as JSON: where it stands, what stands there, and how to judge."""
    options: _Options = {name: getattr(how, name) for name in _OPTIONS}
    options["reach"] = _REACH.dump_python(how.reach, mode="json")
    folder = str(piece.folder)
    return {"folder": folder, "content": _content(piece.folder), "options": options}


def judged_piece(unit: UnitData) -> UnitData:
    """Return the verdicts on a piece, as JSON; this is what a worker plays.

    Raises RefusedUnitError for whatever is a mistake in what was given.
    """
    folder = Path(unit["folder"])
    try:
        if _content(folder) != unit["content"]:
            raise OtherFilesError(folder)
        options = dict(unit["options"])
        reach = _REACH.validate_python(options.pop("reach"))
        how = CheckOptions(**options, reach=reach)
        cases = judge_pieces(pieces_in(folder)[:1], how, lambda _: None)
    except OSError as error:
        raise RefusedUnitError(f"{error.filename}: {error.strerror}") from error
    except mistakes() as error:
        raise RefusedUnitError(str(error)) from error
    return {"cases": CASES_AS_JSON.dump_python(cases, mode="json")}


_OPTIONS: Final = (
    "examples",
    "seed",
    "timeout",
    "profile",
    "domain",
    "sharpness_plays",
    "min_sharpness",
    "strict",
    "search_plays",
    "hand_over",
)
"""What of the options is a number or a name; a server or own data are not sent."""


def _content(folder: Path) -> str:
    """Return the hash of the files of a folder, without what Python leaves there."""
    found = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            found.update(file.relative_to(folder).as_posix().encode())
            found.update(file.read_bytes())
    return found.hexdigest()

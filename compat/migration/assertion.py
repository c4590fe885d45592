"""``assert_migrates``: the check of the command line as an assertion in a test."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final, TypeAlias

from rich.console import Console
from rich.text import Text

from compat.migration.check import check, code_of, over_the_wire
from compat.migration.corpus import NoExamplesError
from compat.migration.folder import given_of, mistakes, terms_of
from compat.migration.given import read_given
from compat.migration.judge import Terms
from compat.migration.options import (
    DOMAINS,
    EXAMPLES,
    ORDINARY,
    OWN,
    SHARPNESS_PLAYS,
    SIDE_DOORS,
    TIMEOUT,
    Reach,
    UnknownWordError,
    address,
    known,
    plays_of_changes,
)
from compat.migration.refs import SubjectRef, parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.report.migration import lines
from compat.report.migration_basis import wire_lines
from compat.verdicts.migration import Migration
from compat.verdicts.relations import RELATIONS

Given: TypeAlias = "str | Path | Callable[..., object]"


class NotImportableError(TypeError):
    """A subject that a process of its own could not find again."""

    def __init__(self, given: object) -> None:
        self.given = given
        super().__init__(
            f"{given!r} is not a function at the top of a module: give one that is,"
            " or a text such as 'old.py:subject'"
        )


MISTAKES: Final[tuple[type[Exception], ...]] = (
    *mistakes(),
    NotImportableError,
    NoExamplesError,
    UnknownWordError,
)
"""What stands for a mistake in what was given."""


def assert_migrates(  # noqa: PLR0913  # the options of the command
    old: Given,
    new: Given,
    require: str | None = None,
    *,
    examples: int = EXAMPLES,
    seed: int = 0,
    timeout: float = TIMEOUT,
    settings: str | Path | None = None,
    worlds: Sequence[str | Path] = (),
    tools: Sequence[str | Path] = (),
    domain: str = ORDINARY,
    search_plays: int = 0,
    sharpness_plays: int | None = None,
    min_sharpness: float = 0.0,
    strict: bool = False,
    wire: bool = False,
    net: Iterable[str] = (),
    env: Iterable[str] = (),
    side_doors: str = OWN,
) -> Migration:
    """Raise AssertionError with the report unless NEW still does what OLD did.

    A subject is a text as on the command line, the path of a file whose ``subject`` is
    meant, or a function of a module. ``settings`` is a migration.toml; ``require`` wins
    over it and is same-effects otherwise. ``worlds`` and ``tools`` are files of your
    own. With the ``domain`` "all" unusual worlds count as ordinary ones do. Small
    changes of both are played if ``min_sharpness`` percent of them have to be noticed,
    or ``sharpness_plays`` is given, or it is ``strict``, so that what holds weakly does
    not pass; and a search goes on where it holds for ``search_plays``: a test that
    passes shows no report. With ``wire``, graphs ask a server on this machine by a
    vendor's client. ``net`` are sockets (HOST:PORT) that are allowed, and ``env``
    variables that are given; with ``side_doors="all"`` records of frameworks count,
    too. Returns the verdict. Raises RefError, SettingsError, NotImportableError or
    ValueError for what cannot be meant, and MissingExtraError or MissingWireExtraError.
    """
    __tracebackhide__ = True
    try:
        if require is not None:
            known(require, RELATIONS, "relation")
        known(domain, DOMAINS, "domain")
        known(side_doors, SIDE_DOORS, "choice of side doors")
        refs = _ref(old), _ref(new)
        path = None if settings is None else Path(settings)
        terms = terms_of(path, refs[1], require)
        own = read_given([*map(Path, worlds)], [*map(Path, tools)])
        how = CheckOptions(
            examples,
            seed,
            timeout,
            domain=domain,
            reach=Reach(tuple(env), tuple(map(address, net)), side_doors),
            given=own.joined(given_of(path)),
            search_plays=search_plays,
            sharpness_plays=plays_of_changes(
                sharpness_plays, min_sharpness, SHARPNESS_PLAYS if strict else 0
            ),
            min_sharpness=min_sharpness,
            strict=strict,
        )
        verdict, report = _checked(refs, terms, how, wire=wire)
    except MISTAKES as error:
        # Where it was found is of no use to who made it: one line says what is wrong.
        raise error.with_traceback(None) from None
    if verdict.interrupted:
        raise KeyboardInterrupt
    if code_of(verdict):
        raise AssertionError(_text(report))
    return verdict


def _checked(
    refs: tuple[SubjectRef, SubjectRef], terms: Terms, how: CheckOptions, *, wire: bool
) -> tuple[Migration, list[Text]]:
    """Return the verdict and its report."""
    with over_the_wire(how) if wire else nullcontext(how) as playing:
        verdict = check(*refs, terms, playing).verdict
        around = () if playing.wire is None else wire_lines(playing.wire.summary)
    return verdict, [*lines(verdict), *around]


def _ref(given: Given) -> SubjectRef:
    """Return the reference under which a process of its own finds the same function."""
    if isinstance(given, (str, Path)):
        return parse_ref(str(given))
    module = sys.modules.get(getattr(given, "__module__", ""))
    name = getattr(given, "__qualname__", "")
    file = getattr(module, "__file__", None) or ""
    if getattr(module, name, None) is not given or not file.endswith(".py"):
        raise NotImportableError(given)
    if not getattr(module, "__package__", ""):
        return parse_ref(f"{file}:{name}")
    dotted = given.__module__
    root = Path(file).parents[dotted.count(".") + (Path(file).stem == "__init__")]
    return parse_ref(f"{dotted}:{name}", cwd=root)


def _text(report: Iterable[Text]) -> str:
    console = Console(file=io.StringIO(), width=100, highlight=False, soft_wrap=True)
    with console.capture() as captured:
        for line in report:
            console.print(line)
    return f"the migration is not accepted\n{captured.get()}"

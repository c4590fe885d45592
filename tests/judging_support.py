"""Both sides of a migration, judged in the worlds alone that a test is about."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from compat.migration.check import check_all, corpus_of
from compat.migration.corpus import MigrationWorld
from compat.migration.judge import Terms
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.verdicts.migration import Migration

Chosen = Callable[[Sequence[MigrationWorld]], Iterable[MigrationWorld]]
"""Chooses worlds of a corpus."""


def of_family(name: str) -> Chosen:
    """Return what chooses the worlds of one family."""
    return lambda worlds: [each for each in worlds if each.family == name]


def judged_in(
    chosen: Chosen,
    folder: Path,
    old: str,
    new: str,
    *,
    seed: int = 0,
    explain: bool = False,
) -> Migration:
    """Write two sources to a folder; return the verdict in chosen worlds of theirs."""
    for name, text in (("old", old), ("new", new)):
        (folder / f"{name}.py").write_text(text, "utf-8")
    refs = [parse_ref(f"{folder}/{name}.py") for name in ("old", "new")]
    how = CheckOptions(examples=1, seed=seed)
    corpus = corpus_of(refs, how)
    corpus = replace(corpus, worlds=tuple(chosen(corpus.worlds)))
    sides = {"new": (refs[1], Terms())}
    return check_all(refs[0], sides, corpus, how, explain=explain)["new"].verdict

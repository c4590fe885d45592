"""``refengine corpus``: sessions and worlds that are more than one run plays."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from compat.cli.command import argument, group, option, refuse, refusing
from compat.cli.shared_options import CLUSTER
from compat.cli.spread_on import spread_on
from compat.cli.values import (
    FILE_THERE,
    OUTPUT,
    OUTPUT_FOLDER,
    WHOLE,
    at_least,
)
from compat.verdicts.exit_codes import OK
from property_tests.defaults import EXAMPLES, SEED

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable

    from compat.corpora.entries import CorpusEntry

app = group("Keep sessions and worlds that are more than one run plays.")
OUT = "the corpus to write, such as sessions.jsonl.gz"


@app.command("import")
@argument("files", "sessions: chats, spans, scenarios, cassettes", FILE_THERE, nargs=-1)
@option("--out", about=OUT, kind=OUTPUT, required=True)
def import_(*, files: tuple[Path, ...], out: Path) -> int:
    """Read sessions and write them as a corpus: a scenario each, with its hash.

    Chats as JSON lines are read one by one, however many there are. A line that is
    not a session is told, and then nothing is written.
    """
    from compat.corpora.operations import imported

    if not files:
        refuse("corpus import", "give a file of sessions")
    return _write("corpus import", out, imported(files))


@app.command("make")
@option("--examples", about="generated worlds", kind=at_least(0), default=EXAMPLES)
@option("--seed", about="of the generated worlds", kind=WHOLE, default=SEED)
@option("--out", about=OUT, kind=OUTPUT, required=True)
def make(*, examples: int, seed: int, out: Path) -> int:
    """Write the worlds that engines are judged in as a corpus."""
    from compat.corpora.entries import entry_of
    from property_tests.judging.inputs import make_corpus

    worlds = make_corpus(examples, seed).corpus.worlds
    entries = (
        entry_of(each.scenario, each.recorded or each.clause or f"seed {seed}", kind)
        for each in worlds
        for kind in [each.family]
    )
    return _write("corpus make", out, entries)


@app.command("info")
@argument("file", "a corpus", FILE_THERE)
def info(*, file: Path) -> int:
    """Tell what a corpus holds, and of how many kinds."""
    from compat.corpora.entries import read_entries, sample_of
    from compat.corpora.operations import info_of
    from compat.report.conform_text import counted
    from compat.report.terminal import console

    with _mistakes("corpus info"):
        found = info_of(read_entries(file))
        sample = sample_of(file)
    out = console()
    many = counted(found.entries, "scenario")
    out.print(f"{many}, {found.equal} of them there before")
    if sample is not None:
        out.print(f"a sample of {sample.entries}")
    _counts("from", found.kinds)
    _counts("kinds of sessions", found.strata)
    if found.unseen:
        many = counted(found.unseen, "scenario")
        out.print(f"{many} not exercised yet, as refengine corpus exercise does")
    _counts("clauses that they decide", found.clauses)
    _counts("branches that they take", found.branches)
    return OK


@app.command("exercise")
@argument("file", "a corpus", FILE_THERE)
@option("--out", about=OUT, kind=OUTPUT, required=True)
@option("--subject", about="note the branches of it instead", metavar="SUBJECT")
@CLUSTER
def exercise(*, file: Path, out: Path, subject: str | None, on: str | None) -> int:
    """Play a corpus, and note of each session which clauses of the contract it decides.

    With --subject it is played on middleware, and what is noted are the branches of its
    code: those that no session takes are untried by a migration that is judged in them.
    """
    from compat.corpora.entries import read_entries
    from compat.migration.branches import BranchesTaken, python_ref, with_branches
    from compat.migration.refs import RefError
    from compat.report.terminal import console
    from compat.spreading import RefusedUnitError
    from property_tests.exercised import with_exercised

    seen = BranchesTaken()
    with (
        refusing("corpus exercise", RefError, RefusedUnitError),
        spread_on("corpus exercise", on) as spread,
    ):
        entries = read_entries(file)
        if subject is None:
            found = with_exercised(entries, spread)
        else:
            found = with_branches(entries, python_ref(subject), seen, spread)
        _write("corpus exercise", out, found)
    for each in seen.untaken:
        console().print(f"no session takes {each}")
    return OK


@app.command("dedupe")
@argument("files", "corpora", FILE_THERE, nargs=-1, required=True)
@option("--out", about=OUT, kind=OUTPUT, required=True)
def dedupe(*, files: tuple[Path, ...], out: Path) -> int:
    """Write a corpus, or several as one, with each scenario once."""
    from compat.corpora.operations import deduplicated, merged

    return _write("corpus dedupe", out, deduplicated(merged(files)))


@app.command("merge")
@argument("files", "corpora", FILE_THERE, nargs=-1)
@option("--out", about=OUT, kind=OUTPUT, required=True)
def merge(*, files: tuple[Path, ...], out: Path) -> int:
    """Write several corpora as one, one after the other."""
    from compat.corpora.operations import merged

    if len(files) < 2:
        refuse("corpus merge", f"give two corpora or more; {len(files)} given")
    return _write("corpus merge", out, merged(files))


@app.command("split")
@argument("file", "a corpus", FILE_THERE)
@option("--into", "parts", about="so many corpora", kind=at_least(2), required=True)
@option("--out", "folder", about="where to", kind=OUTPUT_FOLDER, required=True)
def split(*, file: Path, parts: int, folder: Path) -> int:
    """Write a corpus as several; equal scenarios are in the same part."""
    from compat.corpora.operations import split as split_file
    from compat.report.conform_text import counted
    from compat.report.terminal import console

    with _mistakes("corpus split"):
        for path, written in split_file(file, parts, folder):
            console().print(f"{path.name}: {counted(written.entries, 'scenario')}")
    return OK


@app.command("sample")
@argument("file", "a corpus", FILE_THERE)
@option("--size", about="so many scenarios", kind=at_least(1), required=True)
@option("--seed", about="of the choice", kind=WHOLE, default=SEED)
@option("--out", about=OUT, kind=OUTPUT, required=True)
def sample(*, file: Path, size: int, seed: int, out: Path) -> int:
    """Write a stratified sample of a corpus, and tell what a clean one promises.

    Each kind of session has the share that it has in the corpus, and at least one
    scenario. Give the sample to --worlds of conform or migrate check: the report tells
    the promise.
    """
    from compat.corpora.operations import sample_file
    from compat.report.conform_text import counted
    from compat.report.terminal import console

    with _mistakes("corpus sample"):
        found = sample_file(file, size, seed, out)
    show = console()
    show.print(f"{len(found.entries):,} of {counted(found.of, 'scenario')}")
    for each in found.strata:
        show.print(f"  {each.sampled} of {each.entries}  {each.name}")
    show.print(
        f"if none of them diverges, at most {found.bound:.2%} of all do, at 95 %"
    )
    return OK


def _write(name: str, out: Path, entries: Iterable[CorpusEntry]) -> int:
    from compat.corpora.entries import write_entries
    from compat.report.conform_text import counted
    from compat.report.terminal import console

    with _mistakes(name):
        written = write_entries(out, entries)
    many = counted(written.entries, "scenario")
    console().print(f"{out.name}: {many}, {written.digest[:12]}")
    return OK


def _counts(title: str, counts: Counter[str]) -> None:
    from compat.report.terminal import console

    if counts:
        console().print(f"{title}:")
    for name in sorted(counts):
        console().print(f"  {counts[name]}  {name}")


@contextmanager
def _mistakes(name: str) -> Generator[None, None, None]:
    from compat.corpora.entries import CorpusFileError
    from compat.corpora.operations import SampleSizeError
    from compat.models.errors import GivenFileError

    wrong: Sequence[type[Exception]] = (
        CorpusFileError,
        SampleSizeError,
        GivenFileError,
        OSError,
    )
    with refusing(name, *wrong):
        yield

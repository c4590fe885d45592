"""Judging several engines in one stream of events, and what it comes to."""

from __future__ import annotations

import platform
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TextIO

from compat.models.importing import import_files
from compat.report.conform_stream import JudgementStream
from compat.verdicts.conformance import Footer, StreamHeader
from compat.verdicts.exit_codes import DIFFERS, FAULT, NOTHING_RAN, STALE, exit_code
from compat.wire.scrubbing.scrubber import output_scrubber
from property_tests.corpus import SuiteCorpus
from property_tests.judging.engine import EngineJudge, EngineJudged, same_names
from property_tests.judging.inputs import (
    ConformRequest,
    Emit,
    MadeCorpus,
    clause_infos,
    corpus_files,
    first_worlds,
    make_corpus,
    smallest_corpus,
    write_corpus,
)
from property_tests.judging.pool import expect_workers
from property_tests.known.entries import joined_known
from property_tests.known.states import unmatched
from property_tests.registry import contract


class EnginesJudgement:
    """Engines on their way through one corpus.

    with judging(asked, command) as judgement:
        footer = judgement.tell(emit)
    """

    def __init__(
        self,
        request: ConformRequest,
        made: MadeCorpus,
        judges: Sequence[EngineJudge],
        command: str,
    ) -> None:
        self._asked = request
        self._made = made
        self._judges = judges
        self._command = command

    @property
    def judges(self) -> Sequence[EngineJudge]:
        """What judges each engine, while its workers live."""
        return self._judges

    def tell(self, emit: Emit, out: TextIO | None = None) -> Footer:
        """Judge, telling every event from header to footer; return the footer.

        With ``out`` they are written there as well.
        """
        stream = JudgementStream(out)
        told = stream.telling(emit, output_scrubber().text)
        told(self._header())
        for info in clause_infos():
            told(info)
        lost = self._unmatched()
        *others, last = self._judges
        worlds = self._made.corpus.worlds
        judged = [each.judge(worlds, told) for each in others]
        # What is about none of the engines stands with the last of them.
        judged.append(last.judge(worlds, told, unmatched=lost))
        codes = [*self._codes(judged), *([STALE] if lost else [])]
        footer = stream.end(exit_code(*codes))
        emit(footer)
        return footer

    def _unmatched(self) -> list[str]:
        """Return what is listed as a known failure of nothing that was judged."""
        known = joined_known(each.known for each in self._judges)
        judged = {each.name: each.version for each in self._judges}
        return list(unmatched(known, judged, contract()))

    def _codes(self, judged: Sequence[EngineJudged]) -> Iterator[int]:
        for each in judged:
            if not any(result.worlds for result in each.results):
                yield NOTHING_RAN
            if each.broke_down:
                yield FAULT
            if not each.summary.conformant:
                yield DIFFERS
            if any(result.known == "stale" for result in each.results):
                yield STALE

    def _header(self) -> StreamHeader:
        corpus = self._made.corpus
        versions = {each.name: each.version for each in self._judges}
        return StreamHeader(
            contract=contract().version,
            corpus=corpus.digest,
            seed=corpus.seed,
            worlds=len(corpus.worlds),
            fixed=corpus.fixed,
            recorded=corpus.recorded,
            told=self._made.told,
            engines=tuple(each.name for each in self._judges),
            selected=tuple(each.id for each in self._asked.clauses),
            excluded=dict(self._asked.excluded),
            versions={name: at for name, at in versions.items() if at},
            tool=f"refengine {version('refengine')}",
            python=platform.python_version(),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=self._command,
        )


@contextmanager
def judging(
    request: ConformRequest, command: str = ""
) -> Generator[EnginesJudgement, None, None]:
    """Make the corpus, start the workers of all engines, and end them afterwards.

    Those of the first engine judge it in the first worlds while others are drawn, which
    takes as long. Raises UnusableEngineError before anything is reported,
    GivenFileError and UnusedFileError for a file of worlds, and MissingSessionsError.
    """
    given = import_files(request.worlds)
    expect_workers(request.python)
    seed = request.seed
    smallest = smallest_corpus(seed) if request.smallest else None
    first = smallest.corpus.worlds if smallest else first_worlds(seed, given)
    with ExitStack() as stack:
        files = stack.enter_context(corpus_files())
        write_corpus(SuiteCorpus(first, seed), files.first)
        judges = [EngineJudge(e, request, files, stack) for e in request.engines]
        same_names(judges)
        for each in judges:
            _ = each.known  # a mistake in its file comes before anything is judged
        # Units are cut from the whole corpus, which is not there yet.
        judges[0].begin(len(first) if request.spread is None else 0)
        made = smallest or make_corpus(
            request.examples, seed, given, first=first, meanwhile=judges[0].go_on
        )
        write_corpus(made.corpus, files.whole)
        yield EnginesJudgement(request, made, judges, command)

"""Judging subjects in Go or TypeScript: a few worlds by hand, and many mistakes."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from compat.migration.check import Checked, check_all, code_of
from compat.migration.corpus import Corpus, MigrationWorld
from compat.migration.judge import Terms
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from refengine.testing.scenario_files import read_scenario

Mistakes = Mapping[str, tuple[str, int, str]]
"""A source, the exit code, and how what is said begins."""
HI = {
    "agent": {},
    "model_script": ["assistant:hi"],
    "runs": [{"input": ["user:a"]}],
}
needs_go = pytest.mark.skipif(
    shutil.which("go") is None, reason="without Go no driver in Go is built"
)


def corpus(*worlds: object) -> Corpus:
    read = [read_scenario(json.loads(json.dumps(each)), "a world") for each in worlds]
    own = tuple(MigrationWorld(each, "by hand", fixed=True) for each in read)
    return Corpus(own, 0)


def mistaken(
    made: Path, old: str, mistakes: Mistakes, suffix: str = ".go"
) -> Mapping[str, Checked]:
    """Judge each mistake beside a right OLD, which is built and started once."""
    (made / f"old{suffix}").write_text(old, "utf-8")
    news = {}
    for name, (source, _, _) in mistakes.items():
        (made / name).mkdir()
        (made / name / f"new{suffix}").write_text(source, "utf-8")
        news[name] = (parse_ref(f"new{suffix}", cwd=made / name), Terms())
    how = CheckOptions(timeout=2)
    ref = parse_ref(f"old{suffix}", cwd=made)
    return check_all(ref, news, corpus(HI), how, explain=False)


def assert_told(found: Checked, mistake: tuple[str, int, str]) -> None:
    """Hold what is said of a mistake, and its exit code, against what is wanted."""
    _, code, said = mistake

    assert found.verdict.fault is not None
    assert found.verdict.fault.text.startswith(said)
    assert code_of(found.verdict) == code

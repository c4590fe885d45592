"""``refengine conform``: engines in workers of their own, judged from outside."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat.verdicts.conformance import ClauseResult, EngineSummary, Footer
from property_tests.generating import generated
from property_tests.judging.inputs import smallest_corpus
from property_tests.registry import contract
from tests.commands import read_stream, refengine
from tests.few_worlds import LAW, judging_in

HEAD = """
import asyncio, os, sys, time
from refengine.agent import build_agent
from refengine.profile import SEED_001

class Right:
    name = "right"
    profile = SEED_001
    built = 0
    async def build(self, config, on_notice):
        return await build_agent(config, SEED_001, on_notice=on_notice)
"""
QUICK = ("-k", "ORD", "--examples", "0", "--jobs", "1")


@pytest.fixture(autouse=True)
def few_worlds() -> Iterator[None]:
    """Judge in few worlds what is judged in this process."""
    with judging_in("ORD", "EXT"):
        yield


def conform(
    *arguments: str, at: Path, **env: str
) -> "subprocess.CompletedProcess[str]":
    """Run it here, or as a process where something is set in its environment."""
    if not env:
        return refengine("conform", *arguments, at=at)
    command = [sys.executable, "-m", "refengine", "conform", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=at,
        env={**os.environ, **env},
    )


def engine(at: Path, body: str, name: str = "mine.py") -> str:
    (at / name).write_text(HEAD + body)
    return name


def judged(at: Path) -> dict[str, ClauseResult]:
    events = read_stream((at / "events.jsonl").read_text())
    return {each.clause: each for each in events if isinstance(each, ClauseResult)}


def test_the_reference_engine_keeps_the_clauses_that_are_chosen(tmp_path: Path) -> None:
    done = conform("reference", *QUICK, at=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "CONFORMANT  reference" in done.stdout


def test_a_broken_order_fails_the_clause_of_order_and_no_other(tmp_path: Path) -> None:
    body = """
from dataclasses import replace
class Backwards(Right):
    name = "backwards"
    async def build(self, config, on_notice):
        return await super().build(
            replace(config, middlewares=config.middlewares[::-1]), on_notice
        )
"""
    file = engine(tmp_path, body)

    done = conform(f"{file}:Backwards", *QUICK, "--events", "events.jsonl", at=tmp_path)
    failed = {k for k, each in judged(tmp_path).items() if each.verdict == "fail"}

    assert done.returncode == 1, done.stdout + done.stderr
    assert "ORD-001" in failed
    assert f"refengine conform {file}:Backwards --clause ORD-001" in done.stdout


def test_the_printed_command_shows_the_same_failure_again(tmp_path: Path) -> None:
    body = """
from dataclasses import replace
class Backwards(Right):
    name = "backwards"
    async def build(self, config, on_notice):
        return await super().build(
            replace(config, handlers=config.handlers[::-1]), on_notice
        )
"""
    file = engine(tmp_path, body)
    conform(f"{file}:Backwards", *QUICK, "--events", "events.jsonl", at=tmp_path)
    first = judged(tmp_path)["ORD-001"]
    assert first.failure is not None

    words = first.failure.reproduce.split()[2:]
    done = conform(*words, "--events", "events.jsonl", at=tmp_path)
    again = judged(tmp_path)["ORD-001"]

    assert done.returncode == 1
    assert again.failure == first.failure


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("refrence",), "no engine 'refrence'"),
        (("reference", "-k", "ODR"), "no clause matches 'ODR'"),
        (("reference", "--clause", "ORD-999"), "no clause matches 'ORD-999'"),
        (("reference", "reference"), "two of the engines are called 'reference'"),
        (("reference", "--engine-profile", "seed-002"), "seed-002"),
        (("nowhere.py:Engine",), "nowhere.py"),
        (("reference", "--show-trace", "ORD-999"), "no clause matches 'ORD-999'"),
        (("reference", "--known", "nowhere.toml"), "nowhere.toml"),
        (("reference", "--exclude", "ODR"), "no clause matches 'ODR'"),
        (("reference", "-k", "ORD", "--exclude", "ord"), "nothing is left to be"),
        (("reference", "--html", "a", "--json", "./a"), "both to be written to a"),
        (("reference", "--html", "no/a.html"), "'no/a.html' does not exist"),
        (("reference", "--events", "."), "'.' is a directory"),
    ],
)
def test_a_mistake_of_the_user_is_told_in_one_line(
    arguments: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    done = conform(*arguments, "--examples", "0", at=tmp_path)

    assert done.returncode == 2, done.stdout + done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("kind", ["json", "junit", "markdown", "html", "events"])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    kind: str, tmp_path: Path
) -> None:
    done = conform("reference", f"--{kind}", "no/such", at=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert f"'--{kind}': the folder of 'no/such' does not exist" in done.stderr


def test_what_is_excluded_is_not_judged_and_told(tmp_path: Path) -> None:
    options = ("--exclude", "ord-001", "--exclude", "EXT", "--json", "out.json")

    done = conform("reference", *QUICK, *options, at=tmp_path)
    said = json.loads((tmp_path / "out.json").read_text())

    assert done.returncode == 0, done.stdout + done.stderr
    assert "excluded: ord-001 (1 clause), EXT (0 clauses)" in done.stdout
    assert said["header"]["excluded"] == {"ord-001": 1, "EXT": 0}
    judged_ = [each["clause"] for each in said["engines"][0]["results"]]
    assert "ORD-001" not in judged_
    assert "ORD-002" in judged_


def test_reader_that_leaves_costs_no_report(tmp_path: Path) -> None:
    words = ("-m", "refengine", "conform", "reference", "--clause", LAW.lower())
    options = ("--examples", "0", "--jobs", "1", "--json", "out.json")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, *words, *options],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
        cwd=tmp_path,
    )
    os.close(write)

    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads((tmp_path / "out.json").read_text())["exit"] == 0


@pytest.mark.parametrize("more", [("--examples", "3"), ("--seed", "1")])
def test_the_smallest_set_has_no_other_worlds(
    more: tuple[str, str], tmp_path: Path
) -> None:
    done = conform("reference", "--smallest", *more, at=tmp_path)

    assert done.returncode == 2
    assert f"{more[0]} with --smallest, which has fixed cases only" in done.stderr


def test_the_smallest_set_has_one_case_of_each_clause(tmp_path: Path) -> None:
    body = """
from dataclasses import replace
class Backwards(Right):
    name = "backwards"
    async def build(self, config, on_notice):
        turned = replace(config, handlers=config.handlers[::-1])
        return await super().build(turned, on_notice)
"""
    mine = engine(tmp_path, body)
    line = f"{mine}:Backwards", "-k", "ORD-001", "-k", "TOOL-001"

    done = conform(*line, "--smallest", "--events", "events.jsonl", at=tmp_path)

    assert done.returncode == 1, done.stdout + done.stderr
    cases = [each.clause for each in smallest_corpus(0).corpus.worlds]
    assert len(cases) == len(set(cases)) > 250
    assert f"{len(cases)} worlds" in done.stdout
    assert "note: the smallest set: one fixed case of each clause" in done.stdout
    verdicts = {name: each.verdict for name, each in judged(tmp_path).items()}
    assert verdicts == {"ORD-001": "fail", "TOOL-001": "pass"}


def test_a_selection_without_any_check_is_refused(tmp_path: Path) -> None:
    planned = next(each for each in contract().clauses if each.status != "checked")

    done = conform("reference", "--clause", planned.id, at=tmp_path)

    assert done.returncode == 2
    assert f"{planned.id} is chosen, but no check decides it" in done.stderr


def test_an_engine_that_talks_is_judged_like_a_silent_one(tmp_path: Path) -> None:
    body = """
class Talks(Right):
    name = "talks"
    async def build(self, config, on_notice):
        print("working", flush=True)
        print("a warning", file=sys.stderr, flush=True)
        os.write(1, b'{"id": 0, "decided": {}}\\n')
        return await super().build(config, on_notice)
"""
    file = engine(tmp_path, body)

    done = conform(f"{file}:Talks", *QUICK, at=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "working" not in done.stdout


def test_an_engine_that_hangs_is_ended_and_named(tmp_path: Path) -> None:
    body = """
class Hangs(Right):
    name = "hangs"
    async def build(self, config, on_notice):
        if len(config.handlers) > 1:
            await asyncio.Event().wait()
        return await super().build(config, on_notice)
"""
    file = engine(tmp_path, body)

    done = conform(f"{file}:Hangs", *QUICK, "--timeout", "0.5", at=tmp_path)

    assert done.returncode == 3, done.stdout + done.stderr
    assert "it did not end within 0.5 s" in done.stdout
    assert "and this engine was given up" in done.stdout  # and not asked once more


def test_an_engine_that_cannot_say_its_name_is_told_by_where_it_stands(
    tmp_path: Path,
) -> None:
    body = """
class Nameless(Right):
    @property
    def name(self):
        raise RuntimeError("no name")
"""
    file = engine(tmp_path, body)

    done = conform(f"{file}:Nameless", *QUICK, at=tmp_path)

    assert done.returncode == 2, done.stdout + done.stderr
    assert f"{file}:Nameless: RuntimeError: no name" in done.stderr


def test_an_engine_that_exits_is_told_with_its_code_and_last_words(
    tmp_path: Path,
) -> None:
    body = """
class Exits(Right):
    name = "exits"
    async def build(self, config, on_notice):
        if len(config.handlers) > 1:
            print("out of cheese")
            sys.stdout.flush()
            os._exit(7)
        return await super().build(config, on_notice)
"""
    file = engine(tmp_path, body)

    done = conform(f"{file}:Exits", *QUICK, at=tmp_path)

    assert done.returncode == 3, done.stdout + done.stderr
    assert "code 7" in done.stdout
    assert "out of cheese" in done.stdout


def test_the_same_seed_gives_the_same_digest_whatever_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "local.py").write_text("TEXT = 'a rare text'\nNUMBERS = (77, 12345)\n")
    body = "import local\nclass Mine(Right):\n    name = 'mine'\n"
    file = engine(tmp_path, body)
    digests: set[str] = set()
    for seed, jobs in (("0", "1"), ("1", "2"), ("random", "2")):
        arguments = (f"{file}:Mine", "--clause", LAW, "--examples", "9")
        done = conform(
            *arguments,
            *("--jobs", jobs, "--json", "out.json"),
            at=tmp_path,
            PYTHONHASHSEED=seed,
            PYTHONPATH=str(tmp_path),
        )
        assert done.returncode == 0, done.stdout + done.stderr
        digests.add(json.loads((tmp_path / "out.json").read_text())["digest"])

    assert len(digests) == 1


def test_nothing_is_left_in_the_folder(tmp_path: Path) -> None:
    options = ("--clause", LAW, "--examples", "1", "--jobs", "1")

    done = conform("reference", *options, at=tmp_path, PYTHONHASHSEED="0")

    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def test_other_seeds_draw_other_worlds_and_one_seed_always_the_same() -> None:
    def drawn(seed: int) -> list[str]:
        return [each.scenario.model_dump_json() for each in generated(27, seed=seed)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_what_is_refused_is_told_apart_from_what_failed(tmp_path: Path) -> None:
    conform("reference-legacy", *QUICK, "--events", "events.jsonl", at=tmp_path)
    events = read_stream((tmp_path / "events.jsonl").read_text())
    (summary,) = (each for each in events if isinstance(each, EngineSummary))

    assert summary.refused > 0
    assert summary.verdicts.get("not-applicable", 0) > 0
    assert summary.verdicts.get("fail", 0) == 0


def test_all_kinds_of_report_tell_the_same_digest(tmp_path: Path) -> None:
    names = {kind: f"out.{kind}" for kind in ("json", "junit", "markdown", "html")}
    options = [word for kind, name in names.items() for word in (f"--{kind}", name)]

    done = conform("reference", *QUICK, *options, "--events", "e.jsonl", at=tmp_path)
    footer = read_stream((tmp_path / "e.jsonl").read_text())[-1]

    assert done.returncode == 0
    assert isinstance(footer, Footer)
    assert json.loads((tmp_path / "out.json").read_text())["digest"] == footer.digest
    assert all((tmp_path / name).read_text() for name in names.values())

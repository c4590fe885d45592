"""Long searches tell the same on workers, and which they are stands in a table.

Real workers of dask, on the loopback interface, at sizes that take seconds.
"""

import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from click.testing import CliRunner

from compat.cluster import opened as cluster
from compat.cluster import units
from compat.cluster.opened import DaskSpread, LocalWorkers
from compat.cluster.units import KINDS, own_version, packed, run_unit
from compat.spreading import RefusedUnitError
from tools import adapted, dialect_compat, flow_ports
from tools.cancelling import search as cancelling
from tools.differential import __main__ as differential
from tools.differential import parts as differential_parts
from tools.resuming import search as resuming
from tools.searching import KIND, SEARCHES, played
from tools.state import fuzz

Told = tuple[int, str]


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    with cluster._started(LocalWorkers(2)) as found:
        yield found


def different(line: Sequence[str]) -> int:
    """Run the command that click reads, which ends as one does."""
    ended = CliRunner().invoke(differential.main, list(line))
    sys.stdout.write(ended.stdout)
    return ended.exit_code


# By the name of a search: its command, and a line on which it has several parts.
RUNS: dict[str, tuple[Callable[[Sequence[str]], int], str]] = {
    "adapted": (adapted.main, "--examples 5 --profile eino-0.7 --profile seed-001"),
    "cancelling": (
        cancelling.main,
        "--worlds 20 --profile seed-001 --profile eino-0.7",
    ),
    "dialect_compat": (dialect_compat.main, "--worlds 9"),
    "differential": (
        different,
        "flow flow --profile adk-go-0.4 --worlds 6 --explained {nothing}",
    ),
    "flow_ports": (flow_ports.main, "--worlds 4"),
    "fuzz": (fuzz.main, "--inputs 450"),
    "resuming": (resuming.main, "--worlds 16 --processes 1"),
}
FOUND = {"differential"}
"""What has something to tell: two engines that are not the same."""


def plain(text: str) -> str:
    """Return a report without what is measured."""
    return re.sub(r"[0-9.]+ (s|MiB)\b", r"\1", text)


@pytest.mark.parametrize("search", RUNS)
def test_search_tells_the_same_without_and_with_two_workers(
    search, workers, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(fuzz, "AT_ONCE", 200)
    monkeypatch.setattr(differential_parts, "AT_ONCE", 2)
    nothing = tmp_path / "nothing.toml"
    nothing.touch()
    main, words = RUNS[search]
    line = words.format(nothing=nothing).split()
    told: list[Told] = []
    for on in ([], ["--on", workers.scheduler_address]):
        code = main([*line, *on])
        told.append((code, plain(capsys.readouterr().out)))
    assert told[0] == told[1]
    assert told[0][0] == int(search in FOUND)
    assert told[0][1].strip()


def test_every_search_of_the_table_is_run_here_and_can_be_played() -> None:
    assert RUNS.keys() == SEARCHES.keys()
    for module in SEARCHES.values():
        assert callable(importlib.import_module(module).searched)


def test_search_that_is_not_in_the_table_is_refused_by_a_worker(workers):
    unit = {"search": "os.system", "part": {}}
    with (
        cluster.opened(workers.scheduler_address) as spread,
        pytest.raises(RefusedUnitError, match=r"no search 'os\.system'.*adapted"),
    ):
        list(spread.each(KIND, [unit]))


def test_worker_opens_no_engine_that_a_name_in_data_would_import() -> None:
    about = {"kind": "flow", "theirs": "os:system", "profile": None}
    part = {**about, "explained": [], "worlds": []}
    with pytest.raises(RefusedUnitError, match="os:system is not an installed engine"):
        played({"search": "differential", "part": part})


def test_sources_of_searches_count_where_one_is_played() -> None:
    assert own_version(KIND) != own_version("rows")
    assert len({own_version(kind) for kind in KINDS}) == 2


def test_worker_without_the_sources_of_searches_refuses_them(monkeypatch) -> None:
    asked = packed({"version": own_version(KIND), "kind": KIND, "unit": {}})
    own_version.cache_clear()
    monkeypatch.setattr(units, "find_spec", {"tools": None}.get)
    monkeypatch.setattr(units, "_PACKAGES", ())
    refused = json.loads(run_unit(asked))
    own_version.cache_clear()
    assert "no sources of refengine's 'tools'" in refused["refused"]


def test_refused_search_ends_its_command_in_plain_words(monkeypatch, capsys, workers):
    monkeypatch.setattr(DaskSpread, "each", refusing)
    with pytest.raises(SystemExit) as left:
        flow_ports.main(["--worlds", "1", "--on", workers.scheduler_address])
    assert left.value.code == 2
    assert "no such sources" in capsys.readouterr().err


def refusing(*_: object) -> Iterator[Any]:
    raise RefusedUnitError("no such sources")
    yield


def test_parts_of_inputs_are_the_inputs_of_the_whole(monkeypatch) -> None:
    short = fuzz.records()[-1:]
    monkeypatch.setattr(fuzz, "records", lambda: short)
    joined = {size: fuzz.FuzzTally() for size in (70, 600)}
    for size, found in joined.items():
        for part in fuzz.parts(5, 600, size):
            found.join(fuzz.searched(json.loads(packed(part))))
    assert joined[70].outcomes == joined[600].outcomes
    assert len({way for way, _ in joined[70].outcomes}) > 2


def test_wrong_input_is_told_with_its_number_and_ends_a_search(
    monkeypatch, capsys
) -> None:
    def broken(record: bytes, types: Any) -> str:
        if len(record) == 7:
            raise KeyError("seq")
        return right(record, types)

    right = fuzz.outcome
    monkeypatch.setattr(fuzz, "outcome", broken)
    assert fuzz.main(["--inputs", "50"]) == 1
    told = capsys.readouterr().out
    assert "input 7, cut: KeyError('seq')" in told
    assert "inputs                            7" in told

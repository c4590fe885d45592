"""Work on a cluster: one answer for any number of workers, whatever becomes of one.

Real workers of dask, on the loopback interface.
"""

import importlib
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from distributed import Client

from compat.cluster import opened as cluster
from compat.cluster.opened import (
    ClusterAddressError,
    DaskSpread,
    LocalWorkers,
    LostUnitError,
    OtherVersionError,
    RunningScheduler,
    UnreachableSchedulerError,
    cluster_address,
    opened,
)
from compat.cluster.units import KINDS, own_version, packed, run_unit
from compat.corpora.entries import entry_of, write_entries
from compat.migration import branches
from compat.migration.branches import KIND as OF_BRANCHES
from compat.migration.branches import BranchesTaken, with_branches
from compat.migration.folder import KIND as OF_PIECES
from compat.migration.folder import judge_pieces, judge_spread, pieces_in, unit_of
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.observe import judging as rows_judging
from compat.observe.judging import judged_rows
from compat.observe.rows import read_rows
from compat.report.migration_json import folder_json
from compat.spreading import RefusedUnitError
from property_tests.checks import CHECKS
from property_tests.corpus import SuiteCorpus, fixed_worlds
from property_tests.judging import spread_pool
from property_tests.judging.inputs import (
    corpus_files,
    make_corpus,
    write_corpus,
)
from property_tests.judging.pool import LOST, EngineLostError, Pool
from property_tests.judging.spread_pool import SpreadPool
from property_tests.matrix import matrix
from property_tests.mutants import MUTANTS
from property_tests.spread_matrix import spread_player
from refengine.testing.scenario_files import read_scenario
from tests.commands import refengine

ROWS = Path(rows_judging.__file__).parent / "rows" / "eino_probes.json"
CLUSTER = Path(cluster.__file__).parent
HELD = 2
"""So many units a worker has at most that are not done; the others wait."""
PIECE = Path(__file__).parent.parent / "examples" / "first_run"
HOW = CheckOptions(examples=1)
CLAUSES = sorted({each.clause for each in CHECKS})
LEAVING = """
import os

from refengine.profile import profile
from refengine.testing import ReferenceEngine


class Leaving(ReferenceEngine):
    name = "leaving"
    profile = "seed-001"

    def __init__(self):
        super().__init__(profile("seed-001"))

    async def build(self, *_args, **_more):
        os._exit(3)
"""


def test_each_kind_of_unit_is_played_where_its_sender_stands() -> None:
    for kind, (module, function) in KINDS.items():
        found = importlib.import_module(module)
        assert kind == found.KIND
        assert callable(getattr(found, function))


def wait_until(holds: Callable[[], Any]) -> None:
    """Return once it holds: a scheduler hears of things a moment later."""
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.01)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    with cluster._started(LocalWorkers(2)) as found:
        yield found


@pytest.fixture(scope="module")
def client(workers) -> Iterator[Any]:
    with Client(workers.scheduler_address, set_as_default=False) as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pieces, so that a worker that ends leaves work for the other."""
    found = tmp_path_factory.mktemp("pieces")
    for name in ("a", "b", "c"):
        shutil.copytree(PIECE, found / name)
    return found


@pytest.fixture(scope="module")
def alone(folder: Path) -> str:
    """Return what judging the folder says without any cluster."""
    return json.dumps(folder_json(judge_pieces(pieces_in(folder), HOW, print)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("local:4", LocalWorkers(4)),
        ("tls://10.1.2.3:8786", RunningScheduler("tls://10.1.2.3:8786")),
        ("tcp://127.0.0.1:8786", RunningScheduler("tcp://127.0.0.1:8786")),
        ("tcp://[::1]:8786", RunningScheduler("tcp://[::1]:8786")),
        ("tcp://localhost:1", RunningScheduler("tcp://localhost:1")),
    ],
)
def test_on_names_workers_of_this_machine_or_a_scheduler(text, found):
    assert cluster_address(text) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("local:", "not a number of workers"),
        ("local:0", "not a number of workers"),
        ("local:-1", "not a number of workers"),
        ("local:2x", "not a number of workers"),
        ("8786", "not an address of a scheduler"),
        ("http://127.0.0.1:8786", "not an address of a scheduler"),
        ("tcp://127.0.0.1", "not an address of a scheduler"),
        ("tcp://127.0.0.1:x", "not an address of a scheduler"),
        ("tcp://10.1.2.3:8786", "10.1.2.3 is another machine, and without TLS"),
        ("tcp://scheduler:8786", "scheduler is another machine, and without TLS"),
    ],
)
def test_what_on_cannot_mean_is_told_with_what_it_can(text, why):
    with pytest.raises(ClusterAddressError) as error:
        cluster_address(text)
    assert why in str(error.value)
    assert "local:N" in str(error.value)


def test_folder_is_judged_alike_on_workers_and_when_one_of_them_is_killed(
    workers, client, folder, alone
):
    done: list[str] = []

    def killing(case) -> None:
        done.append(case.piece)
        if len(done) == 1:  # the others are being judged, or wait
            nanny = next(iter(workers.workers.values()))
            os.kill(nanny.pid, signal.SIGKILL)

    cases = judge_spread(DaskSpread(client), pieces_in(folder), HOW, killing)
    assert json.dumps(folder_json(cases)) == alone
    assert sorted(set(done)) == ["a", "b", "c"]


def test_command_says_the_same_with_and_without_workers(tmp_path, folder):
    said = {}
    for on in ((), ("--cluster", "local:1")):
        file = tmp_path / f"{len(on)}.json"
        line = ("--all", str(folder / "a"), "--examples", "1", "--json", str(file))
        ended = refengine("migrate", "check", *line, *on, at=tmp_path)
        assert ended.returncode == 0
        said[on] = (ended.stdout, file.read_bytes())
    assert len(set(said.values())) == 1


def test_workers_answer_for_an_engine_what_its_own_pool_does(client):
    worlds = tuple(fixed_worlds())[:40]
    requests = [
        {"op": "load"},
        *({"op": "judge", "world": at} for at in range(len(worlds))),
    ]
    with corpus_files() as files:
        write_corpus(SuiteCorpus(worlds, 0), files.whole)
        write_corpus(SuiteCorpus(worlds, 0), files.first)
        about = {
            "engine": "reference",
            "profile": None,
            "first": str(files.first),
            "corpus": str(files.whole),
            "clauses": CLAUSES,
        }
        with Pool(about, 1, 60) as pool:
            here = dict(pool.each(requests))
        spread = SpreadPool(about, files, DaskSpread(client), 60)
        assert dict(spread.each(requests)) == here
    assert any(each.get("decided") for each in here.values())


def test_engine_is_judged_alike_when_a_worker_is_killed(workers, client, monkeypatch):
    worlds = tuple(fixed_worlds())[:12]
    requests = [{"op": "judge", "world": at} for at in range(len(worlds))]
    monkeypatch.setattr(spread_pool, "AT_ONCE", {"judge": 2})
    with corpus_files() as files:
        write_corpus(SuiteCorpus(worlds, 0), files.whole)
        about = {
            "engine": "reference",
            "profile": None,
            "first": str(files.whole),
            "corpus": str(files.whole),
            "clauses": CLAUSES,
        }
        with Pool(about, 1, 60) as pool:
            here = dict(pool.each(requests))
        spread = SpreadPool(about, files, DaskSpread(client), 60)
        there: dict[int, Any] = {}
        for at, reply in spread.each(requests):
            if not there:
                nanny = next(iter(workers.workers.values()))
                os.kill(nanny.pid, signal.SIGKILL)
            there[at] = reply
    assert there == here


def test_any_number_of_workers_gives_the_same_verdicts(workers, client, monkeypatch):
    monkeypatch.setattr(rows_judging, "AT_ONCE", 2)
    rows = read_rows(ROWS)[:8]
    told = list(judged_rows(rows, None, None))
    for count in (3, 1, 2):
        workers.scale(count)
        client.wait_for_workers(count)
        wait_until(lambda count=count: len(client.nthreads()) == count)
        assert list(judged_rows(rows, None, DaskSpread(client))) == told


def test_workers_tell_the_branches_of_a_subject_that_has_no_other_content(
    client, monkeypatch, tmp_path
):
    monkeypatch.setattr(branches, "AT_ONCE", 2)
    worlds = [each.scenario for each in fixed_worlds()][:6]
    entries = [entry_of(each, "x", "scenario") for each in worlds]
    file = shutil.copy(PIECE / "old.py", tmp_path)
    ref = parse_ref(str(file))
    alone, there = BranchesTaken(), BranchesTaken()
    here = list(with_branches(entries, ref, alone))

    assert list(with_branches(entries, ref, there, DaskSpread(client))) == here
    assert there == alone
    about = {"subject": ref.text, "cwd": str(ref.cwd), "scenarios": []}
    units = [{**about, "content": "other"}]
    with pytest.raises(RefusedUnitError, match="a worker has other files there"):
        list(DaskSpread(client).each(OF_BRANCHES, units))


class Slowing:
    """Workers of which one stands still until all that it does not have is done."""

    def __init__(self, spread: Any, pid: int) -> None:
        self._spread = spread
        self._pid = pid

    def each(self, kind: str, units: Any) -> Iterator[Any]:
        done = 0
        os.kill(self._pid, signal.SIGSTOP)
        try:
            for each in self._spread.each(kind, units):
                done += 1
                if done == len(units) - HELD:
                    os.kill(self._pid, signal.SIGCONT)
                yield each
        finally:
            os.kill(self._pid, signal.SIGCONT)


def test_slow_worker_changes_nothing(workers, client, monkeypatch):
    monkeypatch.setattr(rows_judging, "AT_ONCE", 5)
    rows = read_rows(ROWS)
    pid = next(iter(workers.workers.values())).pid
    slowing = Slowing(DaskSpread(client), pid)
    found = list(judged_rows(rows, None, slowing))
    assert found == list(judged_rows(rows, None, None))


def test_scheduler_is_given_units_as_workers_get_free(workers, client):
    nothing = {"rows": [], "profiles": None}
    taken: list[int] = []

    def units() -> Iterator[Any]:
        for at in range(1000):
            taken.append(at)
            yield nothing

    answers = DaskSpread(client).each(rows_judging.KIND, units())
    next(answers)
    assert len(taken) <= 2 * cluster.AHEAD * len(client.nthreads())
    answers.close()
    wait_until(lambda: not workers.scheduler.tasks)


# A shell has all that it starts in the background ignore Ctrl-C.
HEARS_CTRL_C = (
    "import runpy, signal;"
    "signal.signal(signal.SIGINT, signal.default_int_handler);"
    "runpy.run_module('refengine', run_name='__main__', alter_sys=True)"
)


def test_interrupted_command_takes_back_what_is_queued(workers, tmp_path):
    world = read_scenario({"agent": {}, "runs": [{"input": ["user:h"]}]})
    entries = [entry_of(world, "x", "scenario")] * 5000
    write_entries(tmp_path / "all.gz", entries)
    line = ("corpus", "exercise", "all.gz", "--out", "seen.gz")
    command = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HEARS_CTRL_C,
            *line,
            "--cluster",
            workers.scheduler_address,
        ],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: workers.scheduler.tasks)
    command.send_signal(signal.SIGINT)
    _, told = command.communicate(timeout=60)
    assert command.returncode != 0
    assert "Traceback" not in told
    wait_until(lambda: not workers.scheduler.tasks)
    assert [each.name for each in tmp_path.iterdir()] == ["all.gz"]


def test_rows_are_told_alike_and_workers_show_how_far_they_are(tmp_path, monkeypatch):
    here = refengine("observe", str(ROWS), at=tmp_path)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    there = refengine("observe", str(ROWS), "--cluster", "local:1", at=tmp_path)
    assert (there.returncode, plain(there.stdout)) == (0, here.stdout)
    assert "units: rows" in there.stderr
    assert "1/1" in plain(there.stderr)


def test_one_function_goes_out_and_it_does_so_by_its_name():
    sources = [path.read_text("utf-8") for path in CLUSTER.glob("*.py")]
    sent = [each for text in sources for each in re.findall(r"\.submit\((\w+)", text)]
    assert sent == ["run_unit"]
    assert not any(re.search(r"\.(?:map|run|run_on_scheduler)\(", x) for x in sources)
    assert b"compat.cluster.units" in pickle.dumps(run_unit)
    assert len(pickle.dumps(run_unit)) < 60


def test_engine_that_ends_its_workers_is_given_up_wherever_it_runs(client, tmp_path):
    (tmp_path / "leaving.py").write_text(LEAVING)
    worlds = tuple(fixed_worlds())[:LOST]
    with corpus_files() as files, chdir(tmp_path):
        write_corpus(SuiteCorpus(worlds, 0), files.whole)
        about = {"engine": "leaving:Leaving", "profile": None, "clauses": CLAUSES}
        spread = SpreadPool(about, files, DaskSpread(client), 60)
        judged = ({"op": "judge", "world": at} for at in range(LOST))
        with pytest.raises(EngineLostError, match="its process ended with code 3"):
            list(spread.each(judged))


def test_mutants_are_killed_by_the_same_clauses_on_workers(client):
    mutants = [each for each in MUTANTS if "STR-001" in each.violates]
    made = make_corpus(0, 0).corpus
    here = matrix(["STR-001"], mutants, made, search="proof")
    player = spread_player(DaskSpread(client), made, 0, "proof")
    there = matrix(["STR-001"], mutants, made, search="proof", elsewhere=player)
    assert there == here
    assert here.kills


def test_worker_that_makes_other_worlds_is_refused(client):
    corpus = SuiteCorpus(tuple(fixed_worlds())[:1], 0)
    player = spread_player(DaskSpread(client), corpus, 0, "proof")
    with pytest.raises(RefusedUnitError, match="draws other worlds"):
        player(MUTANTS[:1], ())


def test_worker_of_another_version_is_refused_by_name(client, monkeypatch):
    monkeypatch.setattr(cluster, "own_version", lambda: "0.0.1 on Python 3.9")
    with pytest.raises(OtherVersionError) as error:
        list(DaskSpread(client).each(OF_PIECES, [{}]))
    assert "tcp://127.0.0.1:" in str(error.value)
    assert own_version() in str(error.value)
    assert "0.0.1 on Python 3.9" in str(error.value)


def test_folder_that_a_worker_sees_otherwise_is_refused(client, folder):
    (piece,) = pieces_in(folder / "a")
    unit = {**unit_of(piece, HOW), "content": "0" * 64}
    with pytest.raises(RefusedUnitError, match="has other files there"):
        list(DaskSpread(client).each(OF_PIECES, [unit]))


def test_unit_that_breaks_on_its_worker_is_lost_with_the_reason(client):
    with pytest.raises(LostUnitError, match="'folder'"):
        list(DaskSpread(client).each(OF_PIECES, [{}]))


def test_only_bytes_come_out_of_what_a_worker_runs():
    payload = packed({"version": own_version(), "kind": "no such", "unit": {}})
    with pytest.raises(KeyError, match="no such"):
        run_unit(payload)
    assert packed({"text": "\ud800"}) == b'{"text": "\\ud800"}'
    assert asdict(LocalWorkers(1)) == {"workers": 1}


def test_scheduler_that_does_not_answer_is_told(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    with (
        pytest.raises(UnreachableSchedulerError, match="no scheduler answers"),
        opened("tcp://127.0.0.1:9"),
    ):
        pass


def test_workers_of_this_machine_are_seen_by_nobody_else():
    with opened("local:1") as spread:
        info = spread._client.scheduler_info()
        found = [info["address"], *info["workers"]]
        assert len(found) == 2
        assert all(each.startswith("tcp://127.0.0.1:") for each in found)
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"http://127.0.0.1:{info['services']['dashboard']}/status")

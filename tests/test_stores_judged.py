"""``refengine conform --store``: stores judged, ours and broken ones, and mistakes."""

import json
from pathlib import Path

import pytest

from compat.cli.main import main

QUICK = ("--examples", "0", "--jobs", "1")


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """Return the exit code and what was printed, in one line each."""
    with pytest.raises(SystemExit) as left:
        main(["conform", *arguments])
    code = left.value.code
    assert isinstance(code, int)
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), " ".join(err.split())


def clauses(*numbers: int) -> list[str]:
    return [word for n in numbers for word in ("--clause", f"STO-{n:03}")]


def test_a_store_in_memory_is_judged_by_what_it_can_keep(capsys, tmp_path) -> None:
    report = tmp_path / "report.json"
    chosen = clauses(1, 9, 13, 16, 17, 20, 21, 22, 23, 24, 28)

    code, out, _ = run(
        capsys,
        *("--store", "refengine.state:MemoryStore", "--json", str(report)),
        *(*QUICK, *chosen),
    )
    [store] = json.loads(report.read_text())["engines"]

    assert code == 0
    assert out.startswith("1 store, 11 clauses of contract 0.1")
    told = "CONFORMANT MemoryStore: 7 of 28 clauses judged, 4 not applicable"
    assert told in " ".join(out.split())
    assert store["verdicts"]["pass"] == 7
    assert store["verdicts"]["not-applicable"] == 4
    assert {e["reason"] for e in store["results"] if e["reason"]} == {
        "the store does not declare lasting",
        "the store does not declare files and lasting",
    }


def test_a_store_in_a_file_is_killed_and_torn_and_keeps_what_was_safe(capsys) -> None:
    chosen = clauses(25, 28)

    code, out, _ = run(
        capsys, "--store", "refengine.state:SqliteStore", *QUICK, *chosen
    )

    assert code == 0
    assert "CONFORMANT SqliteStore: 2 of 28 clauses judged pass fail" in out


STORE = """
class Store:
    def __init__(self):
        self.rows = {}

    async def append(self, key, seq, record): ...
    async def read(self, key): ...
    async def delete(self, key): ...
    async def keys(self): ...
"""


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("class Store: ...", "it has no method append: async def append(self, key,"),
        (STORE.replace("async def keys", "def keys"), "its keys is not async: async d"),
        (STORE.replace("key, seq, record", "key"), "its append takes (key): async def"),
        (
            f"{STORE}    def __new__(cls): raise OSError('no host')",
            "gives no store: calling it raised OSError: no host",
        ),
        (STORE.replace("(self):", "(self, url, table):"), "takes (url, table), but a"),
        (f"{STORE}    capabilities = ['lastin']", "is not (did you mean 'lasting'?)"),
        (f"{STORE}    capabilities = ['lasting']", "but the factory takes no path"),
        (f"{STORE}    capabilities = 'threads'", "give a set of names"),
        (f"{STORE}\nStore = Store()", "what it names is a store already"),
        (f"{STORE}\nasync def Store(): ...", "the factory is async: make it a plain"),
        (f"{STORE}\nimport nothing_at_all", "No module named 'nothing_at_all'"),
        ("", "has no 'Store'"),
    ],
)
def test_what_is_no_store_is_told_with_what_is_missing(
    capsys, tmp_path, source, told
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(source)

    code, _, err = run(capsys, "--store", f"{file}:Store")

    assert code == 2
    assert told in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--store", "sqlite"), "names no store: it does not say which class"),
        (("reference", "--store", "a:B"), "an engine with --store: engines and stores"),
        (("--store", "a:B", "--engine-profile", "seed-001"), "a store has no profile"),
        (("--store", "a:B", "--show-trace", "STO-001"), "told with all its calls"),
        (("--store", "a:B", "--clause", "ORD-001"), "no clause matches 'ORD-001'"),
        (("reference", "--clause", "STO-001"), "no clause matches 'STO-001'"),
        ((), "Missing argument 'engines': begin with 'refengine conform reference"),
    ],
)
def test_a_line_that_means_nothing_is_refused(capsys, arguments, told) -> None:
    code, _, err = run(capsys, *arguments)

    assert code == 2
    assert told in err


def test_nothing_of_a_judgement_is_left_in_the_folder(
    capsys, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)

    run(capsys, "--store", "refengine.state:MemoryStore", *QUICK, *clauses(1))

    assert list(tmp_path.iterdir()) == []

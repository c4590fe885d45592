"""Corpora as files, and what a clean sample of one promises."""

import gzip
import itertools
import json
import math
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest

from compat.cli.main import main
from compat.corpora.entries import (
    CorpusEntry,
    CorpusFileError,
    entry_of,
    hash_of,
    read_entries,
    sample_of,
    write_entries,
)
from compat.corpora.operations import (
    CorpusSample,
    SampleSizeError,
    Stratum,
    allotted,
    clean_bound,
    counted,
    deduplicated,
    imported,
    info_of,
    merged,
    sample_file,
    sampled,
    split,
)
from compat.models.errors import GivenFileError
from compat.models.importing import import_file
from refengine.testing.scenario_files import read_scenario

SUBJECT = """
from refengine import AgentMiddleware

def subject(world):
    return [AgentMiddleware("Be careful.")]
"""
DONE = {"role": "assistant", "content": "On its way."}


def chat(number: int, turns: int = 1) -> dict[str, object]:
    user = {"role": "user", "content": f"Where is {number}?"}
    return {"messages": [user, DONE] * turns}


def lines(folder: Path, chats: Iterable[object], name: str = "chats.jsonl") -> Path:
    path = folder / name
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(each)}\n" for each in chats)
    return path


def corpus(folder: Path, chats: Iterable[object], name: str = "all.jsonl.gz") -> Path:
    write_entries(folder / name, imported([lines(folder, chats)]))
    return folder / name


def entry(number: int, stratum: str = "turns 1, calls 0") -> CorpusEntry:
    return CorpusEntry({"runs": [{"input": [f"user:{number}"]}]}, "x", "chat", stratum)


def zipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)  # the time of day would be in the test's id


# Files


def test_what_was_written_is_read(tmp_path: Path) -> None:
    world = read_scenario({"agent": {}, "runs": [{"input": ["user:h\u00e9"]}]})
    written = [
        entry(1),
        entry(2).with_exercised(["ORD-002", "ORD-001"]).with_branches(["a", "b"]),
        entry_of(world, "mine", "scenario"),
    ]
    write_entries(tmp_path / "a.jsonl.gz", written)

    found = list(read_entries(tmp_path / "a.jsonl.gz"))

    assert found == written
    assert found[1].exercised == ("ORD-001", "ORD-002")
    assert found[1].branches == ("a", "b")
    assert read_scenario(dict(found[2].scenario)) == world


def test_the_same_entries_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_entries(tmp_path / name, map(entry, range(3)))

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_sessions_are_the_scenarios_that_worlds_reads(tmp_path: Path) -> None:
    chats = [chat(1), chat(2, turns=3)]
    path = corpus(tmp_path, chats)

    found = import_file(path).worlds

    again = import_file(lines(tmp_path, chats)).worlds
    assert [each.scenario for each in found] == [each.scenario for each in again]
    assert found[1].where == "chats.jsonl, line 2"


def test_a_file_that_was_cut_off_anywhere_is_told(tmp_path: Path) -> None:
    path = corpus(tmp_path, map(chat, range(5)))
    data = path.read_bytes()

    for left in range(len(data)):
        path.write_bytes(data[:left])
        with pytest.raises(CorpusFileError, match=r"cut off|is not a corpus"):
            list(read_entries(path))


def test_lines_that_are_missing_are_told(tmp_path: Path) -> None:
    path = corpus(tmp_path, map(chat, range(5)))
    text = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(text[:2] + text[3:])))

    with pytest.raises(CorpusFileError, match="not those told"):
        list(read_entries(path))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "is not a corpus: refengine corpus import makes one"),
        (b'{"messages": []}', "is not a corpus"),
        (zipped(b"{}"), "is not a corpus"),
        (zipped(b'{"refengine-corpus": 2}\n'), "has version 2, and 1 is read"),
        (zipped(b'{"refengine-corpus": 1}\n{}\n'), "line 2 is not an entry"),
        (zipped(b'{"refengine-corpus": 1}\n[\n'), "is cut off or broken"),
        (zipped(b'{"refengine-corpus": 1}\n'), "cut off after 0 entries"),
    ],
)
def test_what_is_no_corpus_is_told(tmp_path: Path, text: bytes, told: str) -> None:
    (tmp_path / "x").write_bytes(text)

    with pytest.raises(CorpusFileError, match=told):
        list(read_entries(tmp_path / "x"))


def test_nothing_is_left_of_an_import_that_fails(tmp_path: Path) -> None:
    bad = lines(tmp_path, [chat(1), {"no": "session"}, chat(2)])

    with pytest.raises(GivenFileError, match="line 2"):
        write_entries(tmp_path / "out", imported([bad]))

    assert [each.name for each in tmp_path.iterdir()] == [bad.name]


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    peaks: list[int] = []
    for count in (300, 3000):
        path = corpus(tmp_path, map(chat, range(count)))
        tracemalloc.start()
        write_entries(tmp_path / "out", read_entries(path))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] < peaks[0] * 1.2


# Operations


def test_equal_scenarios_stay_once_where_they_stood_first(tmp_path: Path) -> None:
    path = corpus(tmp_path, map(chat, [1, 2, 1, 3, 2]))

    found = list(deduplicated(read_entries(path)))

    assert [each.source.rpartition(" ")[2] for each in found] == ["1", "2", "4"]
    assert info_of(read_entries(path)).equal == 2


def test_parts_have_all_that_the_whole_has(tmp_path: Path) -> None:
    path = corpus(tmp_path, map(chat, [*range(40), 7, 8]))

    parts = [path for path, _ in split(path, 3, tmp_path / "parts")]

    together = [each.line for each in merged(parts)]
    assert sorted(together) == sorted(each.line for each in read_entries(path))
    places = [{each.hash for each in read_entries(part)} for part in parts]
    assert all(not one & other for one, other in itertools.combinations(places, 2))
    assert all(places)


def test_a_corpus_given_twice_is_refused(tmp_path: Path) -> None:
    path = corpus(tmp_path, [chat(1)])

    with pytest.raises(GivenFileError, match="is given twice"):
        list(merged([path, path]))


def test_hashes_do_not_depend_on_the_order_of_keys() -> None:
    assert hash_of({"a": 1, "b": [2]}) == hash_of({"b": [2], "a": 1})
    assert hash_of({"a": 1}) != hash_of({"a": True})


# Samples


COUNTS = {"rare": 1, "some": 30, "most": 969}


@pytest.mark.parametrize("size", [3, 4, 10, 33, 500, 999, 1000, 5000])
def test_a_sample_has_its_size_and_one_of_each_kind(size: int) -> None:
    found = allotted(COUNTS, size)

    assert sum(found.values()) == min(size, 1000)
    assert all(0 < found[name] <= COUNTS[name] for name in COUNTS)
    assert found["most"] >= found["some"] >= found["rare"]


def test_a_sample_that_cannot_have_one_of_each_kind_is_refused() -> None:
    with pytest.raises(SampleSizeError, match="take 3 or more"):
        allotted(COUNTS, 2)


def of_kinds(counts: dict[str, int]) -> list[CorpusEntry]:
    kinds = [name for name, count in counts.items() for _ in range(count)]
    return [entry(number, kind) for number, kind in enumerate(kinds)]


def drawn(entries: list[CorpusEntry], size: int, seed: int) -> CorpusSample:
    return sampled(entries, counted(entries), size, seed)


def test_a_seed_gives_one_sample_in_the_order_of_the_corpus() -> None:
    entries = of_kinds({"a": 50, "b": 10})
    found = [drawn(entries, 12, seed).entries for seed in (1, 1, 2)]

    assert found[0] == found[1] != found[2]
    order = [entries.index(each) for each in found[0]]
    assert order == sorted(order)


def test_each_entry_of_a_kind_has_the_same_chance() -> None:
    entries = of_kinds({"a": 10})
    times = [0] * 10
    for seed in range(2000):
        for each in drawn(entries, 3, seed).entries:
            times[entries.index(each)] += 1

    assert all(abs(each - 600) < 5 * math.sqrt(600 * 0.7) for each in times)


def grid_bound(strata: list[Stratum], steps: int) -> float:
    """Return the bound by trying shares of all strata, in so many steps."""
    total = sum(each.entries for each in strata)
    worst = 0.0
    for shares in itertools.product(range(steps + 1), repeat=len(strata)):
        pairs = [(at / steps, each) for at, each in zip(shares, strata, strict=True)]
        clean = math.prod((1 - share) ** each.sampled for share, each in pairs)
        if clean >= 0.05:
            worst = max(worst, sum(s * each.entries for s, each in pairs) / total)
    return worst


@pytest.mark.parametrize(
    "sizes",
    [[(1000, 20)], [(900, 20), (100, 2)], [(500, 3), (500, 30)], [(990, 9), (10, 1)]],
)
def test_the_bound_is_the_worst_that_a_clean_sample_leaves(
    sizes: list[tuple[int, int]],
) -> None:
    strata = [Stratum(str(at), *each) for at, each in enumerate(sizes)]

    found = clean_bound({each.name: each for each in strata})

    tried = grid_bound(strata, 400)
    assert tried <= found <= tried + 1 / 400


def test_a_corpus_that_was_sampled_whole_promises_all() -> None:
    whole = {"a": Stratum("a", 5, 5), "b": Stratum("b", 2, 2)}

    assert clean_bound(whole) == 0
    assert 0 < clean_bound({**whole, "c": Stratum("c", 3, 1)}) <= 3 / 10


def test_the_promise_is_kept_as_often_as_it_says() -> None:
    # The worst case: a share just above the bound, spread over the kinds alike.
    entries = of_kinds({"a": 600, "b": 300, "c": 100})
    bound = drawn(entries, 60, 0).bound
    dice = Random(3)  # noqa: S311  # a world, no secret
    bad = {id(each) for each in dice.sample(entries, math.ceil(bound * 1000))}

    clean = sum(
        not any(id(each) in bad for each in drawn(entries, 60, seed).entries)
        for seed in range(600)
    )

    assert clean <= 600 * 0.05 + 3 * math.sqrt(600 * 0.05 * 0.95)


def test_a_sample_says_of_what_it_is_one(tmp_path: Path) -> None:
    path = corpus(tmp_path, map(chat, range(40)))
    found = sample_file(path, 8, 1, tmp_path / "sample")

    told = sample_of(tmp_path / "sample")

    assert told is not None
    assert (told.entries, told.bound) == (40, found.bound)
    assert sample_of(path) is None


# Commands


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, words)))
    code = ended.value.code
    assert isinstance(code, int | None)
    out, err = capsys.readouterr()
    return code or 0, out, err


def test_a_corpus_from_chats_to_a_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines(tmp_path, [chat(at, 1 + at % 3) for at in range(30)] + [chat(0)])

    for words, told in (
        (["import", "chats.jsonl", "--out", "all"], "all: 31 scenarios"),
        (["dedupe", "all", "--out", "once"], "once: 30 scenarios"),
        (["exercise", "once", "--out", "seen"], "seen: 30 scenarios"),
        (["info", "seen"], "20  turns 2-3, calls 0"),
        (["sample", "seen", "--size", "9", "--out", "some"], "9 of 30 scenarios"),
        (["split", "seen", "--into", "2", "--out", "parts"], "seen-1-of-2"),
        (["make", "--examples", "0", "--out", "made"], "made: "),
        (["merge", "once", "made", "--out", "both"], "both: "),
    ):
        code, out, err = command(capsys, "corpus", *words)
        assert (code, err) == (0, "")
        assert told in out

    assert all(each.exercised for each in read_entries(tmp_path / "some"))


WAYS = ("false", "true")
SHORT = """
from refengine import AgentMiddleware

def subject(world):
    return [AgentMiddleware(before_chat_model=keep_last)]

def keep_last(context, state):
    if len(state.messages) > 2:
        state.messages = state.messages[-1:]
    if state.messages is None:
        raise ValueError("none")
"""


def test_which_branches_of_middleware_each_session_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.py").write_text(SHORT, "utf-8")
    lines(tmp_path, [chat(0, 1), chat(1, 3)])
    command(capsys, "corpus", "import", "chats.jsonl", "--out", "all")
    asked = ["exercise", "all", "--out", "seen", "--subject", "short.py"]

    code, out, err = command(capsys, "corpus", *asked)

    assert (code, err) == (0, "")
    assert out.splitlines()[1:] == [
        "no session takes short.py, line 10: if state.messages is None: true"
    ]
    no, yes = (f"short.py, line 8: if len(state.messages) > 2: {e}" for e in WAYS)
    short, long = read_entries(tmp_path / "seen")
    assert no in (short.branches or ())
    assert yes not in (short.branches or ())
    assert {no, yes} <= set(long.branches or ())
    _, out, _ = command(capsys, "corpus", "info", "seen")
    assert f"  2  {no}\n  1  {yes}" in out.partition("branches that they take:")[2]


def test_a_subject_whose_branches_nobody_can_tell_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines(tmp_path, [chat(0)])
    command(capsys, "corpus", "import", "chats.jsonl", "--out", "all")
    (tmp_path / "broken.py").write_text("import nowhere_at_all\n", "utf-8")
    (tmp_path / "old.go").write_text("package old\n", "utf-8")

    for subject, told in (
        ("broken.py", "nowhere_at_all"),
        ("gone.py", "there is no file gone.py"),
        ("old.go", "branches are told of python, and this is go"),
    ):
        asked = ["exercise", "all", "--out", "seen", "--subject", subject]
        code, out, err = command(capsys, "corpus", *asked)

        assert (code, out) == (2, "")
        assert told in err
        assert "Traceback" not in err
        assert not (tmp_path / "seen").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["import", "--out", "x"], "give a file of sessions"),
        (["merge", "a.txt", "--out", "x"], "give two corpora or more; 1 given"),
        (["info", "a.txt"], "a.txt: is not a corpus"),
        (["sample", "a.txt", "--size", "3", "--out", "x"], "a.txt: is not a corpus"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("hello", "utf-8")

    code, out, err = command(capsys, "corpus", *words)

    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_a_check_tells_what_its_sample_promises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sample_file(corpus(tmp_path, map(chat, range(40))), 8, 1, tmp_path / "sample")
    (tmp_path / "old.py").write_text(SUBJECT, "utf-8")

    how = ["--examples", "1", "--search-plays", "0", "--sharpness-plays", "0"]
    words = ["old.py", "old.py", "--worlds", "sample", *how]
    _, out, _ = command(capsys, "migrate", "check", *words)

    assert "sample: a sample of 40 sessions; if none of it diverges, at most" in out

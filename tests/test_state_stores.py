"""The stores: one protocol, in memory and in a SQLite file, and what that refuses."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

import pytest

from refengine.state import sqlite_file
from refengine.state.sqlite import SqliteStore
from refengine.state.sqlite_file import named
from refengine.state.store_errors import (
    CheckpointConflictError,
    CheckpointNotFoundError,
    ForeignStoreError,
    NewerStoreError,
    StoreBusyError,
    StoreClosedError,
    StoreDamagedError,
    StoreError,
    StoreFileError,
    StoreForkedError,
    StoreFullError,
    StoreKeyError,
    StoreMissingError,
    StoreOptionError,
    StoreReadOnlyError,
    StoreRecordError,
)
from refengine.state.stores import MemoryStore
from refengine.testing import run as run_virtually

KEYS = [
    "a",
    "A",
    "ä",
    "a\u0308",
    "a\0b",
    " ",
    "line\nbreak",
    "🜂",
    "'; DROP",
    "k" * 5000,
]


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    """Yield a store of each kind, and close it."""
    if request.param == "memory":
        yield MemoryStore()
        return
    made = SqliteStore(tmp_path / "store.db")
    yield made
    made.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def filled(path, **rows):
    """Make a store with these rows, closed again."""

    async def fill():
        async with SqliteStore(path) as store:
            for key, records in rows.items():
                for at, record in enumerate(records):
                    await store.append(key, at, record)

    asyncio.run(fill())


# What every store does.


def test_records_come_back_in_order_as_they_were(store) -> None:
    async def play():
        for at, record in enumerate([b"one", b"", b"\0\xff two"]):
            await store.append("k", at, record)
        return await store.read("k")

    assert list(asyncio.run(play())) == [b"one", b"", b"\0\xff two"]


@pytest.mark.parametrize("seq", [0, 1, 3, -1, 2**80])
def test_only_the_next_number_is_taken(store, seq) -> None:
    async def play():
        await store.append("k", 0, b"0")
        await store.append("k", 1, b"1")
        with pytest.raises(CheckpointConflictError) as caught:
            await store.append("k", seq, b"other")
        return caught.value, await store.read("k")

    error, left = asyncio.run(play())

    assert (error.key, error.seq, error.have) == ("k", seq, 2)
    assert list(left) == [b"0", b"1"]


def test_a_row_begins_with_number_0(store) -> None:
    with pytest.raises(CheckpointConflictError, match="step 1 does not follow, 0 are"):
        asyncio.run(store.append("k", 1, b""))


def test_a_key_that_is_not_there_is_told_with_one_like_it(store) -> None:
    async def play():
        await store.append("thread-17", 0, b"")
        with pytest.raises(CheckpointNotFoundError, match="mean 'thread-17'") as read:
            await store.read("thread-71")
        with pytest.raises(CheckpointNotFoundError) as deleted:
            await store.delete("nothing like it")
        return read.value, deleted.value

    read, deleted = asyncio.run(play())

    assert (read.key, read.close) == ("thread-71", ("thread-17",))
    assert deleted.close == ()


def test_a_deleted_row_is_gone_and_its_key_is_free_again(store) -> None:
    async def play():
        for key in ("k", "other"):
            await store.append(key, 0, key.encode())
        await store.delete("k")
        with pytest.raises(CheckpointNotFoundError):
            await store.read("k")
        await store.append("k", 0, b"new")
        return [*await store.read("k"), *await store.read("other")]

    assert asyncio.run(play()) == [b"new", b"other"]


def test_keys_are_told_apart_by_their_code_points_and_sorted_by_them(store) -> None:
    async def play():
        for key in KEYS:
            await store.append(key, 0, key.encode())
        rows = [await store.read(key) for key in KEYS]
        return list(await store.keys()), [bytes(row[0]).decode() for row in rows]

    keys, contents = asyncio.run(play())

    assert keys == sorted(KEYS)
    assert contents == KEYS


def test_an_empty_store_has_no_keys(store) -> None:
    assert list(asyncio.run(store.keys())) == []


@pytest.mark.parametrize(
    ("key", "why"),
    [("", "is empty"), ("a\ud800", "lone surrogate at 1"), (b"k", "is bytes, not str")],
)
@pytest.mark.parametrize("method", ["append", "read", "delete"])
def test_a_key_that_no_file_can_hold_is_refused(store, key, why, method) -> None:
    rest = (0, b"") if method == "append" else ()

    with pytest.raises(StoreKeyError, match=why):
        asyncio.run(getattr(store, method)(key, *rest))


def test_a_record_that_is_not_bytes_is_refused(store) -> None:
    with pytest.raises(StoreRecordError, match="the record is bytearray, not bytes"):
        asyncio.run(store.append("k", 0, bytearray(b"it could change")))


def test_a_big_record_comes_back_whole(store) -> None:
    big = bytes(range(256)) * 20_000

    async def play():
        await store.append("k", 0, big)
        return await store.read("k")

    assert list(asyncio.run(play())) == [big]


async def climb(store, key, name, wins):
    """Write the next record of a row, however often others are quicker."""
    have = 0
    for _ in range(wins):
        while True:
            try:
                await store.append(key, have, f"{name} {have}".encode())
                break
            except CheckpointConflictError as error:
                have = error.have


def test_of_tasks_that_write_one_number_one_succeeds(store) -> None:
    async def play():
        await asyncio.gather(*(climb(store, "k", n, 10) for n in range(8)))
        return await store.read("k")

    words = [bytes(each).decode().split() for each in asyncio.run(play())]

    assert [int(at) for _, at in words] == list(range(80))
    assert set(Counter(name for name, _ in words).values()) == {10}


def test_loops_of_several_threads_share_a_store(store) -> None:
    def work(name):
        asyncio.run(climb(store, "k", name, 20))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert len(asyncio.run(store.read("k"))) == 60


def test_a_store_works_on_virtual_time(store) -> None:
    async def play():
        await asyncio.sleep(1_000_000)
        await asyncio.gather(*(climb(store, str(n), n, 3) for n in range(3)))
        return await store.keys()

    assert list(run_virtually(play())) == ["0", "1", "2"]


# What only a file does.


def test_a_file_is_read_by_another_store_of_it(path) -> None:
    filled(path, k=[b"0", b"1"])

    async def play():
        async with SqliteStore(path) as other:
            await other.append("k", 2, b"2")
            return await other.read("k")

    assert list(asyncio.run(play())) == [b"0", b"1", b"2"]


def test_a_store_is_one_file_once_it_is_closed(path) -> None:
    filled(path, k=[b"0"])

    assert [each.name for each in path.parent.iterdir()] == ["store.db"]


@pytest.mark.parametrize(("synchronous", "number"), [("full", 2), ("normal", 1)])
def test_a_store_in_use_has_a_log_and_waits_for_the_disk_as_asked(
    path, synchronous, number
) -> None:
    async def play():
        async with SqliteStore(path, synchronous=synchronous) as store:
            await store.append("k", 0, b"0")
            assert store._file is not None
            asked = ("journal_mode", "synchronous", "fullfsync")
            db = store._file.db
            return [db.execute(f"PRAGMA {it}").fetchone()[0] for it in asked]

    assert asyncio.run(play()) == ["wal", number, number - 1]


def test_a_process_that_goes_elsewhere_keeps_its_store(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def play():
        async with SqliteStore("store.db") as store:
            await store.append("k", 0, b"0")
            monkeypatch.chdir("/")
            await store.append("k", 1, b"1")
            return await store.read("k")

    assert list(asyncio.run(play())) == [b"0", b"1"]


def test_no_thread_is_left_behind(path) -> None:
    before = threading.active_count()
    filled(path, k=[b"0"])

    assert threading.active_count() == before


@pytest.mark.parametrize("name", ["a b?#%c.db", "ä.db", ":memory:"])
def test_any_name_of_a_file_is_taken_as_it_is(tmp_path, name) -> None:
    filled(tmp_path / name, k=[b"0"])

    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_a_closed_store_says_so(path) -> None:
    async def play():
        async with SqliteStore(path) as store:
            await store.append("k", 0, b"")
        await store.aclose()
        await store.read("k")

    with pytest.raises(StoreClosedError, match="make another SqliteStore"):
        asyncio.run(play())


CLIMB = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from test_state_stores import climb
from refengine.state.sqlite import SqliteStore

async def play():
    async with SqliteStore(sys.argv[1]) as store:
        sys.stdin.read()
        await climb(store, "k", sys.argv[2], 40)

asyncio.run(play())
"""


def test_of_processes_that_write_one_number_one_succeeds(path) -> None:
    """The first of them make the file, all at once; none is told it was locked."""
    code = CLIMB.format(tests=str(Path(__file__).parent))
    line = [sys.executable, "-c", code, str(path)]
    there = [
        subprocess.Popen([*line, str(n)], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for n in range(4)
    ]
    said = [each.communicate(timeout=60)[1] for each in there]

    async def play():
        async with SqliteStore(path) as store:
            return await store.read("k")

    assert said == [b""] * 4
    words = [each.decode().split() for each in asyncio.run(play())]
    assert [int(at) for _, at in words] == list(range(160))
    assert set(Counter(name for name, _ in words).values()) == {40}


def test_who_finds_the_file_locked_for_too_long_is_told(path) -> None:
    filled(path, k=[b"0"])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    async def play():
        async with SqliteStore(path, patience=0.02) as store:
            read = await store.read("k")
            with pytest.raises(StoreBusyError, match=r"locked for 0\.02 s: look for"):
                await store.append("k", 1, b"1")
            other.execute("COMMIT")
            await store.append("k", 1, b"1")
            return read

    assert list(asyncio.run(play())) == [b"0"]
    other.close()


@pytest.mark.parametrize(
    "options",
    [
        {"synchronous": "off"},
        {"patience": -1},
        {"patience": float("nan")},
        {"patience": "long"},
    ],
)
def test_an_option_that_promises_less_is_refused(path, options) -> None:
    with pytest.raises(StoreOptionError, match=f"{next(iter(options))}=.*: give"):
        SqliteStore(path, **options)


def refused(path, **options):
    """Return the error by which a store at that path refuses to be read."""

    async def play():
        async with SqliteStore(path, **options) as store:
            await store.read("k")

    with pytest.raises(StoreError) as caught:
        asyncio.run(play())
    return caught.value


def test_a_folder_that_is_not_there_is_named(tmp_path) -> None:
    error = refused(tmp_path / "nowhere" / "store.db")

    assert isinstance(error, StoreMissingError)
    assert f"make {tmp_path / 'nowhere'} first" in str(error)


def test_a_path_that_is_no_file_is_refused(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert isinstance(refused(tmp_path), StoreFileError)
    assert isinstance(refused(tmp_path / "pipe"), StoreFileError)


def test_a_store_to_read_is_not_made(path) -> None:
    assert isinstance(refused(path, read_only=True), StoreMissingError)
    assert not path.exists()


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("content", [b"no database at all, but text" * 50, b"x"])
def test_a_file_that_is_no_database_is_left_as_it_is(path, content, read_only) -> None:
    path.write_bytes(content)

    error = refused(path, read_only=read_only)

    assert isinstance(error, ForeignStoreError)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "made",
    ["CREATE TABLE theirs (x)", "PRAGMA user_version = 7", "PRAGMA application_id = 9"],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_the_database_of_another_program_is_left_as_it_is(
    path, made, read_only
) -> None:
    other = sqlite3.connect(path)
    other.execute(made)
    other.commit()
    other.close()
    before = path.read_bytes()

    error = refused(path, read_only=read_only)

    assert isinstance(error, ForeignStoreError)
    assert "SQLite file of another program" in str(error)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["store.db"]


def test_an_empty_file_becomes_a_store_but_is_none_to_read(path) -> None:
    path.touch()

    assert isinstance(refused(path, read_only=True), ForeignStoreError)
    filled(path, k=[b"0"])
    assert path.stat().st_size > 0


def test_a_later_layout_is_refused_by_both_numbers(path) -> None:
    filled(path, k=[b"0"])
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 2")
    other.close()

    error = refused(path)

    assert isinstance(error, NewerStoreError)
    assert (error.layout, error.known) == (2, sqlite_file.LAYOUT)


def test_a_store_to_read_reads_and_writes_nothing(path) -> None:
    filled(path, k=[b"0"])

    async def play():
        async with SqliteStore(path, read_only=True) as store:
            read = await store.read("k")
            with pytest.raises(StoreReadOnlyError, match="cannot be written"):
                await store.append("k", 1, b"1")
            return read

    assert list(asyncio.run(play())) == [b"0"]


READ_ONLY = """
import asyncio, os, sys
from pathlib import Path
from refengine.state.sqlite import SqliteStore
from refengine.state.store_errors import StoreReadOnlyError

async def play(read_only):
    async with SqliteStore(sys.argv[1], read_only=read_only) as store:
        return [bytes(each) for each in await store.read("k")]

print(os.path.exists("/"), flush=True)  # what a thread loads late is loaded
async def warm(): await asyncio.to_thread(Path('/').as_uri)
asyncio.run(warm())
if os.geteuid() == 0:
    os.seteuid(65534)
print(asyncio.run(play(True)))
try:
    asyncio.run(play(False))
except StoreReadOnlyError as error:
    print("refused", sorted(os.listdir(os.path.dirname(sys.argv[1]))))
"""


def test_a_folder_that_cannot_be_written_can_be_read() -> None:
    """Not even root writes there: the child leaves its rights."""
    folder = Path(tempfile.mkdtemp())
    try:
        filled(folder / "store.db", k=[b"0"])
        folder.chmod(0o555)
        line = [sys.executable, "-c", READ_ONLY, str(folder / "store.db")]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)

    assert done.stdout.splitlines()[1:] == ["[b'0']", "refused ['store.db']"], done


LIVE = """
import asyncio, os, sys
from refengine.state.sqlite import SqliteStore

async def play():
    store = SqliteStore(sys.argv[1])
    await store.append("k", 0, b"0")
    print("safe", flush=True)
    sys.stdin.read()
    os._exit(0)

asyncio.run(play())
"""


def around(path):
    """Return what stands in a store's folder, to the byte and to its time."""
    found = {}
    for each in sorted(path.parent.iterdir()):
        state = each.stat()
        found[each.name] = (state.st_mtime_ns, each.read_bytes())
    return path.parent.stat().st_mtime_ns, found


def read_only(path):
    async def play():
        async with SqliteStore(path, read_only=True) as store:
            return [*await store.damage(), *await store.read("k")]

    return asyncio.run(play())


def test_a_store_to_read_changes_nothing_whatever_state_it_is_in(path) -> None:
    """Closed, in use, killed, and copied without what its users share."""
    line = [sys.executable, "-c", LIVE, str(path)]
    pipe = subprocess.PIPE
    found = []
    with subprocess.Popen(line, stdin=pipe, stdout=pipe) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"safe\n"
        before = around(path)
        found.append((read_only(path), around(path) == before))
    assert {*before[1]} == {"store.db", "store.db-wal", "store.db-shm"}
    before = around(path)
    found.append((read_only(path), around(path) == before))
    path.with_name("store.db-shm").unlink()
    before = around(path)
    found.append((read_only(path), around(path) == before))
    filled(path, other=[b""])
    before = around(path)
    found.append((read_only(path), around(path) == before))

    assert {*before[1]} == {"store.db"}
    assert found == [([b"0"], True)] * 4


def test_a_store_to_read_sees_who_begins_to_write(path) -> None:
    filled(path, k=[b"0"])

    async def play():
        seen = []
        async with SqliteStore(path, read_only=True) as store:
            for at in range(1, 4):
                seen.append(len(await store.read("k")))
                async with SqliteStore(path) as writer:
                    await writer.append("k", at, b"")
                    seen.append(len(await store.read("k")))
        return seen

    assert asyncio.run(play()) == [1, 2, 2, 3, 3, 4]


def test_a_full_disk_keeps_what_was_kept(path, monkeypatch) -> None:
    """A file of few pages stands for the disk: SQLite says the same of both."""
    filled(path, k=[b"0"])

    def on_a_small_disk(*args, **named_args):
        db = connect(*args, **named_args)
        db.execute("PRAGMA max_page_count = 8")
        return db

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite_file.sqlite3, "connect", on_a_small_disk)

    async def play():
        async with SqliteStore(path) as store:
            with pytest.raises(StoreFullError, match="the disk is full"):
                await store.append("k", 1, b"x" * 100_000)
            await store.append("k", 1, b"small")
            return await store.read("k")

    assert list(asyncio.run(play())) == [b"0", b"small"]


def test_a_broken_file_is_told(path) -> None:
    filled(path, k=[b"x" * 50_000])
    content = bytearray(path.read_bytes())
    content[4096:8192] = b"\xa5" * 4096
    path.write_bytes(content)

    async def play():
        async with SqliteStore(path, read_only=True) as store:
            return await store.damage()

    assert isinstance(refused(path), StoreDamagedError)
    assert asyncio.run(play()) != []


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM records WHERE seq = 1",
        "UPDATE records SET seq = 7 WHERE seq = 1",
        "UPDATE records SET record = 'text' WHERE seq = 1",
    ],
)
def test_a_record_that_is_missing_in_between_is_damage(path, change) -> None:
    filled(path, k=[b"0", b"1", b"2"])
    other = sqlite3.connect(path)
    other.execute(change)
    other.commit()
    other.close()

    error = refused(path)

    assert isinstance(error, StoreDamagedError)
    assert "key 'k' has no record 1" in str(error)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_taken_away_is_not_written_to(path, replaced) -> None:
    async def play():
        async with SqliteStore(path) as store:
            await store.append("k", 0, b"0")
            path.unlink()
            if replaced:
                path.touch()
            await store.append("k", 1, b"1")

    with pytest.raises(StoreMissingError, match="deleted or replaced while in use"):
        asyncio.run(play())


def test_a_store_that_a_fork_copied_is_refused_there(path) -> None:
    store = SqliteStore(path)
    asyncio.run(store.append("k", 0, b"0"))
    store._process = os.getpid() + 1  # as in a child: a test that forks may hang

    with pytest.raises(StoreForkedError, match="a SqliteStore in each process"):
        asyncio.run(store.append("k", 1, b"1"))

    store._process = os.getpid()
    store.close()


def test_an_error_of_sqlite_that_has_no_code_is_damage(path) -> None:
    assert isinstance(named(sqlite3.OperationalError("odd"), path), StoreDamagedError)


def test_a_log_that_is_cut_anywhere_gives_the_first_records(tmp_path) -> None:
    """As after a power cut in the middle of a write: whole records, or none of them."""
    path = tmp_path / "store.db"
    records = [bytes([at]) * 3000 for at in range(6)]
    found = []

    async def play():
        async with SqliteStore(path) as store:
            for at, record in enumerate(records):
                await store.append("k", at, record)
            return path.read_bytes(), path.with_name("store.db-wal").read_bytes()

    base, log = asyncio.run(play())
    for at, end in enumerate(range(0, len(log), 1500)):
        cut = tmp_path / f"cut{at}.db"
        cut.write_bytes(base)
        cut.with_name(f"{cut.name}-wal").write_bytes(log[:end])
        found.append(asyncio.run(rest_of(cut)))

    assert all(each == records[: len(each)] for each in found)
    assert [len(each) for each in found] == sorted(len(each) for each in found)
    assert {len(each) for each in found} >= set(range(6))


async def rest_of(path):
    async with SqliteStore(path) as store:
        assert list(await store.damage()) == []
        return list(await store.read("k")) if await store.keys() else []

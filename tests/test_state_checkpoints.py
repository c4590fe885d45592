"""Checkpoints: steps to a store and back, and rows of records that make no run."""

import asyncio
from dataclasses import replace

import pytest

import refengine.state
from refengine.messages import Message
from refengine.resume.checkpoint import GONE, Keeper, Point, Splice, Start, Step
from refengine.state import Checkpoints, MemoryStore, SqliteStore, store_errors
from refengine.state.checkpoints import row_faults
from refengine.state.codec import encode_step
from refengine.state.errors import DamagedCheckpointError
from refengine.state.store_errors import (
    BadRowError,
    CheckpointConflictError,
    CheckpointNotFoundError,
    NoStoreError,
    NoTypesError,
)
from refengine.state.values import Types

START = Start("main", "seed-001", streaming=True, given=1, has_first=True)


def messages(*texts):
    return tuple(Message("user", text) for text in texts)


STEPS = (
    Step(0, 0, Splice(0, messages("be", "hi")), Point(), {"a": 1, "b": 2}, start=START),
    Step(1, 1, Splice(2, messages("x", "y")), Point("tools"), {"b": GONE}),
    Step(2, 1, Splice(3, messages("z")), Point("end", status="completed"), {"a": 3}),
)


@pytest.fixture(params=["memory", "sqlite"])
def kept(request, tmp_path):
    if request.param == "memory":
        yield Checkpoints(MemoryStore())
        return
    store = SqliteStore(tmp_path / "store.db")
    yield Checkpoints(store)
    store.close()


async def write(kept: Keeper, steps=STEPS, key="k"):
    for step in steps:
        await kept.write(key, step)


def test_steps_come_back_as_the_run_they_leave(kept) -> None:
    async def play():
        await write(kept)
        return await kept.read("k")

    saved = asyncio.run(play())

    assert [each.content for each in saved.messages] == ["be", "hi", "x", "z"]
    assert (saved.first, saved.given) == (Message("user", "be"), messages("hi"))
    assert dict(saved.locals) == {"a": 3}
    assert (saved.steps, saved.iteration, saved.start) == (3, 1, START)
    assert saved.point == STEPS[-1].point


def test_a_new_run_is_refused_a_key_that_is_in_use(kept) -> None:
    async def play():
        await write(kept)
        await write(kept)

    with pytest.raises(CheckpointConflictError, match="a key of its own"):
        asyncio.run(play())


def test_keys_are_listed_and_a_run_is_deleted(kept) -> None:
    async def play():
        await write(kept, key="b")
        await write(kept, key="a")
        keys = await kept.keys()
        await kept.delete("a")
        with pytest.raises(CheckpointNotFoundError, match="no checkpoint 'a'"):
            await kept.read("a")
        return keys, await kept.keys()

    assert tuple(map(list, asyncio.run(play()))) == (["a", "b"], ["b"])


def test_a_record_that_cannot_be_read_is_told_by_key_and_number() -> None:
    store = MemoryStore()

    async def play():
        kept = Checkpoints(store)
        await write(kept, STEPS[:1])
        record = encode_step(STEPS[1], kept.types).replace(b'"x"', b'"X"')
        await store.append("k", 1, record)
        await kept.read("k")

    with pytest.raises(DamagedCheckpointError) as caught:
        asyncio.run(play())
    assert caught.value.__notes__ == ["in record 1 of checkpoint 'k'"]


def test_records_that_make_no_run_are_refused() -> None:
    store = MemoryStore()

    async def play():
        await store.append("k", 0, encode_step(STEPS[1], Types()))
        await Checkpoints(store).read("k")

    with pytest.raises(BadRowError, match="'k', record 0: it says it is number 1"):
        asyncio.run(play())


@pytest.mark.parametrize("store", ["runs.db", None, SqliteStore])
def test_what_is_no_store_is_refused_at_once(store) -> None:
    with pytest.raises(NoStoreError, match=r"give one, such as SqliteStore\(path\)"):
        Checkpoints(store)


@pytest.mark.parametrize("types", [[Message], Types])
def test_what_is_no_registry_is_refused_at_once(types) -> None:
    with pytest.raises(NoTypesError, match="give a Types"):
        Checkpoints(MemoryStore(), types)


def test_a_registry_that_is_given_is_the_one_that_is_used() -> None:
    types = Types()

    assert Checkpoints(MemoryStore(), types).types is types


FIRST, SECOND, THIRD = STEPS
SENT = Point("model", sent=Splice(5))


@pytest.mark.parametrize(
    ("steps", "faults"),
    [
        (STEPS, []),
        (
            (replace(SECOND, splice=Splice(0)),),
            ["it says it is number 1", "it does not say whose run this is"],
        ),
        ((FIRST, THIRD), ["it says it is number 2", "it keeps 3 messages of 2"]),
        ((FIRST, replace(SECOND, start=START)), ["it begins another run"]),
        ((FIRST, replace(SECOND, splice=Splice(-1))), ["it keeps -1 messages of 2"]),
        ((replace(FIRST, splice=Splice(1)),), ["it keeps 1", "it says that 2"]),
        ((replace(FIRST, start=replace(START, given=-1)),), ["it says that 0"]),
        ((FIRST, replace(SECOND, point=SENT)), ["the model is sent 5 messages of 4"]),
        ((replace(FIRST, point=Point(sent=Splice(2))),), []),
    ],
)
def test_what_is_wrong_with_a_row_is_told(steps, faults) -> None:
    found = [each.why for each in row_faults(steps)]

    assert [
        why[: len(start)] for why, start in zip(found, faults, strict=True)
    ] == faults


@pytest.mark.parametrize(
    ("steps", "faults"),
    [
        ((SECOND, THIRD), []),
        (
            (SECOND, FIRST),
            [(2, "it says it is number 0"), (2, "it begins another run")],
        ),
        ((SECOND, replace(THIRD, splice=Splice(5))), [(2, "it keeps 5 messages of 4")]),
        ((THIRD, SECOND), [(3, "it says it is number 1")]),
        ((replace(FIRST, start=None),), [(0, "it does not say whose run this is")]),
    ],
)
def test_what_is_wrong_with_a_part_of_a_run_is_told(steps, faults) -> None:
    found = [(each.seq, each.why) for each in row_faults(steps, part=True)]

    assert [
        (seq, why[: len(start)])
        for (seq, why), (_, start) in zip(found, faults, strict=True)
    ] == faults


def test_public_names_are_loaded_when_they_are_used() -> None:
    for name in refengine.state.__all__:
        assert getattr(refengine.state, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        vars(refengine.state)["__getattr__"]("Nothing")


def test_the_tree_of_store_errors_is_the_real_one() -> None:
    import re

    defined = {
        name
        for name, value in vars(store_errors).items()
        if isinstance(value, type) and value.__module__ == store_errors.__name__
    }
    drawn = set(re.findall(r"── (\w+)", store_errors.__doc__ or ""))

    assert drawn | {"StoreError"} == defined

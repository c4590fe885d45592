"""Checkpoints of every format so far are read to the values they were written from."""

import enum
from dataclasses import dataclass
from pathlib import Path

import pytest

from refengine.state import decode_step, encode_step
from refengine.state.values import Types
from tests.state_samples import WRITER, Mood, golden, main, sample_types, samples
from tests.state_strategies import strictly_equal

FOLDER = Path(__file__).parent / "golden" / "checkpoints"
V1 = {path.stem: path for path in sorted((FOLDER / "v1").glob("*.ckpt"))}


def test_each_sample_has_its_file_and_each_file_its_sample() -> None:
    assert set(V1) == set(samples())


def test_there_are_files_of_each_format() -> None:
    assert [folder.name for folder in FOLDER.iterdir()] == ["v1"]


@pytest.mark.parametrize("name", V1)
def test_file_is_read_to_what_it_was_written_from(name) -> None:
    found = decode_step(V1[name].read_bytes(), sample_types())

    assert found == samples()[name]
    assert strictly_equal(dict(found.locals), dict(samples()[name].locals))
    assert strictly_equal(dict(found.point.ctx), dict(samples()[name].point.ctx))


@pytest.mark.parametrize("name", V1)
def test_file_is_written_again_byte_for_byte(name) -> None:
    types = sample_types()
    data = V1[name].read_bytes()

    assert encode_step(decode_step(data, types), types, writer=WRITER) == data


def test_samples_are_written_as_the_files_are() -> None:
    files = {path.name: path.read_bytes() for path in V1.values()}

    assert dict(golden()) == files


def test_command_writes_what_is_missing_and_nothing_else(tmp_path, capsys) -> None:
    main([str(tmp_path)])
    (tmp_path / "start.ckpt").write_bytes(b"as it was")
    (tmp_path / "tools.ckpt").unlink()
    capsys.readouterr()
    main([str(tmp_path)])

    assert capsys.readouterr().out.splitlines() == [f"wrote {tmp_path / 'tools.ckpt'}"]
    assert (tmp_path / "start.ckpt").read_bytes() == b"as it was"


class Temper(enum.Enum):
    """What Mood became."""

    CALM = "calm"
    ANGRY = "angry"


@dataclass(frozen=True)
class Remark:
    """What Note became, in two changes: a field renamed, then one added."""

    body: str
    tags: frozenset[str]
    temper: Temper
    by: str


def later_types() -> Types:
    types = sample_types_without_note()
    types.register_dataclass(
        "note",
        Remark,
        version=3,
        upgrades={
            1: lambda old: {
                "body": old["text"],
                "tags": old["tags"],
                "temper": old["mood"],
            },
            2: lambda old: {**old, "by": "nobody"},
        },
    )
    return types


def sample_types_without_note() -> Types:
    from tests.state_samples import Money

    types = Types()
    types.register_enum(
        "mood",
        Temper,
        version=2,
        upgrades={1: {"CALM": "CALM", "CROSS": "ANGRY"}.__getitem__},
    )
    types.register(
        "money",
        Money,
        encode=lambda money: [money.cents, money.currency],
        decode=lambda data: Money(*data),
    )
    return types


def test_old_file_is_read_with_classes_that_have_changed_since() -> None:
    data = V1["values"].read_bytes()
    before = decode_step(data, sample_types())
    after = decode_step(data, later_types())

    assert before.point.ctx["mood"] is Mood.CALM
    assert after.point.ctx["mood"] is Temper.CALM
    assert after.locals["own"] == Remark("n", frozenset({"t"}), Temper.ANGRY, "nobody")


def test_what_was_upgraded_is_written_in_its_new_version() -> None:
    types = later_types()
    step = decode_step(V1["values"].read_bytes(), types)
    written = encode_step(step, types)

    assert b'"$type":"note","$version":3' in written
    assert decode_step(written, types) == step

"""Recorded sessions in a judgement: those that ship, a user's own, what they find."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from compat.models.errors import (
    GivenFileError,
    MissingSessionsError,
    UnusedFileError,
)
from compat.models.importing import import_files
from compat.models.shipped import FOLDERS, shipped_files
from property_tests.checks import CHECKS
from property_tests.corpus import SuiteCorpus, read_corpus
from property_tests.judging.world import judge
from property_tests.playing import VariantPlayer
from property_tests.recorded.keeping import POINTS, cut_at, points_of
from property_tests.recorded.worlds import KINDS, recorded_worlds
from refengine.agent import build_agent
from refengine.messages import MessageChunk, join_chunks
from refengine.profile import SEED_001
from refengine.stream import StreamReader
from refengine.testing import ReferenceEngine, play, run
from refengine.testing.subject_worlds.words import Dice
from tests.commands import refengine
from tests.few_worlds import LAW

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is A-77?"},
    {"role": "assistant", "content": "On its way."},
]


@cache
def worlds():
    return tuple(recorded_worlds(0))


def chats(at: Path, *chats: object, name: str = "chats.jsonl") -> Path:
    path = at / name
    path.write_text("".join(f"{json.dumps({'messages': e})}\n" for e in chats))
    return path


def test_every_shipped_session_is_a_world_as_it_was():
    shipped = {w.scenario.model_dump_json() for f in shipped_files() for w in f.worlds}
    played = {w.scenario.model_dump_json() for w in worlds() if w.family == "recorded"}

    assert played == shipped


def test_there_are_so_many_grafts_of_each_kind():
    found = Counter(each.family for each in worlds())

    wanted = {f"recorded, {kind.name}": kind.count for kind in KINDS}
    assert {name: found[name] for name in wanted} == wanted
    assert len(worlds()) <= 200


def test_recorded_worlds_are_the_same_for_a_seed_and_survive_being_written():
    corpus = SuiteCorpus(worlds(), 0)

    assert corpus == SuiteCorpus(tuple(recorded_worlds(0)), 0)
    assert read_corpus(corpus.json) == corpus
    assert tuple(recorded_worlds(1)) != worlds()


def test_a_missing_file_of_sessions_is_an_error(tmp_path):
    with pytest.raises(MissingSessionsError):
        shipped_files((tmp_path,))
    (tmp_path / "index.json").write_text('{"a.yaml": {"OpenAI chat completions": 1}}')
    with pytest.raises(MissingSessionsError, match=r"a\.yaml\.json"):
        shipped_files((tmp_path,))


def test_a_checkout_has_its_sessions_where_cassettes_are():
    assert not FOLDERS[0].exists()
    assert FOLDERS[1].parts[-2:] == ("cassettes", "derived")


@pytest.mark.parametrize(
    "world",
    [each for file in shipped_files() for each in file.worlds][5::4],
    ids=lambda each: each.scenario.runs[0].input[0][:20],
)
def test_a_session_cut_at_every_point_ends_as_it_did(world):
    cut = cut_at(world.scenario, set(POINTS), Dice("0"))
    assert cut is not None

    engine = ReferenceEngine(SEED_001)
    found, plain = (
        [e.data["status"] for e in run(play(each, engine)) if e.kind == "run_end"]
        for each in (cut, world.scenario)
    )

    assert points_of(world.scenario)
    assert [each for each in found if each != "interrupted"] == plain
    assert found.count("interrupted") == sum(bool(each.resume) for each in cut.runs)


class Meddling:
    """An engine that is right, but for what comes out of its model."""

    name = "meddling"

    def __init__(self, change):
        self.change = change

    async def build(self, config, on_notice):
        model = Changed(config.model, self.change)
        changed = type(config)(**{**vars_of(config), "model": model})
        return await build_agent(changed, SEED_001, on_notice=on_notice)


def vars_of(config):
    return {name: getattr(config, name) for name in config.__dataclass_fields__}


class Changed:
    def __init__(self, model, change):
        self.model = model
        self.change = change

    async def invoke(self, ctx, messages, tools, options):
        found = await self.model.invoke(ctx, messages, tools, options)
        return self.change([found])[0]

    async def stream(self, ctx, messages, tools, options):
        opened = await self.model.stream(ctx, messages, tools, options)

        async def all_of():
            for each in self.change([each async for each in opened]):
                yield each

        return StreamReader(all_of())


def one_chunk(given):
    if not given or not isinstance(given[0], MessageChunk):
        return given
    whole = join_chunks(given)
    calls = [call for each in given for call in each.tool_calls]
    return [MessageChunk(whole.content, tuple(calls), extra=whole.extra)]


def without_extra(given):
    return [type(e)(**{**vars_of(e), "extra": {}}) for e in given]


@pytest.mark.parametrize("change", [one_chunk, without_extra])
def test_a_fault_that_only_vendors_traffic_shows_is_found(change):
    player = VariantPlayer(Meddling(change), SEED_001)
    plain = [each for each in worlds() if each.family == "recorded"]

    failed = {clause for each in plain for clause in judge(player, each, CHECKS).failed}

    assert failed & {"STR-005", "MSG-007", "MSG-008", "EVT-014"}


def test_a_users_sessions_are_grafted_and_come_before_ours(tmp_path):
    given = import_files([chats(tmp_path, CHAT)])

    own = [e for e in recorded_worlds(0, given) if e.recorded.startswith("chats")]

    assert own[0].family == "recorded"
    assert {"recorded, order", "recorded, every point"} <= {e.family for e in own}


def test_a_file_whose_sessions_are_in_another_is_an_error(tmp_path):
    given = import_files([chats(tmp_path, CHAT), chats(tmp_path, CHAT, name="b.jsonl")])

    with pytest.raises(UnusedFileError, match=r"b\.jsonl"):
        list(recorded_worlds(0, given))


def test_a_file_given_twice_is_an_error(tmp_path):
    path = chats(tmp_path, CHAT)

    with pytest.raises(GivenFileError, match="given twice"):
        import_files([path, path])


def test_the_command_takes_sessions_and_says_what_rests_on_them(tmp_path):
    chats(tmp_path, CHAT)
    words = ("--clause", LAW, "--examples", "0", "--jobs", "1")

    done = refengine(
        "conform", "reference", *words, "--worlds", "chats.jsonl", at=tmp_path
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "chats.jsonl: 1 as they are" in done.stdout
    assert "recorded sessions: 1 of 1 clause rests" in done.stdout


def test_the_command_refuses_a_file_without_sessions(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")

    done = refengine("conform", "reference", "--worlds", "empty.jsonl", at=tmp_path)

    assert done.returncode == 2
    assert "the file is empty" in done.stderr

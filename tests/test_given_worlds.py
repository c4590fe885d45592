"""What a user gives a check of his own: in which worlds it is, and when it is not."""

import json
from pathlib import Path

import pytest

from compat.migration.check import corpus_of
from compat.migration.corpus import Corpus
from compat.migration.given import GivenData, Samples, read_given
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.models.errors import GivenFileError, UnusedFileError
from compat.verdicts.migration import GivenWorlds
from refengine.testing.subject_worlds.seeded import document_worlds, seeded, texts_of
from refengine.testing.subject_worlds.words import Words

USER = {"role": "user", "content": "Where is A-77?"}
DONE = {"role": "assistant", "content": "On its way."}
FUNCTION = {"name": "find", "arguments": '{"id": "A-77"}'}
CALLING = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "at sea"}
CHAT = {"messages": [USER, CALLING, RESULT, DONE, USER, DONE]}
SESSION = {
    "agent": {"tools": [{"name": "find", "by_call": {"c1": ["at sea"]}}]},
    "model_script": ["assistant:[c1:find({})]", "assistant:Here.", "assistant:Bye."],
    "runs": [
        {"input": ["user:Where?"]},
        {"input": ["user:Thanks"], "continues": True},
    ],
}
STRUCT = "def subject(world): ...\n"
GRAPH = "def subject(world):\n    lc = world.as_langchain()\n"


def written(folder: Path, name: str, *lines: object) -> Path:
    path = folder / name
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


def corpus(folder: Path, given: GivenData, source: str = STRUCT) -> Corpus:
    """Return the corpus of a subject of that source with what was given."""
    (folder / "old.py").write_text(source, "utf-8")
    ref = parse_ref("old.py", cwd=folder)
    return corpus_of([ref], CheckOptions(examples=1, given=given))


@pytest.mark.parametrize("source", [STRUCT, GRAPH], ids=["structs", "graphs"])
def test_sessions_are_played_as_they_are_and_further_ones_are_made_of_them(
    tmp_path: Path, source: str
) -> None:
    other = {"messages": [{"role": "user", "content": "hi"}, DONE]}
    given = read_given([written(tmp_path, "chats.jsonl", CHAT, other)], [])

    found = corpus(tmp_path, given, source)

    assert given.used(found) == (GivenWorlds("chats.jsonl", 2, 6),)
    first = next(each for each in found.worlds if each.family == "given 1")
    assert first.scenario == given.files[0].worlds[0].scenario
    assert "chats.jsonl" not in found.json


def test_made_worlds_are_cut_otherwise_shortened_and_joined() -> None:
    streamed, later, earlier, twice = seeded([SESSION], Words(), 0)

    assert all(run["streaming"] for run in streamed["runs"])
    assert later["runs"][0]["input"] == [
        "user:Where?",
        "assistant:[c1:find({})]",
        "tool(c1):at sea",
        "assistant:Here.",
        "user:Thanks",
    ]
    assert later["model_script"] == ["assistant:Bye."]
    assert len(earlier["runs"]) == 1
    assert len(twice["runs"]) == 4
    assert twice["runs"][2]["continues"]
    assert set(twice["agent"]["tools"][0]["by_call"]) == {"c1", "c1b"}


def test_texts_of_sessions_join_the_words() -> None:
    assert [*texts_of(SESSION)] == [
        "Where?", "Thanks", "at sea", "", "Here.", "Bye.",
    ]  # fmt: skip
    with_texts = GivenData(samples=Samples(("Where is A-77?",), ("A-77",)))

    words = with_texts.words(Words(texts=("x",)))

    assert words.texts == ("Where is A-77?", "A-77", "x")


def test_documents_are_what_tools_find() -> None:
    world, _ = document_worlds(["Returns are free.", {"id": 7}], Words(), 0)

    (results,) = [each["by_call"] for each in world["agent"]["tools"]]

    assert [*results.values()] == [
        ['["Returns are free.", {"id": 7}]'],
        ['["Returns are free.", "Returns are free."]'],
        ['["Returns are free."]'],
        ["[]"],
        ["Returns are free."],
        ['{"id": 7}'],
    ]


@pytest.mark.parametrize("source", [STRUCT, GRAPH], ids=["structs", "graphs"])
def test_samples_and_tools_are_in_worlds(tmp_path: Path, source: str) -> None:
    tools = written(tmp_path, "tools.json", [{"name": "pay_invoice"}])
    samples = Samples(("Where is A-77?",), ("A-77",), ({"total": 7},))

    found = corpus(tmp_path, read_given([], [tools], samples), source)
    of_tools, of_samples = read_given([], [tools], samples).used(found)

    assert (of_tools.file, of_samples.file) == ("tools.json", "samples")
    assert of_tools.made > 0
    assert of_samples.made > 0


def test_a_file_that_is_in_no_world_is_an_error(tmp_path: Path) -> None:
    one = written(tmp_path, "one.jsonl", CHAT)
    same = written(tmp_path, "same.jsonl", CHAT)
    given = read_given([one, same], [])

    with pytest.raises(UnusedFileError, match=r"^same.jsonl: nothing of it is in any"):
        given.used(corpus(tmp_path, given, GRAPH))


def test_the_same_file_twice_is_an_error(tmp_path: Path) -> None:
    one = written(tmp_path, "one.jsonl", CHAT)

    with pytest.raises(GivenFileError, match="is given twice: leave one out"):
        read_given([one, tmp_path / "x" / ".." / "one.jsonl"], [])


def test_what_no_graph_can_have_is_refused_for_graphs(tmp_path: Path) -> None:
    kept = {"agent": {}, "model_script": [], "runs": [{"checkpoint": "k"}]}
    given = read_given([written(tmp_path, "mine.jsonl", CHAT, kept)], [])

    assert corpus(tmp_path, given).worlds
    with pytest.raises(GivenFileError, match="line 2: has several agents, or a run"):
        corpus(tmp_path, given, GRAPH)

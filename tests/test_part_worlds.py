"""Messages of two texts: the wrong ports that they show, and who is given none."""

import json
from pathlib import Path

import pytest

from compat.migration.corpus import OwnWorlds, make_corpus
from refengine.testing.notation import BORDER, in_one_part, parts_of
from refengine.testing.subject_worlds.named_values import GraphWords
from refengine.testing.subject_worlds.part_worlds import FAMILY, RUNS, part_worlds
from refengine.testing.subject_worlds.words import Pattern, Words
from tests.test_edge_worlds import told

MASKS = """
import re
from dataclasses import replace
from compat.dialects.flow import LlmAgent
from compat.dialects.playing.flow_world import as_flow

MAIL = re.compile(r"[a-z.]+@[a-z]+\\.[a-z]{{2,}}")

def masked(content):
    parts = [*content.parts]
    for at in range(len(parts)):
        found = MAIL.sub("<mail>", parts[at].text)
        if {until}:
            break
        parts[at] = replace(parts[at], text=found)
    return replace(content, parts=tuple(parts))

def asked(ctx, request):
    request.contents[:] = map(masked, request.contents)

def said(ctx, response):
    if not response.partial:
        return replace(response, content=masked(response.content))

def subject(world):
    flow = as_flow(world)
    return LlmAgent(name="desk", model=flow.model, tools=flow.tools, {hooks})
"""


@pytest.mark.parametrize("hooks", ["before_model=asked", "after_model=said"])
@pytest.mark.parametrize("until", ["at > 0", "at < len(parts) - 1"])
def test_a_port_that_reads_one_part_of_a_message_is_told(
    tmp_path: Path, hooks: str, until: str
) -> None:
    old, wrong = (MASKS.format(until=e, hooks=hooks) for e in ("False", until))

    assert told(tmp_path, old, wrong, FAMILY)


JOINS = """
def masked(content):
    parts = [each for each in content.parts if not each.text]
    text = "".join(each.text for each in content.parts)
    if text:
        parts.insert(0, Part(text=MAIL.sub("<mail>", text)))
    return replace(content, parts=tuple(parts))

def asked"""


def test_who_joins_the_parts_finds_what_they_hold(tmp_path: Path) -> None:
    old = MASKS.format(until="False", hooks="before_model=asked, after_model=said")
    joins = old.replace("import LlmAgent", "import LlmAgent, Part")

    assert not told(tmp_path, old, joins.replace("\ndef asked", JOINS), FAMILY)


def test_only_agents_of_adk_are_given_messages_of_several_texts() -> None:
    given = {"agent": {}, "model_script": ["assistant:c"]}
    own = OwnWorlds((("given 1", {**given, "runs": [{"input": ["user:a␞b"]}]}),))
    words = Words(texts=("refund",))
    adk, graph, structs = (
        make_corpus(words, 5, 0, each, own=own).json
        for each in (GraphWords(adk=True), GraphWords(), None)
    )

    assert "user:a\\u241eb" in adk
    assert f'"{FAMILY}"' in adk
    assert "\\u241e" not in graph + structs
    assert '"user:ab"' in graph
    assert '"user:ab"' in structs


def test_these_worlds_are_few_and_each_text_stands_in_each_part() -> None:
    patterns = tuple(Pattern(f"[a-f]{{{at},9}}x") for at in range(2, 9))
    words = Words(texts=tuple(f"text {at}" for at in range(99)), patterns=patterns)
    made = [world for _, world in part_worlds(words)]
    said = [run["input"][0] for world in made for run in world["runs"]]

    assert len(made) == 3
    assert max(len(world["runs"]) for world in made) == RUNS
    assert [text.count("aax") for text in said[:3]] == [1, 1, 2]
    assert all(text.count(BORDER) == 1 for text in said)
    assert BORDER in json.dumps(made, ensure_ascii=False)


def test_a_border_is_no_part_s() -> None:
    assert parts_of("a␞b␞") == ["a", "b"]
    assert parts_of("") == []
    assert in_one_part("a␞b") == "ab"

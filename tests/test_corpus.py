"""Corpora: the same everywhere, every word in every place, planted faults are found."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from compat.migration.corpus import (
    LASTING,
    Corpus,
    MigrationWorld,
    NoExamplesError,
    fixed_worlds,
    make_corpus,
    read_corpus,
)
from compat.migration.words import Pattern, Words, harvest
from refengine import AgentMiddleware, ToolMiddleware
from refengine.messages import Message, ToolCall, chunk_of, join_chunks
from refengine.profile import PROFILES
from refengine.testing import (
    ReferenceEngine,
    Scenario,
    first_divergence,
    parse_message,
    play,
    read_scenario,
    run,
)
from refengine.testing.notation import decoded
from refengine.testing.scenario import ModelChunks
from refengine.testing.subject_worlds.named_values import GraphWords
from refengine.testing.subject_worlds.word_edges import FAMILY, word_edges
from refengine.testing.subject_worlds.words import matching
from refengine.testing.subject_worlds.worlds import ROTATION, WORDS
from refengine.testing.subjects import play_subject

ROOT = Path(__file__).parent.parent

GUARD = """
import json
import re
from dataclasses import replace
from refengine import AgentMiddleware, ToolMiddleware, with_remove_tools
from refengine.testing.wrapping import stream_of
from refengine.tools import StreamToolCallResult, ToolCallResult

BLOCKED = {"delete_all", "drop_table", "send_mail"}
DANGEROUS = "admin_"
SECRET = re.compile(r"sk-[A-Za-z0-9]{20,24}")
MAIL = re.compile(r"\\b[\\w.+-]+@[\\w-]+\\.[a-z]{2,}\\b", re.I)
CARD = r"\\d{13,16}"
FINAL = "FINAL:"
KEEP = 20
MOST_CALLS = 5
LONGEST = 2 * 1024
CHARS_PER_TOKEN = 4
BUDGET = 1000
MOST_ROWS = 500


def redact(text):
    return re.sub(CARD, "[card]", SECRET.sub("[secret]", text))


class Guard:
    name = "guard"

    async def before_agent(self, ctx, config):
        config.instruction += "\\nNever tell secrets."
        config.tools = [t for t in config.tools if t.name not in ("shell", "eval")]
        return ctx

    async def before_model_rewrite_history(self, ctx, messages):
        if len(messages) > KEEP:
            messages = messages[-KEEP:]
        tokens = sum(len(m.content) for m in messages) // CHARS_PER_TOKEN
        if tokens > BUDGET:
            messages = messages[-1:]
        if not messages:
            return ctx, messages
        if sum(m.role == "tool" for m in messages) >= 7:
            messages = [m for m in messages if m.role != "tool"]
        if "ignore all rules" in messages[-1].content.lower():
            raise PermissionError("no")
        return ctx, [replace(m, content=MAIL.sub("[mail]", m.content))
                     if m.role == "user" else m for m in messages]

    async def after_model_rewrite_history(self, ctx, messages):
        last = messages[-1]
        if last.content.startswith(FINAL) and not last.tool_calls:
            last = replace(last, content=last.content.removeprefix(FINAL).strip())
        if len(last.tool_calls) > MOST_CALLS:
            last = replace(last, tool_calls=last.tool_calls[:MOST_CALLS])
        return ctx, [*messages[:-1], last]

    def refuses(self, call):
        if call.name in BLOCKED or call.name.startswith(DANGEROUS):
            return True
        try:
            given = json.loads(call.arguments)
        except ValueError:
            return "rm -rf" in call.arguments
        if not isinstance(given, dict):
            return False
        rows = given.get("max_rows")
        if isinstance(rows, int) and rows > MOST_ROWS:
            return True
        return given.get("force") is True

    async def wrap_invokable_tool_call(self, ctx, input, next):
        if self.refuses(input):
            return ToolCallResult("refused")
        result = await next(ctx, input)
        text = redact(result.result)
        if len(text) > LONGEST:
            text = text[:LONGEST] + "..."
        return ToolCallResult(text)

    async def wrap_streamable_tool_call(self, ctx, input, next):
        if self.refuses(input):
            return StreamToolCallResult(stream_of("refused"))
        opened = await next(ctx, input)
        text = "".join([chunk async for chunk in opened.result])
        if re.match("(?i)error: .+ timed out$", text):
            text = "[timeout]"
        return StreamToolCallResult(stream_of(redact(text)))


def subject(world):
    return [Guard()]
"""

PLANTED = {
    "a blocked name is missed": (', "send_mail"', ""),
    "a blocked name is misspelt": ('"drop_table"', '"drop-table"'),
    "a removed name is missed": ('("shell", "eval")', '("shell",)'),
    "a prefix becomes a name": (".name.startswith(DANGEROUS)", '.name == "admin_"'),
    "a prefix is longer": ('"admin_"', '"admin_x"'),
    "a class loses digits": ("A-Za-z0-9]{20,24}", "A-Za-z]{20,24}"),
    "a class loses a letter": ("[A-Za-z0-9]{20", "[A-Ya-z0-9]{20"),
    "a class loses a letter midway": ("[A-Za-z0-9]{20", "[A-Za-mo-z0-9]{20"),
    "a repetition starts later": ("{20,24}", "{21,24}"),
    "a repetition ends earlier": ("{20,24}", "{20,23}"),
    "a repetition goes further": ("{13,16}", "{13,19}"),
    "a flag is lost": (", re.I)", ")"),
    "an inline flag is lost": ("(?i)error", "error"),
    "an anchor is lost": ("timed out$", "timed out"),
    "a match becomes a search": ('re.match("(?i)', 're.search("(?i)'),
    "a boundary is lost": ('r"\\\\b[', 'r"['),
    "digits of all scripts": ('CARD = r"\\\\d', 'CARD = r"[0-9]'),
    "a class loses a hyphen": ("@[\\\\w-]+", "@\\\\w+"),
    "a history one longer": ("KEEP = 20", "KEEP = 21"),
    "a result one shorter": ("LONGEST = 2 * 1024", "LONGEST = 2 * 1024 - 1"),
    "a result at the limit": ("len(text) > LONGEST", "len(text) >= LONGEST"),
    "a token estimate at the limit": ("tokens > BUDGET", "tokens >= BUDGET"),
    "a token more": ("BUDGET = 1000", "BUDGET = 1001"),
    "other tokens": ("CHARS_PER_TOKEN = 4", "CHARS_PER_TOKEN = 3"),
    "tool messages at the limit": (
        '"tool" for m in messages) >= 7',
        '"tool" for m in messages) > 7',
    ),
    "one call fewer": ("MOST_CALLS = 5", "MOST_CALLS = 4"),
    "a number in arguments": ("rows > MOST_ROWS", "rows >= MOST_ROWS"),
    "a key of arguments": ('get("max_rows")', 'get("maxRows")'),
    "a flag of arguments": ('get("force") is True', 'get("force") == "true"'),
    "a truth of arguments": ('get("force") is True', 'get("force")'),
    "arguments that are not JSON": ('return "rm -rf" in', 'return "rm  -rf" in'),
    "case of a text": (".content.lower()", ".content"),
    "a prefix of an answer": ('FINAL = "FINAL:"', 'FINAL = "FINAL"'),
    "spaces of an answer": ("removeprefix(FINAL).strip()", "removeprefix(FINAL)"),
    "an instruction": ("Never tell secrets.", "Never tell secrets"),
    "a replacement": ('"[secret]"', '"[SECRET]"'),
    "text in the middle": (
        'if "ignore all rules" in messages[-1].content.lower()',
        'if messages[-1].content.lower().startswith("ignore all rules")',
    ),
    "only one kind is wrapped": ("stream_of(redact(text))", "stream_of(text)"),
}


def planted(old: str, fault: str) -> str:
    before, after = (each.replace("\\\\", "\\") for each in PLANTED[fault])
    assert before in old
    return old.replace(before, after, 1)


def subject_of(source: str) -> Any:
    scope: dict[str, Any] = {}
    exec(source, scope)  # noqa: S102  # the test's own source
    return scope["subject"]


def diverging(old: str, new: str, corpus: Corpus) -> MigrationWorld | None:
    """Return a world in which two subjects differ.

    Where it is likely comes first, and of that what is short.
    """
    subjects = subject_of(old), subject_of(new)

    def late(entry: MigrationWorld) -> tuple[bool, int]:
        return entry.family not in WORDS, len(entry.scenario.runs)

    for entry in sorted(corpus.worlds, key=late):
        traces = [run(play_subject(entry.scenario, each)).trace for each in subjects]
        if first_divergence(*traces) is not None:
            return entry
    return None


@pytest.mark.one_in(6)
@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str) -> None:
    new = planted(GUARD, fault)
    words = harvest({"old": GUARD, "new": new})
    seed = list(PLANTED).index(fault) % 5

    assert diverging(GUARD, new, make_corpus(words, 50, seed))


LEGACY = """
from refengine import AgentMiddleware, ToolMiddleware
from refengine.tools import ToolCallResult

DENIED = ["delete_all", "wipe"]


def guarded(next):
    async def call(ctx, input):
        if input.name in DENIED:
            return ToolCallResult("denied")
        return await next(ctx, input)
    return call


def subject(world):
    return [AgentMiddleware("Be careful.", wrap_tool_call=ToolMiddleware(guarded))]
"""


@pytest.mark.parametrize("seed", range(5))
def test_a_name_that_a_struct_middleware_misses_is_found_with_any_seed(
    seed: int,
) -> None:
    new = LEGACY.replace(', "wipe"', "")
    words = harvest({"old": LEGACY, "new": new})

    assert diverging(LEGACY, new, make_corpus(words, 50, seed))


WORDS_OF_GUARD = harvest({"guard": GUARD})
CORPUS = make_corpus(WORDS_OF_GUARD, 100, 0)


def test_every_family_is_there_five_times() -> None:
    made = Counter(each.family for each in CORPUS.worlds if not each.fixed)

    assert sum(made.values()) == 100
    assert made.keys() == set(ROTATION)
    assert min(made.values()) >= 5


def test_fixed_worlds_come_first_and_have_no_places_left() -> None:
    fixed = [each.fixed for each in CORPUS.worlds]
    families = {each.family for each in CORPUS.worlds if each.fixed}
    texts = json.dumps(list(fixed_worlds(Words())))

    assert fixed == sorted(fixed, reverse=True)
    others = {"alike", "arguments", "long runs", FAMILY}
    assert families == (set(ROTATION) - set(WORDS)) | LASTING | others
    assert "<name:" not in texts
    assert "<match:" not in texts


@pytest.mark.parametrize("examples", [0, -1])
def test_a_corpus_without_generated_worlds_is_refused(examples: int) -> None:
    with pytest.raises(NoExamplesError, match="ask for at least 1"):
        make_corpus(Words(), examples, 0)


def test_one_world_has_all_it_can() -> None:
    fixed = [*fixed_worlds(WORDS_OF_GUARD)]
    fixed += word_edges(WORDS_OF_GUARD, own_tools=False)

    assert len(make_corpus(WORDS_OF_GUARD, 1, 0).worlds) == len(fixed) + 1


def test_a_corpus_is_read_back_from_its_json() -> None:
    assert read_corpus(CORPUS.json) == CORPUS
    assert read_corpus(CORPUS.json).digest == CORPUS.digest
    assert CORPUS.json.isascii()


def test_another_seed_gives_another_corpus() -> None:
    assert make_corpus(WORDS_OF_GUARD, 100, 1).digest != CORPUS.digest


DIGEST = """
import sys
from compat.migration.corpus import make_corpus
from compat.migration.words import harvest
print(make_corpus(harvest({"guard": sys.stdin.read()}), 100, 0).digest)
"""


@pytest.mark.parametrize(
    ("hashes", "first"),
    [
        ("0", ""),
        ("1", "import hypothesis, refengine.testing.strategies.worlds"),
        ("2", "import sys; sys.modules['hypothesis'] = None"),
    ],
)
def test_a_corpus_is_the_same_in_every_process(hashes: str, first: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{first}\n{DIGEST}"],
        input=GUARD,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hashes},
    )

    assert done.stdout.strip() == CORPUS.digest


corpus_of = cache(make_corpus)
"""The same corpus for each turn."""


@pytest.mark.parametrize(
    ("words", "first"),
    [(Words(), 0), (WORDS_OF_GUARD, 0), (WORDS_OF_GUARD, 5)],
    ids=["without words", "with words", "under others"],
)
def test_worlds_can_be_played_under_every_profile(words: Words, first: int) -> None:
    """The next world under the next profile, from the first or from another one."""
    ends: Counter[str] = Counter()
    for at, entry in enumerate(corpus_of(words, 30, 3).worlds, first):
        under = PROFILES[at % len(PROFILES)]
        trace = run(play(entry.scenario, ReferenceEngine(under)))
        ends.update(each.data["status"] for each in trace.of("run_end"))

    assert ends["completed"] > ends["error"] > 0
    assert ends["returned_directly"]


def said_in(scenario: Scenario) -> list[Message]:
    """Return the model's answers, those in chunks joined."""
    found: list[Message] = []
    for entry in scenario.model_script:
        if isinstance(entry, str):
            found.append(parse_message(entry))
        elif isinstance(entry, ModelChunks):
            parts = [parse_message(chunk) for chunk in entry.chunks]
            found.append(join_chunks(map(chunk_of, parts)))
    return found


MADE = [each for each in CORPUS.worlds if not each.fixed]
SAID = [said_in(each.scenario) for each in MADE]
ANSWERS = [message for each in SAID for message in each]
CALLED = [
    {call.name for message in each for call in message.tool_calls} for each in SAID
]
INPUTS = [parse_message(t) for e in MADE for r in e.scenario.runs for t in r.input]
AGENTS = [each.scenario.all_agents[0] for each in MADE]
RESULTS = {decoded(tool.result) for agent in AGENTS for tool in agent.tools}


@pytest.mark.parametrize("name", WORDS_OF_GUARD.names)
def test_every_name_is_called_where_it_is_a_tool_and_where_it_is_none(
    name: str,
) -> None:
    there: Counter[tuple[str, bool]] = Counter()
    absent = 0
    for entry, called in zip(MADE, CALLED, strict=True):
        [agent] = entry.scenario.all_agents
        if name in called:
            kinds = {tool.kind for tool in agent.tools if tool.name == name}
            modes = {each.streaming for each in entry.scenario.runs}
            there.update((kind, mode) for kind in kinds for mode in modes)
            absent += not kinds

    assert len(there) == 6
    assert min(there.values()) >= 2
    assert any(entry.family == "removed" for entry in MADE)


@pytest.mark.parametrize("number", WORDS_OF_GUARD.numbers)
def test_every_number_and_its_neighbours_are_lengths(number: int) -> None:
    near = [number + by for by in (-1, 0, 1)]
    users = {len(each.content) for each in INPUTS if each.role == "user"}
    histories = {len(run.input) for each in MADE for run in each.scenario.runs}

    assert users.issuperset(near)
    assert {len(result) for result in RESULTS}.issuperset(near)
    assert {len(each.content) for each in ANSWERS}.issuperset(near)
    assert histories.issuperset(near if number <= 64 else [])


@pytest.mark.parametrize("pattern", WORDS_OF_GUARD.patterns, ids=lambda p: p.regex)
def test_every_pattern_is_met_in_every_place(pattern: Pattern) -> None:
    [*first] = matching(pattern)[:2]
    streamed = {
        "".join(parse_message(chunk).content for chunk in entry.chunks)
        for each in MADE
        for entry in each.scenario.model_script
        if isinstance(entry, ModelChunks)
    }
    plain = {
        parse_message(entry).content
        for each in MADE
        for entry in each.scenario.model_script
        if isinstance(entry, str)
    }
    arguments = [call.arguments for each in ANSWERS for call in each.tool_calls]
    instructions = [agent.instruction for agent in AGENTS]

    for text in first:
        assert text in {each.content for each in INPUTS if each.role == "user"}
        assert text in RESULTS
        assert text in plain & streamed
        assert any(json.dumps(text, ensure_ascii=False) in each for each in arguments)
    assert matching(pattern)[0] in instructions


def test_ids_of_calls_are_unique_in_a_generated_session() -> None:
    for entry in MADE:
        ids = [c.id for m in said_in(entry.scenario) for c in m.tool_calls]
        if len(entry.scenario.runs) == 1:
            assert len(ids) == len(set(ids))


def test_tools_and_models_fail_with_the_errors_that_a_subject_tells_apart() -> None:
    words = Words(errors=("TimeoutError", "PermissionError"), numbers=(3,))
    texts = [json.dumps(made) for _, made in fixed_worlds(words)]

    by_tool = [each for each in texts if '"text": "TimeoutError"' in each]
    both = [each for each in by_tool if '"text": "PermissionError"' in each]
    assert len(by_tool) > len(both) > 0
    assert any(each.count('{"error": "TimeoutError"}') == 8 for each in texts)


def test_tools_that_a_subject_names_fail_with_each_error_that_it_names() -> None:
    errors = ("TimeoutError", "OSError")
    words = Words(names=("get_", "put_"), errors=errors, numbers=(3,))
    failing = {
        (tool["name"], op["text"])
        for _, made in fixed_worlds(words)
        for tool in cast("Any", made)["agent"].get("tools", ())
        for op in tool.get("body", ())
        if op["op"] == "error"
    }

    assert {("get_", each) for each in errors} | {("put_", "OSError")} <= failing


def test_each_of_a_subject_s_tools_fails_so_often_in_a_row() -> None:
    """Who answers all that a tool raises names no class of error."""
    words = Words(names=("name", "id", "search", "pay"), numbers=(3,))
    failing = {
        (tool.name, sum(1 for op in tool.body if (op.on_call or 0) <= fails + 1))
        for each in make_corpus(words, 1, 0).worlds
        if each.family == "failures"
        for tool in each.scenario.all_agents[0].tools
        for fails in (3,)
    }

    assert {("search", 3), ("pay", 3)} <= failing


def test_a_loop_over_what_a_tool_streams_is_entered_and_passed_by() -> None:
    words = Words(names=("look",))
    ways = {
        run_.streaming
        for each in make_corpus(words, 1, 0).worlds
        for tool in each.scenario.all_agents[0].tools
        for run_ in each.scenario.runs
        if tool.name == "look"
        if tool.kind == "streamable"
        if tool.chunks == () and "chunks" in tool.model_fields_set
    }

    assert ways == {False, True}


@pytest.mark.parametrize("graphs", [None, GraphWords(), GraphWords(adk=True)])
def test_each_tool_is_called_again_when_another_one_was(
    graphs: GraphWords | None,
) -> None:
    words = Words(names=("name", "look", "rate", "write"))
    rows = [
        [call.name for each in world.scenario.model_script for call in _calls(each)]
        for world in make_corpus(words, 1, 0, graphs).worlds
        if len(world.scenario.runs) == 1
    ]

    for between in ("look", "rate", "write"):
        some = [["look", "rate", "write", between, "look", "rate", "write"]]
        assert any(part in some for row in rows for part in _windows(row, 7))


def _calls(entry: object) -> Iterable[ToolCall]:
    return parse_message(entry).tool_calls if isinstance(entry, str) else ()


def _windows(row: list[str], size: int) -> Iterable[list[str]]:
    return (row[at : at + size] for at in range(len(row)))


@pytest.mark.parametrize("name", ["TimeoutError", "KeyError", "UnicodeDecodeError"])
def test_an_error_that_is_called_as_one_of_python_s_is_of_its_class(name: str) -> None:
    def subject(world: Any) -> Any:
        def policy(inner: Any) -> Any:
            async def call(ctx: Any, input: Any) -> Any:
                try:
                    return await inner(ctx, input)
                except (TimeoutError, LookupError) as error:
                    world.effect("caught", type(error).__name__)
                    raise

            return call

        return [AgentMiddleware(wrap_tool_call=ToolMiddleware(policy))]

    agent = {"tools": [{"name": "t", "error": name}]}
    script = ["assistant:[c1:t({})]", "assistant:done"]
    data = {"agent": agent, "model_script": script, "runs": [{"input": ["user:a"]}]}
    trace = run(play_subject(read_scenario(data, "here"), subject)).trace

    caught = [each.data["data"] for each in trace.of("effect")]
    assert caught == [name] * (name != "UnicodeDecodeError")

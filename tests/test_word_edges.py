"""Worlds at the edges of a subject's words, and the wrong ports that only they show."""

import json
import re
from pathlib import Path

import pytest

from refengine.testing.subject_worlds.word_edges import (
    FAMILY,
    RUNS,
    WHY,
    ended,
    word_edges,
)
from refengine.testing.subject_worlds.words import Pattern, Words, at_bounds, matching
from tests.test_edge_worlds import told

SAYS = """
import json, posixpath, re
from refengine import AgentMiddleware

KEY = r"sk-[a-z0-9]{{8,}}"
DATE = r"[0-9]{{4}}-[0-9]{{2}}"

def amount(text):
    return text.isdigit() and int(text) > 1200

def parsed(text):
    try:
        return json.loads(text.removeprefix("```json").removesuffix("```"))
    except ValueError:
        return None

def subject(world):
    def look(text):
        return {found}

    def after(ctx, state):
        for each in state.messages:
            world.effect("saw", look(each.content))

    return [AgentMiddleware(after_chat_model=after)]
"""


MANY = ", ".join(f"text == 'note {at}'" for at in range(24))
"""As many texts as are compared in some sources, beside the one that matters."""


@pytest.mark.parametrize(
    ("old", "wrong"),
    [
        ("len(text) > 160", "len(text.encode()) > 160"),
        ("len(text) > 160", "len(text.encode('utf-16-le')) // 2 > 160"),
        ("text.strip().startswith('/etc/')", "text.startswith('/etc/')"),
        ("text.lower() == 'stop'", "text.strip() == 'stop'"),
        (
            "bool(re.search(r'[b-y]{2}1{7,11}[b-y]', text))",
            "bool(re.search(r'[b-y]{2}1{7,12}[b-y]', text))",
        ),
        ("re.sub(KEY, '', text)[:90]", "re.sub(KEY, '', text[:90])"),
        (f"{MANY}, text.strip() == 'approve'", f"{MANY}, text == 'approve'"),
        ("amount(text.replace(',', ''))", "amount(text)"),
        (
            "re.sub(DATE, '', text)",
            "text.replace(m[0], '') if (m := re.search(DATE, text)) else text",
        ),
        ("'```' in text, parsed(text.strip())", "'```' in text, parsed(text)"),
        (
            "isinstance(p := parsed(text), dict) and 'answer' in p",
            "isinstance(p := parsed(text), dict) and bool(p.get('answer'))",
        ),
        (
            "re.findall(DATE, str(parsed(text)))",
            (
                "re.findall(DATE, str([v for v in p.values() if isinstance(v, dict)]"
                " if isinstance(p := parsed(text), dict) else p))"
            ),
        ),
        (
            "posixpath.normpath(text).startswith('/srv/data')",
            "text.startswith('/srv/data')",
        ),
        (
            "amount(str(p.get('q'))) if isinstance(p := parsed(text), dict) else 0",
            (
                "isinstance(p.get('q'), int) and p['q'] > 1200"
                " if isinstance(p := parsed(text), dict) else 0"
            ),
        ),
        (
            "[x for x in ('for staff only', 'do not pass on') if x in text]",
            "[x for x in ('for staff only', 'do not pass on') if x in text][:1]",
        ),
    ],
    ids=[
        *("bytes", "utf-16", "trimmed", "folded", "bound", "cut"),
        *("trimmed-of-many", "thousands", "first-alone", "fenced", "falsy-value"),
        *("within-lists", "out-of-a-path", "number-in-quotes", "all-of-some"),
    ],
)
def test_a_word_that_is_read_otherwise_is_told_by_a_world_of_its_own(
    tmp_path: Path, old: str, wrong: str
) -> None:
    mine, other = (SAYS.format(found=each) for each in (old, wrong))

    assert told(tmp_path, mine, other, FAMILY)
    assert not told(tmp_path, mine, mine + "# the same\n", FAMILY)


CACHES = """
from refengine import AgentMiddleware, ToolCallResult, ToolMiddleware

def subject(world):
    known = {{}}

    def invokable(inner):
        async def call(ctx, input):
            if not {reads}:
                return await inner(ctx, input)
            key = input.name, input.arguments
            if key not in known:
                try:
                    known[key] = (await inner(ctx, input)).result
                except Exception:
                    {failed}
                    raise
            return ToolCallResult(known[key])

        return call

    return [AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable, None))]
"""
BREAKS = """
from refengine import AgentMiddleware, ToolCallResult, ToolMiddleware

def subject(world):
    failed = [0]

    def invokable(inner):
        async def call(ctx, input):
            if failed[0] >= {most}:
                return ToolCallResult("it is out of order")
            try:
                found = await inner(ctx, input)
            except TimeoutError:
                failed[0] += 1
                raise
            {worked}
            return found

        return call

    return [AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable, None))]
"""


@pytest.mark.parametrize("most", [2, 3])
def test_failures_are_counted_in_a_row_or_in_all(tmp_path: Path, most: int) -> None:
    old = BREAKS.format(most=most, worked="failed[0] = 0")
    wrong = BREAKS.format(most=most, worked="pass")

    assert told(tmp_path, old, wrong, FAMILY)


def test_failures_are_counted_of_each_tool_or_of_all(tmp_path: Path) -> None:
    mine = BREAKS.format(most=3, worked="pass").replace("[0]\n", "Counter()\n")
    wrong = f"from collections import Counter\n{mine}"
    old = wrong.replace("failed[0]", "failed[input.name]")

    assert told(tmp_path, old, wrong, FAMILY)


CUTS = """
from refengine import AgentMiddleware, StreamReader, StreamToolCallResult
from refengine import ToolMiddleware

def subject(world):
    def streamable(inner):
        async def call(ctx, input):
            opened = await inner(ctx, input)
            return StreamToolCallResult(StreamReader(cut(opened.result)))

        return call

    async def cut(pieces):
        seen = 0
        async for piece in pieces:
            {passes}
            seen += len(piece)
        if seen > 160:
            yield "[cut]"

    return [AgentMiddleware(wrap_tool_call=ToolMiddleware(None, streamable))]
"""


def test_a_length_is_passed_before_the_end_of_a_stream(tmp_path: Path) -> None:
    old = CUTS.format(passes="if seen <= 160: yield piece[:160 - seen]")
    wrong = CUTS.format(passes="yield piece[:160 - seen]")

    assert told(tmp_path, old, wrong, FAMILY)


def test_a_stream_goes_on_behind_a_length_that_its_pieces_come_to(
    tmp_path: Path,
) -> None:
    old = CUTS.format(passes="if seen < 160: yield piece")
    wrong = CUTS.format(passes="if seen <= 160: yield piece")

    assert told(tmp_path, old, wrong, FAMILY)


ENDS = """
from refengine import AgentMiddleware, StreamReader, StreamToolCallResult
from refengine import ToolMiddleware

async def ended(pieces):
    try:
        async for piece in pieces:
            yield piece
    except {within}:
        yield "[it broke off]"

def subject(world):
    def streamable(inner):
        async def call(ctx, input):
            if input.name != "report":
                return await inner(ctx, input)
            try:
                opened = await inner(ctx, input)
            except {opening}:
                return StreamToolCallResult(StreamReader(only("[it broke off]")))
            return StreamToolCallResult(StreamReader(ended(opened.result)))

        return call

    return [AgentMiddleware(wrap_tool_call=ToolMiddleware(None, streamable))]

async def only(text):
    yield text
"""


@pytest.mark.parametrize(
    ("named", "other"), [("OSError", "KeyError"), ("Exception", "StopIteration")]
)
def test_a_stream_that_breaks_off_is_told_from_one_that_does_not_open(
    tmp_path: Path, named: str, other: str
) -> None:
    old, wrong = (ENDS.format(opening=named, within=each) for each in (named, other))

    assert told(tmp_path, old, wrong, FAMILY)


REPEATS = """
from dataclasses import replace
from refengine import AgentMiddleware

def subject(world):
    def dedupe(ctx, state):
        seen = set()
        for at, message in enumerate(state.messages):
            if message.role == "tool" and len(message.content) {sign} 160:
                if message.content in seen:
                    state.messages[at] = replace(message, content="[as before]")
                seen.add(message.content)

    return [AgentMiddleware(before_chat_model=dedupe)]
"""


def test_a_text_of_a_length_is_given_twice(tmp_path: Path) -> None:
    old, wrong = (REPEATS.format(sign=each) for each in (">=", ">"))

    assert told(tmp_path, old, wrong, FAMILY)


PREFIX, INSIDE = 'input.name.startswith("get_")', '"get_" in input.name'


def test_a_failure_that_is_remembered_is_told_by_the_same_call_in_a_later_run(
    tmp_path: Path,
) -> None:
    old = CACHES.format(reads=PREFIX, failed="pass")
    wrong = CACHES.format(reads=PREFIX, failed='known[key] = ""')

    assert told(tmp_path, old, wrong, FAMILY)


def test_a_name_with_a_word_further_in_is_called_twice_with_equal_arguments(
    tmp_path: Path,
) -> None:
    old, wrong = (CACHES.format(reads=r, failed="pass") for r in (PREFIX, INSIDE))

    assert "tool_executions" in told(tmp_path, old, wrong, "names")


CONFIRMS = """
import re
from refengine import AgentMiddleware, ToolCallResult, ToolMiddleware

def subject(world):
    said = [False]

    def before(ctx, state):
        users = [each.content for each in state.messages if each.role == "user"]
        found = bool(re.search(r"\\bI confirm\\b", users[-1]))
        said[0] = {kept}

    def invokable(inner):
        async def call(ctx, input):
            if said[0] or input.name not in {{"refund", "delete_account"}}:
                return await inner(ctx, input)
            return ToolCallResult("needs a word of the user's")

        return call

    wrap = ToolMiddleware(invokable, None)
    return [AgentMiddleware(before_chat_model=before, wrap_tool_call=wrap)]
"""


SEARCHES = r're.search(r"\bI confirm\b", users[-1])'


@pytest.mark.parametrize("looks", [SEARCHES, '"I confirm" in users[-1]'])
def test_a_consent_that_outlives_its_turn_is_told(tmp_path: Path, looks: str) -> None:
    old, wrong = (
        CONFIRMS.replace(SEARCHES, looks).format(kept=k)
        for k in ("found", "said[0] or found")
    )

    assert looks in old
    assert told(tmp_path, old, wrong, FAMILY)


def test_each_bound_of_a_repetition_is_met_and_passed_by_one() -> None:
    made = at_bounds(Pattern(r"\b(?:x-)?\d{13,16}y{2,}z?\b", re.ASCII))

    assert {text.count("0") for text in made} == {12, 13, 16, 17}
    assert {text.count("y") for text in made} == {1, 2}


@pytest.mark.parametrize("regex", [r"\d{3,5}", r"\w\w", r"[\d_]{4}", r"[^\W_]{3}"])
def test_where_a_shorthand_is_of_ascii_each_match_is(regex: str) -> None:
    pattern = Pattern(regex, int(re.ASCII))

    assert matching(pattern)
    assert all(text.isascii() for text in matching(pattern))


def test_each_of_the_own_tools_is_called_where_a_word_stands_behind_spaces() -> None:
    words = Words(texts=("approve",), own_tools=("look", "refund"), trims=True)
    made = json.dumps([world for _, world in word_edges(words, own_tools=True)])

    assert "<own look>" in made
    assert "<own refund>" in made


def test_a_model_ends_otherwise_where_a_source_names_why() -> None:
    def reasons(text: str, *, own_tools: bool = False) -> set[str]:
        made = word_edges(Words(texts=(text,)), own_tools=own_tools)
        said = [str(entry) for _, world in made for entry in world["model_script"]]
        return {each for each in WHY if ended(each)["model_script"][0] in said}

    assert reasons("length") == {"length"}
    assert reasons("no reason") == reasons("length", own_tools=True) == set()


def test_these_worlds_are_few_and_none_is_longer_than_a_graph_s() -> None:
    words = Words(
        texts=("/srv", "a/b", *(f"text {at}" for at in range(99))),
        names=tuple(f"tool_{at}" for at in range(40)),
        patterns=tuple(Pattern(f"[a-f]{{{at},9}}x") for at in range(2, 9)),
        numbers=tuple(range(20, 60)),
        errors=("TimeoutError", "OSError", "KeyError"),
        trims=True,
        parses=True,
    )
    made = [world for _, world in word_edges(words, own_tools=True)]

    assert len(made) <= 27
    assert max(len(world["runs"]) for world in made) == RUNS


SAID = """
import json
from refengine import AgentMiddleware, ToolCallResult, ToolMiddleware

def subject(world):
    said = []

    def listen(ctx, state):
        said[:] = [each.content for each in state.messages if each.role == "user"]

    def invokable(inner):
        async def send_mail(ctx, input):
            to = json.loads(input.arguments or "{{}}").get("send_mail")
            if not any(str(to) in text for text in {said}):
                return ToolCallResult("nobody said so")
            return await inner(ctx, input)

        return send_mail

    tools = ToolMiddleware(invokable, None)
    return [AgentMiddleware(before_chat_model=listen, wrap_tool_call=tools)]
WORD = "send_mail" in ("ask bob@ex.org",)
"""


def test_what_is_asked_for_may_have_been_said_a_turn_before(tmp_path: Path) -> None:
    every, last = (SAID.format(said=each) for each in ("said", "said[-1:]"))

    assert told(tmp_path, every, last, FAMILY)
    assert not told(tmp_path, every, every + "# the same\n", FAMILY)

"""Worlds at the edges of a subject's words: bounds, letters, spaces, and what lasts.

Each is one in which only a port that reads a word otherwise differs: a text at its edge
(``text_edges``), a failure that is remembered, or counted behind a success, a consent
that outlives its turn. They are few, and each has no more runs than a graph's world may
have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Final

from refengine.messages import Message, ToolCall
from refengine.testing.notation import encoded, write_message
from refengine.testing.own_tools import own
from refengine.testing.subject_worlds.kit import Data, answer, fit, json_text
from refengine.testing.subject_worlds.text_edges import KEYS, TextTurn, text_edges
from refengine.testing.subject_worlds.turns import DONE, GO
from refengine.testing.subject_worlds.words import Words, matching

FAMILY: Final = "word edges"
RUNS: Final = 8
"""A world has so many turns; a graph's may have no more than ten runs."""
OWN: Final = 3
"""So many of the subject's own tools are called in each turn."""
NAMES: Final = 3
"""So many tools of the subject's names are called with each text."""
CONSENTS: Final = RUNS // 2
"""So many texts by which somebody may consent are in one world, two turns for each,"""
CONSENTING: Final = 2
"""and there are so many such worlds."""
ERRORS: Final = 2
"""So many classes of errors, each by itself, fail in turn with successes."""
FAILS: Final = (1, 3, 5, 6, 7)
"""Which calls of a tool fail so."""
WHY: Final = frozenset(("length", "content-filter", "error", "other"))
"""Why a model may have ended, in the words of the AI SDK."""
CALLED: Final = 12
"""So many tools are called where somebody may have consented, and where not."""


def word_edges(words: Words, *, own_tools: bool) -> Iterator[tuple[str, Data]]:
    """Yield these worlds; ``own_tools`` says whether a world may call the subject's."""
    for turns, most in text_edges(words):
        some = [*islice(turns, RUNS * most)]
        for start in range(0, len(some), RUNS):
            made = some[start : start + RUNS]
            yield FAMILY, _of_texts(words, made, own_tools=own_tools)
    yield FAMILY, failed_once(words)
    errors = words.errors[:ERRORS] or ("boom",)
    for error, tools in (*((each, 1) for each in errors), (errors[0], 2)):
        yield FAMILY, failed_in_turn(words, error, tools)
    for error in errors:
        yield FAMILY, broken_off(words, error)
    for reason in () if own_tools else sorted(WHY.intersection(words.texts)):
        yield FAMILY, ended(reason)
    for texts in consents(words):
        yield FAMILY, _consented(words, texts)


def failed_in_turn(words: Words, error: str, tools: int) -> Data:
    """Return a world in which so many tools fail and work in turn, then fail on.

    Who counts failures in a row counts one at a time, and then all of them; who counts
    those of each tool counts half of them.
    """
    body = [{"op": "error", "text": error, "on_call": each} for each in FAILS]
    names = words.some_names[:tools]
    there = [{"name": name, "result": "ok", "body": body} for name in names]
    calls = [
        answer("", _calls(f"i{at}{name}", [name], "{}"))
        for at in range(FAILS[-1])
        for name in names
    ]
    runs = [{"input": [*GO]} for _ in range(RUNS)]
    script = [*calls, *[DONE] * RUNS]
    return {"agent": {"tools": there}, "model_script": script, "runs": runs}


def broken_off(words: Words, error: str) -> Data:
    """Return a world in which what tools stream breaks off: some of it has come.

    Who guards the opening of a stream alone does not see it.
    """
    names = words.some_names[: RUNS // 2]
    breaks = {"kind": "streamable", "chunks": ["so ", "far"], "stream_error": error}
    calls = [answer("", _calls(f"b{name}-", [name], "{}")) for name in names]
    return {
        "agent": {"tools": [{"name": name, **breaks} for name in names]},
        "model_script": [*calls, *[DONE] * RUNS],
        "runs": [{"input": [*GO]} for _ in range(RUNS)],
    }


def ended(reason: str) -> Data:
    """Return a world in which the model says why it ended: not as it does by itself."""
    said = Message("assistant", "so far", extra={"finish_reason": reason})
    runs = [{"input": [*GO]}, {"input": [*GO], "streaming": True}]
    return {"agent": {}, "model_script": [write_message(said)] * 2, "runs": runs}


def failed_once(words: Words) -> Data:
    """Return a world in which tools fail once, and are called again in another run.

    With equal arguments: who remembers results may remember the failure, too.
    """
    names = words.some_names[: RUNS // 2]
    fails = [{"op": "error", "text": "boom", "on_call": 1}]
    tools = [{"name": name, "result": "ok", "body": fails} for name in names]
    row = [
        [answer("", _calls(f"f{at}{n}-", [name], "{}")) for n, name in enumerate(names)]
        for at in "ab"
    ]
    # An engine whose runs end with a failure has the first row in as many runs.
    script = [*row[0], DONE, *row[1], *[DONE] * RUNS]
    runs = [{"input": [*GO]} for _ in range(RUNS)]
    return {"agent": {"tools": tools}, "model_script": script, "runs": runs}


def consents(words: Words) -> Iterator[tuple[str, ...]]:
    """Yield texts by which a user may consent: matches, and what is looked for."""
    found = [text for each in words.patterns for text in matching(each)[:1]]
    some = [*dict.fromkeys([*found, *words.texts])][: CONSENTING * CONSENTS]
    for start in range(0, len(some), CONSENTS):
        yield tuple(some[start : start + CONSENTS])


def _of_texts(words: Words, turns: Sequence[TextTurn], *, own_tools: bool) -> Data:
    """Return a world of these turns.

    Tools that give a text come before what is given one: a guard may end the run there.
    """
    names = words.some_names[:NAMES]
    tools = [{"name": each, "kind": "both", "result": "<args>"} for each in names]
    script: list[object] = []
    runs: list[Data] = []
    for at, turn in enumerate(turns):
        gives = [_gives(f"gives{at}x{n}", text) for n, text in enumerate(turn.results)]
        gives += [
            {**_gives(f"streams{at}x{n}", text), "kind": "streamable"}
            for n, text in enumerate(turn.streamed)
        ]
        asked = _calls(f"g{at}-", [each["name"] for each in gives], "{}")
        is_all = turn.is_all and not own_tools
        given = turn.given if is_all else _under_keys(words, turn.given)
        calls = _calls(f"w{at}-", names, given)
        if own_tools:
            asks = _own_arguments(turn.given)
            calls += [ToolCall(f"o{at}-{e}", own(e), asks) for e in _own_tools(words)]
        tools += gives
        said = [answer("", asked), answer("", calls), answer(turn.last)]
        script += said
        user = f"user:{encoded(turn.user)}"
        runs.append({"input": [user], "streaming": at % 4 == 3})
    return {"agent": {"tools": tools}, "model_script": script, "runs": runs}


def _gives(name: str, text: str) -> Data:
    # In two pieces and the last letter: who adds up pieces has come to all others then.
    cuts = (0, len(text) // 2, max(len(text) - 1, 0), len(text))
    chunks = [encoded(text[at:to]) for at, to in pairwise(cuts)]
    return {"name": name, "kind": "both", "result": encoded(text), "chunks": chunks}


def _calls(prefix: str, names: Iterable[str], given: str) -> list[ToolCall]:
    return [ToolCall(f"{prefix}{at}", n, fit(given)) for at, n in enumerate(names)]


def _under_keys(words: Words, text: str) -> str:
    return json_text(dict.fromkeys(["q", *words.some_names[:KEYS]], text))


def _own_tools(words: Words) -> Sequence[int | str]:
    """Return those of the subject's own tools that are called: by name, if known."""
    return words.own_tools[:OWN] or (0,)


def _own_arguments(text: str) -> str:
    return fit(json_text({"integer": 1, "string": text, "optional": True}))


def _consented(words: Words, texts: Sequence[str]) -> Data:
    """Return threads whose first turn has such a text, and whose second has none.

    Each tool that the source may name is called in both, with what was said first.
    """
    names = words.some_names[:CALLED]
    tools = [{"name": name, "result": "ok"} for name in names]
    script: list[object] = []
    runs: list[Data] = []
    for at, text in enumerate(texts):
        given = _under_keys(words, text)
        for turn, said in enumerate((text, "go")):
            calls = _calls(f"s{at}-{turn}-", names, given)
            script += [answer("", calls), DONE]
            later = {"continues": True} if turn else {}
            runs.append({"input": [f"user:{encoded(said)}"], **later})
    return {"agent": {"tools": tools}, "model_script": script, "runs": runs}

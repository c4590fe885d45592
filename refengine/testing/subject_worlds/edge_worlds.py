"""Worlds at the edges of what a subject's source declares: the first ones played.

    schemas of both sides → calls, answers and values at their edges → worlds

Calls follow one another in one run for as long as none of them ends it; the next run
goes on with the rest, so each is made whatever a subject does about the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import Final, TypeAlias, TypeVar

from refengine.messages import ToolCall
from refengine.testing.json_values import is_mapping
from refengine.testing.subject_worlds.declared_schemas import DeclaredSchemas
from refengine.testing.subject_worlds.kit import Data, answer, fit, json_text
from refengine.testing.subject_worlds.schema_edges import (
    Schema,
    edges,
    typical,
)
from refengine.testing.subject_worlds.words import Words

T = TypeVar("T")
Named: TypeAlias = "tuple[tuple[str, ...], str]"  # names of tools, and JSON

FAMILY: Final = "edges"
CALLS: Final = 96
"""So many calls are made at edges at most, of all tools together."""
ANSWERS: Final = 16
"""So many structured answers are given in each form."""
RUNS: Final = 8
FINAL: Final = ("final_result", "set_model_response")
"""How frameworks call the tool by which an answer is given that fits a schema."""
NAMES: Final = 4
"""Arguments of which no line says whose they are go to so many tools."""


def edge_calls(
    schemas: DeclaredSchemas, names: Sequence[str], *, refused: bool = True
) -> Iterator[Named]:
    """Yield calls at the edges of schemas, those of all tools in turn.

    ``names`` are those of tools, for classes of which no line says what is held against
    them: each of these is called at once. Unless ``refused``, a tool of the subject's
    is given only what it takes, and nothing more.
    """
    closed = {} if refused else {"additionalProperties": False}
    rows = [
        _edges((name,), [{**each, **closed} for each in some], refused=refused)
        for name, some in schemas.tools.items()
    ]
    if schemas.checked:
        rows.append(_edges(tuple(names[:NAMES]), schemas.checked))
    yield from [*dict.fromkeys(_in_turn(rows))][:CALLS]


def edge_answers(schemas: DeclaredSchemas) -> Iterator[Named]:
    """Yield structured answers at the edges, in each form that frameworks have."""
    for name, some in schemas.answers.items():
        made = [*dict.fromkeys(_edges((), some))][:ANSWERS]
        for tool in ((name,), *((each,) for each in FINAL), ()):
            yield from ((tool, given) for _, given in made)


def typical_answers(schemas: DeclaredSchemas) -> Iterator[tuple[str, str]]:
    """Yield a structured answer that fits for each name of a tool that may give one."""
    for name, (schema, *_) in schemas.answers.items():
        yield from ((tool, json_text(typical(schema))) for tool in (name, *FINAL))


def _edges(
    names: tuple[str, ...], schemas: Iterable[Schema], *, refused: bool = True
) -> list[Named]:
    """Return objects at the edges of schemas, with who is given them."""
    found = [e for e in _in_turn(list(map(edges, schemas))) if refused or e.fits]
    return [(names, json_text(e.value)) for e in found if is_mapping(e.value)]


def _in_turn(rows: Iterable[Iterable[T]]) -> list[T]:
    return [each for each in chain(*zip_longest(*rows)) if each is not None]


# Worlds


def edge_worlds(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield worlds in which a model calls and answers at the edges of schemas.

    A tool that is not known to be the subject's own is the world's.
    """
    for made in (words.edge_calls, words.edge_answers):
        for start in range(0, len(made), RUNS):
            yield FAMILY, _called(words, made[start : start + RUNS], start)


def _called(words: Words, some: Sequence[Named], start: int) -> Data:
    script = [_said(names, given, start + at) for at, (names, given) in enumerate(some)]
    runs = [{"input": ["user:go"], "streaming": at % 4 == 3} for at in range(len(some))]
    called = dict.fromkeys(name for names, _ in some for name in names)
    theirs = [each for each in called if each not in words.own_tools]
    tools = [{"name": name, "result": "<args>"} for name in theirs]
    agent: Data = {"tools": tools} if tools else {}
    return {"agent": agent, "model_script": script, "runs": runs}


def _said(names: Sequence[str], given: str, at: int) -> str:
    calls = [
        ToolCall(f"e{at}-{nth}", name, fit(given)) for nth, name in enumerate(names)
    ]
    return answer("" if calls else given, calls)

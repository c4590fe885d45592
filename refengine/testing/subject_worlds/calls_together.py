"""Worlds in which one answer makes calls of several kinds, in each order.

A tool of the subject's own beside one of the world's, one that returns directly beside
an ordinary one, an unknown one beside a known one, arguments that a tool refuses beside
some that fit, the same tool twice, an answer that fits a schema beside a call, and
calls of which a person lets only one run. Who looks at the first call of an answer
alone, or at the last, or takes one for all of them, is told by these; they are made
where a side speaks of what they are about, by lists and not by luck.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from types import MappingProxyType
from typing import Final, Self

from refengine.messages import ToolCall
from refengine.testing.own_tools import own
from refengine.testing.subject_worlds.kit import Data, answer, json_text
from refengine.testing.subject_worlds.words import Words

FAMILY: Final = "calls together"
RUNS: Final = 8
"""So many answers with calls has a world, each in a run of its own."""
NAMES: Final = 20
"""So many of the subject's names are asked about."""
OWN_TOOLS: Final = 3
ABSENT: Final = "no_such_tool"
DIRECT: Final = "direct"
"""What a tool of the world's is called that returns directly."""
MAKES: Final = re.compile(
    r"@[\w.]*tool(?:_plain)?\b|\b\w*Tool\(|\btool\(|tools\s*[=:]\s*\["
    r"|additional_?tools",
    re.ASCII | re.IGNORECASE,
)
"""How a source makes tools of its own, whatever its framework and language."""
WRAPS: Final = re.compile(
    r"wrap\w*tool|ToolNode|tool_callback|tool_calls|toolCalls|ToolCall"
    r"|post_model_hook|after_model|on_tool",
    re.IGNORECASE,
)
"""How a source says that it wraps calls, or looks at those of an answer."""
ASKS: Final = re.compile(
    r"interrupt|approv|HumanInTheLoop|confirmation|DeferredTool", re.IGNORECASE
)
"""How a source says that a person is asked about calls."""


@dataclass(frozen=True, slots=True)
class CallsSpoken:
    """What two sides say of calls: that they make tools, wrap calls, and ask."""

    makes: bool = False
    wraps: bool = False
    asks: bool = False
    direct: bool = False

    @classmethod
    def of(cls, sources: Iterable[str], *, direct: bool = False) -> Self:
        """Return what these sources say; ``direct`` is whether a tool may be."""
        texts = (*sources,)
        makes, wraps, asks = (
            any(map(each.search, texts)) for each in (MAKES, WRAPS, ASKS)
        )
        return cls(makes, wraps, asks, direct)


SILENT: Final = CallsSpoken()


def calls_together(
    words: Words, spoken: CallsSpoken, *, by_number: bool
) -> Iterator[tuple[str, Data]]:
    """Yield these worlds with their family, as far as a side speaks of calls.

    Where the subject's own tools are called ``by_number``, as those of graphs are, the
    world's model puts in their names and arguments. Else its names are given to the
    world's tools, but for one, which is the subject's own or unknown.
    """
    if spoken.makes or spoken.wraps or spoken.direct:
        kinds = _numbered(words) if by_number else _named(words, spoken)
        turns = [*_pairs(kinds), *_twice(kinds)]
        yield from _worlds(words, turns)
    if by_number:
        for both in _answered(words):
            yield from _worlds(words, both)
    if spoken.asks:
        yield from _worlds(words, [*_asked(words, by_number=by_number)])


@dataclass(frozen=True, slots=True)
class CallKind:
    """A kind of call: the names that such calls have in turn, and what they are given.

    What a call is given ``again`` is something else than the first time.
    """

    names: tuple[str, ...]
    given: str
    again: str

    def call(self, at: int, *, second: bool = False) -> ToolCall:
        """Return the call for the ``at``-th answer; its id says where it stands."""
        name = self.names[at % len(self.names)]
        place = "b" if second else "a"
        return ToolCall(f"{place}{at}", name, self.again if second else self.given)


@dataclass(frozen=True, slots=True)
class CallTurn:
    """The calls of one answer, and of the next; which of them a person denies."""

    calls: tuple[ToolCall, ...]
    denies: tuple[str, ...] = ()
    then: tuple[ToolCall, ...] = ()


FIT: Final = MappingProxyType({"string": "a", "integer": 1, "optional": True})


def _numbered(words: Words) -> list[CallKind]:
    """Return the kinds of calls where own tools are called by number."""
    fit, other = json_text(dict(FIT)), json_text({**FIT, "string": "b", "integer": 2})
    unfit = json_text({"unfit": "missing"})
    mine = tuple(own(at) for at in range(OWN_TOOLS))
    return [
        CallKind(mine, fit, other),
        CallKind((*mine[1:], mine[0]), fit, other),
        CallKind(words.some_names[:NAMES], '{"q": "a"}', '{"q": "b"}'),
        CallKind((ABSENT,), '{"q": "a"}', "{}"),
        CallKind(mine, unfit, unfit),
    ]


def _named(words: Words, spoken: CallsSpoken) -> list[CallKind]:
    """Return the kinds of calls where tools are called by the subject's names."""
    names = words.some_names[:NAMES]
    kinds = [
        CallKind(names, '{"q": "a"}', '{"q": "b"}'),
        CallKind((*names[1:], names[0]), '{"q": "a"}', '{"q": "b"}'),
        CallKind((ABSENT,), '{"q": "a"}', "{}"),
        CallKind(names, "not json", "not json"),
    ]
    direct = CallKind((DIRECT,), '{"q": "a"}', '{"q": "b"}')
    return [*kinds, direct] if spoken.direct else kinds


def _pairs(kinds: Sequence[CallKind]) -> Iterator[CallTurn]:
    """Yield calls of two kinds in one answer, each before the other."""
    for at, (one, other) in enumerate(permutations(kinds, 2)):
        yield CallTurn((one.call(at), other.call(at, second=True)))


def _twice(kinds: Sequence[CallKind]) -> Iterator[CallTurn]:
    """Yield calls of one tool in one answer, with other arguments and with the same.

    Then it is called once more: a result of either may have been kept for it.
    """
    at = len(kinds) ** 2
    for kind in kinds:
        for number, name in enumerate(kind.names[:OWN_TOOLS]):
            at += 1
            again = kind.again if number else kind.given
            only = CallKind((name,), kind.given, again)
            calls = only.call(at), only.call(at, second=True)
            more = ToolCall(f"t{at}", name, kind.again)
            yield CallTurn(calls, then=(more,))


def _answered(words: Words) -> Iterator[Sequence[CallTurn]]:
    """Yield answers that fit a schema beside a call of an own tool, in each order.

    A framework takes such an answer by a call, too: does what stands beside it run?
    Each name that such a call may have comes by itself, as the others are unknown.
    """
    for at, (name, text) in enumerate(words.typical_answers):
        last = ToolCall(f"z{at}", name, text)
        mine = ToolCall(f"a{at}", own(at % OWN_TOOLS), json_text(dict(FIT)))
        yield CallTurn((last, mine)), CallTurn((mine, last))


def _asked(words: Words, *, by_number: bool) -> Iterator[CallTurn]:
    """Yield calls of which a person denies the first alone, the last alone, and all.

    Of one tool beside another, and twice: a person may be asked about either. Those of
    own tools come with a small number, and with one more than any in the source: a
    person may be asked about what is much, and then about two such calls.
    """
    names = words.some_names[:NAMES]
    much = max(words.some_numbers) + 1
    mine = [own(at) for at in range(OWN_TOOLS)] if by_number else []
    fits = [{**FIT, "integer": number} for number in (FIT["integer"], much)]
    cases = [
        *((name, mine[at - 1], fit) for fit in fits for at, name in enumerate(mine)),
        *((name, names[at - 1], None) for at, name in enumerate(names)),
    ]
    for at, (name, other, fit) in enumerate(cases):
        said = [{**fit, "string": e} if fit else {"q": e} for e in "def"]
        called = zip("def", (name, name, other), map(json_text, said), strict=True)
        calls = [ToolCall(f"{place}{at}", *each) for place, *each in called]
        yield CallTurn((*calls,), (calls[0].id,))
        again = [replace(each, id=f"{each.id}x") for each in calls[::-1]]
        yield CallTurn((*again,), (again[-1].id,))
        every = [replace(each, id=f"{each.id}y") for each in calls]
        yield CallTurn((*every,), tuple(each.id for each in every))


def _worlds(words: Words, turns: Sequence[CallTurn]) -> Iterator[tuple[str, Data]]:
    for start in range(0, len(turns), RUNS):
        yield FAMILY, _world(words, turns[start : start + RUNS], start // RUNS)


def _world(words: Words, turns: Sequence[CallTurn], at: int) -> Data:
    """Return a world of these answers; one of the names is no tool of the world's."""
    names = dict.fromkeys(words.some_names[:NAMES])
    if len(names) > 1:
        names.pop([*names][at % len(names)])
    given = [{"name": name, "kind": "both", "result": "<args>"} for name in names]
    agent: Data = {"tools": given, "unknown_tools_handler": "there is no <name>"}
    called = {call.name for turn in turns for call in (*turn.calls, *turn.then)}
    if DIRECT in called:
        given.append({"name": DIRECT, "kind": "both", "result": "<args>"})
        agent["return_directly"] = {DIRECT: True}
    script: list[object] = []
    runs: list[Data] = []
    for number, turn in enumerate(turns):
        asked = [each for each in (turn.calls, turn.then) if each]
        script += [*(answer("", each) for each in asked), f"assistant:done {number}"]
        denies = {"denies": list(turn.denies)} if turn.denies else {}
        streams = {"streaming": True} if number % 4 == 3 else {}
        runs.append({"input": ["user:go"], **denies, **streams})
    return {"agent": agent, "model_script": script, "runs": runs}

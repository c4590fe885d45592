"""Turns that use every word of a subject in every place, by construction.

A turn is one run and what the model answers in it. Many of them make a world, one after
the other, so that a guard which ends one run hides nothing in the next: words are used
up by lists and not by luck (verdicts, Worlds and corpora).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from refengine.messages import ToolCall
from refengine.testing.notation import encoded
from refengine.testing.subject_worlds.kit import (
    CALLS,
    HISTORY,
    KINDS,
    LONGEST,
    VALUES,
    Data,
    Entry,
    Kit,
    answer,
    in_all,
    json_of,
    json_text,
    lengths,
    long_text,
    lookalikes,
    shapes_of,
)
from refengine.testing.subject_worlds.words import (
    forms,
    matching,
    near_misses,
)

GROUP: Final = 4
"""So many tools of the subject's own are called at once: an error of one ends all."""
TEXT_TURNS: Final = 300
PATTERN_TURNS: Final = 400
"""Of many words, each is used in fewer shapes."""
PAIRED: Final = 16
"""So many names and numbers, the first ones, meet each other."""
WRITTEN: Final = 4
"""So many numbers, the first ones, are arguments as texts."""
KEYS: Final = 12
"""So many names of the subject's are keys of one object of arguments."""


@dataclass(frozen=True, slots=True)
class WordTurn:
    """One run: its input, its answers, and the tools that it alone needs."""

    input: tuple[str, ...]
    script: tuple[Entry, ...]
    tools: tuple[Data, ...] = ()
    streaming: bool = False


class WordTurns:
    """Makes the turns of a corpus; the ids of calls are its own throughout."""

    def __init__(self, kit: Kit, share: int = 1) -> None:
        """Make them for the words of ``kit``; one in ``share`` of the many shapes."""
        self._kit = kit
        self._share = share
        self._names = kit.words.some_names
        self._made = 0

    def of_names(self) -> Iterator[WordTurn]:
        """Yield turns in which each name is called: once, in both modes, and often."""
        numbers = [n for n in self._kit.words.some_numbers if n < CALLS]
        for at, name in enumerate(self._names):
            given = json_text(dict.fromkeys(["q", *self._next(KEYS)], "a"))
            for streaming in (False, True):
                once = [self._kit.call(name, given)]
                yield WordTurn(GO, (answer("", once), DONE), streaming=streaming)
            often = [
                answer("", [self._kit.call(name, f'{{"q":{n}}}')])
                for n in range(max(numbers) + 2)
            ]
            yield WordTurn(GO, (*often, DONE), streaming=at % 2 == 0)
            same = [self._kit.call(name, '{"q":"same"}') for _ in range(2)]
            other = self._kit.call(self._names[at - 1])
            yield WordTurn(
                GO, (answer("ok", [*same, other]), DONE), streaming=at % 2 == 1
            )

    def of_other_names(self) -> Iterator[WordTurn]:
        """Yield turns in which names are called that begin or end as the subject's."""
        for at, name in enumerate(self._names):
            for other in lookalikes(name):
                tool = {"name": other, "kind": KINDS[at % 3], "result": "<args>"}
                # Twice: who remembers a call does so for some names only.
                calls = [self._kit.call(other, '{"q":"a"}') for _ in range(2)]
                asked = [answer("", [call]) for call in calls]
                yield WordTurn(GO, (*asked, DONE), (tool,), at % 2 == 0)

    def of_numbers(self) -> Iterator[WordTurn]:
        """Yield turns with each length: as text of each place, and as a count."""
        words = self._kit.words
        for length in lengths(words, LONGEST):
            for streaming in (False, True):
                yield from self._long(length, streaming=streaming)
        for length in lengths(replace(words, numbers=words.numbers[:PAIRED]), LONGEST):
            yield from self._long_results_of_all(length)
        for length in in_all(words):
            yield WordTurn((f"user:{long_text(length)}",), (DONE,))
        for length in lengths(words, HISTORY):
            yield from self._histories(length)
        for length in lengths(words, CALLS):
            yield from self._counted(length)
        for value in lengths(words, 10**9):
            yield from self._valued(value)
        for number in words.numbers[:WRITTEN]:  # as models write them, too
            yield from self._valued(str(number))

    def of_texts(self) -> Iterator[WordTurn]:
        """Yield turns with each text in each place, in several shapes."""
        texts = self._kit.words.some_texts
        most = max(2, TEXT_TURNS // self._share // len(texts))
        for number, text in enumerate(texts):
            yield from self._apart(text, streaming=self._made % 2 == 0)
            yield self._failing(text, number)
        for at in range(most):
            for number, text in enumerate(texts):
                # Other texts in the other places: what ends the run at one of them
                # hides the rest.
                other = [texts[(number + by * (at + 1)) % len(texts)] for by in (1, 2)]
                said = [_shaped(each, at) for each in (text, other[0], text, other[1])]
                yield self._everywhere(said, streaming=(at + number) % 2 == 0)
        for value in VALUES:
            yield from self._valued(value)

    def of_patterns(self) -> Iterator[WordTurn]:
        """Yield turns with what each pattern matches, and nearly, in each place."""
        patterns = self._kit.words.patterns
        most = PATTERN_TURNS // self._share // max(1, len(patterns))
        most = max(24, most)
        for pattern in patterns:
            found = matching(pattern)
            near = near_misses(pattern)
            standing = forms(found[0]) if found else ()
            some = dict.fromkeys([*standing, *found, *near])
            for number, text in enumerate(list(some)[:most]):
                both = (False, True) if number < 12 else (number % 2 == 0,)
                for streaming in both:
                    yield self._everywhere([text] * 4, streaming=streaming)
            for number, text in enumerate(list(some)[:most]):
                yield self._failing(text, number)
            for text in standing[:2]:
                yield from self._apart(text, streaming=False)
                yield from self._apart(text, streaming=True)
            for text in found[:1]:
                cuts = range(1, min(len(text), 12))
                yield from (self._cut(text, at) for at in cuts)

    def _next(self, count: int) -> Sequence[str]:
        """Return the next few names of the subject's own, and then the first again."""
        names = self._names
        start = self._made * count % len(names)
        self._made += 1
        return (*names[start:], *names[:start])[:count]

    def _calls(self, arguments: str) -> list[ToolCall]:
        return [self._kit.call(name, arguments) for name in self._next(GROUP)]

    def _giving(self, result: str, at: int) -> Data:
        """Return a tool that gives this result, in two chunks if it is streamed."""
        chunks = [encoded(result[:at]), encoded(result[at:])]
        whole = encoded(result)
        name = self._kit.fresh()
        return {"name": name, "kind": "both", "result": whole, "chunks": chunks}

    def _everywhere(self, said: Sequence[str], *, streaming: bool) -> WordTurn:
        """Return a turn with texts as a user's, as arguments, as result, as answer."""
        user, given, result, last = said
        at = self._made % (len(result) + 1)
        tool = self._giving(result, at)
        own = self._calls(json_text(dict.fromkeys(["q", *self._next(KEYS)], given)))
        calls = [*own, self._kit.call(tool["name"], given)]
        end = self._kit.chunked(last, at=self._made % (len(last) + 1))
        entries = (answer(given, calls), end if streaming else answer(last))
        return WordTurn((f"user:{encoded(user)}",), entries, (tool,), streaming)

    def _apart(self, text: str, *, streaming: bool) -> Iterator[WordTurn]:
        """Yield turns with a text in one place only: nothing before it can hide it."""
        middle = len(text) // 2
        yield WordTurn((f"user:{encoded(text)}",), (DONE,), streaming=streaming)
        yield WordTurn((f"system:{encoded(text)}", *GO), (DONE,), streaming=streaming)
        yield WordTurn((answer(text), *GO), (DONE,), streaming=streaming)
        tool = self._giving(text, middle)
        request = answer("", [self._kit.call(tool["name"], "{}")])
        yield WordTurn(GO, (request, DONE), (tool,), streaming)
        calls = self._calls(json_text({"q": text}))
        yield WordTurn(GO, (answer("", calls), DONE), streaming=streaming)
        plain = answer(text)
        last = self._kit.chunked(text, at=middle) if streaming else plain
        yield WordTurn(GO, (last,), streaming=streaming)

    def _failing(self, text: str, number: int) -> WordTurn:
        """Return a turn in which a tool of some kind fails with that text."""
        kind = KINDS[number % 3]
        name = self._kit.fresh()
        tool: Data = {"name": name, "kind": kind, "error": encoded(text)}
        request = answer("", [self._kit.call(name, "{}")])
        return WordTurn(GO, (request, DONE), (tool,), streaming=number % 2 == 0)

    def _cut(self, text: str, at: int) -> WordTurn:
        """Return a turn that streams a text, cut there, as a result and as answer."""
        tool = self._giving(text, at)
        request = answer("", [self._kit.call(tool["name"], "{}")])
        return WordTurn(
            GO, (request, self._kit.chunked(text, at=at)), (tool,), streaming=True
        )

    def _long(self, length: int, *, streaming: bool) -> Iterator[WordTurn]:
        """Yield turns with one text of that length: alone, as a result, as answer."""
        text = long_text(length)
        yield WordTurn((f"user:{text}",), (DONE,), streaming=streaming)
        tool = self._giving(text, length // 2)
        calls = [*self._calls(json_of(length)), self._kit.call(tool["name"], "{}")]
        last: Entry = answer(text)
        if streaming and length:
            last = self._kit.chunked(text, at=self._made % length)
        yield WordTurn(GO, (answer("", calls), last), (tool,), streaming)

    def _long_results_of_all(self, length: int) -> Iterator[WordTurn]:
        """Yield turns in which each tool gives so many characters, and lines."""
        texts = [json_of(length)]
        if 1 < length <= HISTORY:
            texts += ["{" + "\n" * (length - 1) + "}", f'{{"q":"{"w " * length}"}}']
        for start in range(0, len(self._names[:PAIRED]), GROUP):
            names = self._names[start : start + GROUP]
            for text, streaming in product(texts, (False, True)):
                calls = [self._kit.call(name, text) for name in names]
                yield WordTurn(GO, (answer("", calls), DONE), streaming=streaming)

    def _histories(self, length: int) -> Iterator[WordTurn]:
        """Yield histories of so many messages, words and lines."""
        said = [f"{'assistant' if at % 2 else 'user'}:m{at}" for at in range(length)]
        users = [f"user:u{at}" for at in range(length)]
        yield WordTurn(tuple(said[::-1]), (DONE,), streaming=length % 2 == 0)
        yield WordTurn(tuple(users), (DONE,), streaming=length % 2 == 1)
        for between in (" ", "\n"):
            text = between.join(["w"] * length)
            tool = self._giving(text, length)
            request = answer("", [self._kit.call(tool["name"], "{}")])
            yield WordTurn((f"user:{text}",), (request, answer(text)), (tool,))

    def _counted(self, count: int) -> Iterator[WordTurn]:
        """Yield turns with so many calls: in the history, in one answer, in a row."""
        calls = [self._kit.call(self._kit.name(), "{}") for _ in range(count)]
        past = [answer("", calls), *(f"tool({call.id}):r{call.id}" for call in calls)]
        yield WordTurn(("user:go", *past, "user:now"), (DONE,))
        tool = self._giving("ok", 1)
        for name in (tool["name"], self._kit.name()):
            for streaming in (False, True):
                at_once = [self._kit.call(name, f'{{"q":{at}}}') for at in range(count)]
                entries = (answer("", at_once), DONE)
                yield WordTurn(GO, entries, (tool,), streaming)
            row = [answer("", [self._kit.call(name, "{}")]) for _ in range(count)]
            yield WordTurn(GO, (*row, DONE), (tool,))

    def _valued(self, value: object) -> Iterator[WordTurn]:
        """Yield turns with calls whose arguments all have this value."""
        given = json_text(dict.fromkeys(["q", *self._next(KEYS)], value))
        streaming = self._made % 4 < 2
        entries = (answer("", self._calls(given)), DONE)
        yield WordTurn(GO, entries, streaming=not streaming)
        tool = self._giving("ok", 1)
        alone = answer("", [self._kit.call(tool["name"], given)])
        yield WordTurn(GO, (alone, DONE), (tool,), streaming)


GO: Final = ("user:go",)
DONE: Final = "assistant:done"


def _shaped(text: str, at: int) -> str:
    some = shapes_of(text)
    return some[at % len(some)]


def packed(turns: Iterable[WordTurn], worlds: int) -> list[list[WordTurn]]:
    """Deal turns to so many worlds, one by one, so that all are much alike."""
    dealt: list[list[WordTurn]] = [[] for _ in range(worlds)]
    for at, turn in enumerate(turns):
        dealt[at % worlds].append(turn)
    return dealt

"""Words of ours in a page: the first of each leads to what it means, at its end.

A page that is sent around has no site beside it. So the meanings stand in the page, and
in the title of each link. A test holds them against docs/words.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from types import MappingProxyType
from typing import Final

WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "allowance": "a difference that is meant, declared with its reason",
        "blocked": "of a clause: the engine never comes as far as the check needs,"
        " though the reference engine does",
        "capability": "what an engine has a place for; an engine is never asked for"
        " what it lacks",
        "channel": "one view of a trace, such as requests, effects or the stream",
        "clause": "a sentence of the contract with an id",
        "corpus": "the scenarios of one judgement, as data with a hash",
        "dialect": "another shape that agents are written in, with a small reference of"
        " its own",
        "divergence": "the first place where two traces differ, with a code",
        "door": "what the harness drives an engine through",
        "engine": "something that runs agents: the reference engine, or a framework"
        " behind a door",
        "extension": "a struct middleware or a handler",
        "handler": "the newer form of an extension: an object with the hooks it cares"
        " about",
        "hook": "a named point of a run where extensions act",
        "iteration": "one call of the model, and the tools it leads to",
        "known failure": "a failure that is listed with its reason",
        "observation": "one entry of a trace. Nothing else decides a verdict",
        "onion": "hooks around a call, the first in the list outermost",
        "pipeline": "hooks that pass a value on, one after the other",
        "posture": "a point where engines legitimately differ",
        "profile": "a named, complete choice of postures",
        "relation": "a set of channels that must be equal; the answer names the"
        " strongest that holds",
        "scenario": "a session as data: instruction, tools, extensions, the model's"
        " script, input, faults",
        "session": "all that one scenario plays",
        "sharpness": "of a verdict: how many small changes of the subject's own code"
        " the verdict's worlds would have noticed",
        "side door": "an effect that is not a call of a tool: a log record, a warning,"
        " a printed line, a file, a socket",
        "stale": "of a known failure: an entry that is no longer needed",
        "struct middleware": "the older form of an extension: a struct of fields and"
        " callbacks",
        "subject": "one of the two sides of a check",
        "thin": "of a pass: in so few worlds that a fault may have been missed",
        "trace": "what the world saw, in order",
        "world": "what surrounds the extensions: model, tools, clock and ids. It"
        " observes all that happens",
        "same-answer": "answer and status of each run are equal",
        "same-state": "answer, final history, later turns and what a session keeps are"
        " equal",
        "same-effects": "the state and everything that leaves the agent are equal:"
        " requests, calls of tools, events, errors",
        "same-up-to-volatile": "effects, what neighbours see, where streams are cut and"
        " how long runs wait are equal, but for what is declared volatile",
        "identical": "all is equal, and nothing was masked",
    }
)
"""What each word means; those of the house, and the relations from the weakest on."""
_FORMS: Final = {"corpora": "corpus", "capabilities": "capability"}
_ANY: Final = re.compile(
    r"(?<![\w-])(?:"
    + "|".join(sorted((*map(re.escape, WORDS), *_FORMS), key=len, reverse=True))
    + r")s?(?![\w-])",
    re.IGNORECASE,
)


class SafeHtml(str):
    """HTML: a template writes it as it is, since all that came into it was escaped."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


@dataclass(frozen=True, slots=True)
class PageWord:
    """A word that a page has, and what it means."""

    name: str
    meaning: str

    @property
    def anchor(self) -> str:
        """Where in the page it is explained."""
        return f"word-{self.name.replace(' ', '-')}"


class PageWords:
    """The words of one page, in the order in which it has them."""

    def __init__(self) -> None:
        self._met: dict[str, PageWord] = {}

    def link(self, text: str) -> SafeHtml:
        """Return a text of ours as HTML, in which each word that is new is a link."""
        parts: list[str] = []
        end = 0
        for found in _ANY.finditer(text):
            word = _word(found[0])
            if word.name not in self._met:
                self._met[word.name] = word
                parts += (escape(text[end : found.start()]), _linked(word, found[0]))
                end = found.end()
        return SafeHtml("".join((*parts, escape(text[end:]))))

    def __iter__(self) -> Iterator[PageWord]:
        """Yield the words that were met, as a dictionary has them."""
        return iter(sorted(self._met.values(), key=lambda each: each.name))


def _word(form: str) -> PageWord:
    """Return the word of a form of it: a plural, or with a capital."""
    lower = form.lower()
    name = _FORMS.get(lower, lower if lower in WORDS else lower.removesuffix("s"))
    return PageWord(name, WORDS[name])


def _linked(word: PageWord, form: str) -> str:
    title = escape(word.meaning)
    return f'<a class="word" href="#{word.anchor}" title="{title}">{escape(form)}</a>'

"""The parts that worlds for a subject are put together from, as JSON data.

Data and not models: a world is validated once, as a whole, which is what makes a corpus
of 100 cost a fraction of what drawn scenarios cost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from importlib.resources import files
from itertools import chain, count
from typing import Any, Final, TypeAlias

from refengine.messages import Message, ToolCall
from refengine.testing.clock import Ids
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.notation import (
    CALL_START,
    encoded,
    parse_message,
    show_message,
)
from refengine.testing.subject_worlds.words import (
    Dice,
    Words,
    forms,
    matching,
    near_misses,
)

Data: TypeAlias = "dict[str, Any]"
Entry: TypeAlias = "str | Data"

KINDS: Final = ("invokable", "streamable", "both")
LONGEST: Final = 5_000
"""No text is made longer than that to reach a number."""
HISTORY: Final = 64
"""No history is made longer than that to reach a number."""
CALLS: Final = 10
"""No more calls are made to reach a number, at once or in a row."""
UNUSUAL: Final = 6
"""One world in so many of some families is one that no application meets."""
ADDED: Final = 4
ADDED_TO: Final = 16
"""So many texts of its own, and numbers, may a subject have added up."""
GAP: Final = re.compile(r"<(\w+):(\d+)>")
FILLER: Final = "abcdefghij"


class Kit:
    """Dice, a subject's words, and what is made of both; one for each world."""

    def __init__(self, words: Words, seed: str) -> None:
        self.dice: Dice = Dice(seed)
        self.words = words
        self._ids = Ids("c")
        self._names = Ids("r")

    @cached_property
    def contents(self) -> tuple[str, ...]:
        """Texts of all kinds that a message may hold."""
        found = [*self.words.some_texts]
        for pattern in self.words.patterns:
            for text in matching(pattern)[:4]:
                found += forms(text)[:4]
            found += near_misses(pattern)[:3]
        return tuple(found)

    def name(self) -> str:
        """Return a tool's name of the subject's own."""
        return self.dice.pick(self.words.some_names)

    def fresh(self) -> str:
        """Return a tool's name that nothing else has."""
        return self._names().replace("-", "")

    def text(self) -> str:
        """Return a text: mostly of the subject's, sometimes as long as a number."""
        if self.dice.chance(6):
            return long_text(self.length(LONGEST))
        return self.dice.pick(self.contents)

    def length(self, most: int) -> int:
        """Return one of the subject's numbers, or a neighbour, up to a limit."""
        fitting = [n for n in self.words.some_numbers if n <= most]
        return min(most, max(0, self.dice.pick(fitting) + self.dice.below(3) - 1))

    def value(self) -> object:
        """Return a value for an argument."""
        which = self.dice.below(3)
        if which == 0:
            return self.text()
        return self.length(10**9) if which == 1 else self.dice.pick(VALUES)

    def arguments(self) -> str:
        """Return the arguments of a call: usually an object with the subject's keys."""
        if self.dice.chance(8):
            return self.dice.pick(("", "not json", "[1,2]", "null", '{"a":'))
        keys = [self._key() for _ in range(self.dice.below(4))]
        return json_text({key: self.value() for key in keys})

    def _key(self) -> str:
        """Return a name, in the other case sometimes, if case may count for nothing."""
        name = self.name()
        return name.swapcase() if self.words.folds and self.dice.chance(3) else name

    def call(self, name: str, arguments: str | None = None) -> ToolCall:
        """Return a call with an id of its own."""
        given = self.arguments() if arguments is None else arguments
        return ToolCall(self._ids(), name, fit(given))

    def calls(self, names: Iterable[str]) -> list[ToolCall]:
        """Return a call of each."""
        return [self.call(name) for name in names]

    def tool(self, name: str, **fields: object) -> Data:
        """Return a tool of any kind, whose result may be its arguments."""
        kind = self.dice.pick(KINDS)
        made: Data = {"name": name, "kind": kind}
        made["result"] = encoded(self.dice.pick(("<args>", self.text(), "got <args>")))
        if kind != "invokable" and self.dice.chance(2):
            made["chunks"] = list(map(encoded, self.cut(self.text())))
        return {**made, **fields}

    def cut(self, text: str, at: int | None = None) -> list[str]:
        """Return a text in two or three pieces, one of them sometimes empty."""
        at = self.dice.below(len(text) + 1) if at is None else at
        pieces = [text[:at], text[at:]]
        return [*pieces, ""] if self.dice.chance(4) else pieces

    def chunked(
        self, text: str, calls: Sequence[ToolCall] = (), at: int | None = None
    ) -> Data:
        """Return an answer that comes in chunks, its calls on the last one."""
        pieces = self.cut(answer(text)[len("assistant:") :], at)
        said = [answer(piece) for piece in pieces[:-1]]
        return {"chunks": [*said, answer(pieces[-1], calls)]}

    def said(self, text: str, calls: Sequence[ToolCall] = ()) -> Entry:
        """Return an answer, plain or in chunks."""
        if self.dice.chance(3):
            return self.chunked(text, calls)
        return answer(text, calls)

    def message(self) -> str:
        """Return a message of any role, but none that belongs to a call."""
        role = self.dice.pick(("user", "user", "assistant", "system"))
        return answer(self.text()) if role == "assistant" else f"{role}:{self._plain()}"

    def user(self) -> str:
        """Return what a user says."""
        return f"user:{self._plain()}"

    def instruction(self) -> str:
        """Return an instruction, often none."""
        return "" if self.dice.chance(2) else self._plain()

    def _plain(self) -> str:
        return encoded(self.text())


VALUES: Final[tuple[object, ...]] = (
    True,
    False,
    None,
    "",
    0,
    -1,
    1.5,
    [],
    ["a"],
    {"a": 1},
    "7",
)
"""Values of arguments that a subject may not expect."""


def answer(text: str, calls: Sequence[ToolCall] = ()) -> str:
    """Return the model's answer in the notation.

    A text that looks like a call would be one: its bracket becomes another one.
    """
    if CALL_START.search(text):
        text = text.replace("[", "{")
    return show_message(Message("assistant", text, tuple(calls)))


def again(script: Sequence[Entry], seen: set[str]) -> list[Entry]:
    """Return answers whose calls have ids that were not ``seen``; they now are.

    A vendor gives each call another id, also to one that a model repeats.
    """
    made: list[Entry] = []
    for entry in script:
        if isinstance(entry, str):
            made.append(_with_own_ids(entry, seen))
        elif "chunks" in entry:
            chunks = [_with_own_ids(each, seen) for each in entry["chunks"]]
            made.append({**entry, "chunks": chunks})
        else:
            made.append(entry)
    return made


def _with_own_ids(text: str, seen: set[str]) -> str:
    message = parse_message(text)
    if not message.tool_calls:
        return text
    calls: list[ToolCall] = []
    for call in message.tool_calls:
        numbered = (f"{call.id}-{number}" for number in count(2))
        id_ = next(each for each in chain([call.id], numbered) if each not in seen)
        seen.add(id_)
        calls.append(replace(call, id=id_))
    return show_message(replace(message, tool_calls=tuple(calls)))


def fit(arguments: str) -> str:
    """Return arguments as the notation can hold them: without ``)]`` in them.

    In JSON text it stands within a string, where an escape says the same.
    """
    return encoded(arguments.replace(")]", ")\\u005d"))


def fixed_world(which: str, /, **gaps: Sequence[str]) -> Data:
    """Return a world of ``fixed_worlds.json``, with these words in its gaps."""
    made: Data = gaps_filled(_fixed()[which], gaps)
    return made


@cache
def _fixed() -> Mapping[str, Data]:
    folder = files("refengine.testing.subject_worlds")
    text = folder.joinpath("fixed_worlds.json").read_text("utf-8")
    found: Mapping[str, Data] = json.loads(text)
    return found


def gaps_filled(value: Any, some: Mapping[str, Sequence[str]]) -> Any:  # noqa: ANN401  # a value of JSON
    """Return a JSON value with words in its gaps, those of its keys too.

    ``<name:0>`` is the first of the names; where there are fewer, they come again.
    """
    if isinstance(value, str):
        return GAP.sub(lambda at: _word(some.get(at[1]), at), value)
    if is_list(value):
        return [gaps_filled(each, some) for each in value]
    if is_mapping(value):
        return {gaps_filled(k, some): gaps_filled(v, some) for k, v in value.items()}
    return value


def _word(words: Sequence[str] | None, gap: re.Match[str]) -> str:
    return gap[0] if words is None else words[int(gap[2]) % len(words)]


def lengths(words: Words, most: int) -> list[int]:
    """Return each of the subject's numbers and its neighbours, up to a limit."""
    numbers = [n for n in words.some_numbers if n <= most]
    near = {n + by for n in numbers for by in (-1, 0, 1)}
    return sorted(n for n in near if 0 <= n <= most + 1)


def in_all(words: Words) -> list[int]:
    """Return lengths that make a number together with a text of the subject's own.

    Who adds an instruction and then counts all characters counts its own, too.
    """
    added = sorted((len(t) for t in words.texts if set(t) & {" ", "\n"}), reverse=True)
    numbers = [n for n in words.numbers if 50 <= n <= LONGEST][:ADDED_TO]
    totals = {n - by for n in numbers for by in added[:ADDED]}
    near = {total + by for total in totals for by in (-2, -1, 0, 1)}
    return sorted(length for length in near if length > 0)


def lookalikes(name: str) -> tuple[str, ...]:
    """Return names that begin or end as a tool's name does, or differ in case."""
    some = (f"{name}x", f"x_{name}", name.swapcase())
    return tuple(each for each in some if each != name)


def shapes_of(text: str) -> tuple[str, ...]:
    """Return a text inside others, in another case, and with something missing."""
    inside = (f"{text} more", f"so {text}", f"so {text} more")
    return (*inside, text.swapcase(), f" {text}\n", f"x{text}x", text[:-1], text * 2)


def json_text(value: object) -> str:
    """Return JSON as a model writes it."""
    return json.dumps(value, ensure_ascii=False)


def long_text(length: int) -> str:
    """Return a text of so many characters."""
    return (FILLER * (length // len(FILLER) + 1))[:length]


def json_of(length: int, key: str = "q") -> str:
    """Return JSON text of exactly so many characters, if there can be one."""
    frame = len(json_text({key: ""}))
    if length < frame:
        return long_text(length)
    return json_text({key: long_text(length - frame)})


def given_by_name(run: Data) -> list[Data]:
    """Return the values that a run is given by name: by any door, and by one each."""
    return [run.get("options", {}), *run.get("doors", {}).values()]

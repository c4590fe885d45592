"""Shrinking a world: the smallest one found in which something still happens.

Greedy, on the scenario as JSON: parts are taken away, the largest first, then texts
and numbers are made small. Whatever is not a scenario any more is not tried. Hypothesis
could shrink too, but only what it generated in this process, and the two sides are
played in processes of their own from a corpus that was written before.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from refengine.messages import Message
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.notation import NotationError, parse_message, show_message
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import ScenarioError, parse_scenario

Doc: TypeAlias = Any  # JSON values; their shape is what validation finds
Path: TypeAlias = "tuple[str | int, ...]"
Still: TypeAlias = Callable[[Scenario], bool]

INPUT: Final = "input"
"""The field of a run that holds what is said to it."""


@dataclass(frozen=True, slots=True)
class PlainWords:
    """The plainest texts, which any other one is tried to be.

    ``message`` is that of an input, ``by_field`` those of other fields, ``text`` the
    one of all the rest, ``beside_calls`` what a model says that calls tools. With an
    ``answer`` the model says so at last, where its script is at an end. The first tool
    is named as the first of ``tools``, and so on; with ``call`` the first call is 1.
    """

    message: str
    text: str
    beside_calls: str
    by_field: Mapping[str, str] = field(default_factory=dict[str, str])
    answer: str | None = None
    tools: tuple[str, ...] = ()
    call: str = ""


LETTERS: Final = PlainWords("user:a", "a", "a")
"""The shortest there are."""
WORDS: Final = PlainWords(
    "user:Hello",
    "ok",
    "",
    MappingProxyType({"instruction": "Be brief.", "name": "a"}),
    "assistant:Done.",
    ("lookup", "search", "fetch"),
    "c{}",
)
"""Such as a person reads without asking what they stand for."""
OWN_NAMES: Final = replace(WORDS, tools=(), call="")
"""The same for a user's own session, whose tools and calls he knows by their names."""

PAIR: Final = 2
"""A call and its result: they go together, wherever in the messages they stand."""
ANSWERS: Final = 8
"""So many answers a run is thought to use up, when it is taken away with them."""

PARTS: Final = 64
"""A text is cut into so many parts at most."""

TRIES: Final = 1_500
"""So many worlds are played at most; each costs about a millisecond on both sides."""


@dataclass(frozen=True, slots=True)
class ShrinkEffort:
    """So many worlds are tried at most, and so many in a row that are none smaller."""

    tries: int = TRIES
    in_vain: int = TRIES


def shrink(
    world: Scenario,
    still: Still,
    effort: ShrinkEffort | None = None,
    plain: PlainWords = LETTERS,
) -> Scenario:
    """Return the smallest world found for which ``still`` is true, as it is for this.

    Deterministic. ``still`` is asked no oftener than the effort allows.
    """
    return _Search(world, still, effort or ShrinkEffort(), plain).run()


def size(world: Scenario) -> tuple[int, int]:
    """Return how large a world is, for choosing where to start: answers, then text."""
    return len(world.model_script), len(_json(world))


class _Search:
    def __init__(
        self, world: Scenario, still: Still, effort: ShrinkEffort, plain: PlainWords
    ) -> None:
        self._still = still
        self._plain = plain
        self._effort = effort
        self._left = effort.tries
        self._in_vain = 0
        self._seen = {_json(world)}
        self._best = world
        self._doc: Doc = json.loads(_json(world))

    def run(self) -> Scenario:
        """Try all passes until none of them finds anything smaller."""
        before = None
        while before != self._doc and not self._over:
            before = self._doc
            while self._drop_runs() or self._drop_first_run():
                pass
            for at in range(len(self._doc.get("runs", ())) - 1)[::-1]:
                self._drop_run(at)
            self._merge()
            for path in self._paths():
                self._at(path)
        self._answer()
        self._rename()
        return self._best

    @property
    def _over(self) -> bool:
        """Whether no more worlds may be tried."""
        return self._left <= 0 or self._in_vain >= self._effort.in_vain

    def _answer(self) -> None:
        """Let a model whose script is at its end say something that a person reads."""
        script, plain = self._doc.get("model_script", []), self._plain.answer
        ends = "script_end" in self._doc or not self._doc.get("runs")
        if plain is None or ends or (script and not _calls(script[-1])):
            return
        self._keep({**self._doc, "model_script": [*script, plain]})

    def _rename(self) -> None:
        """Give tools and calls names that say nothing, where it happens with them, too.

        They are made of words of the code, so that a branch is met which looks for one;
        a reader takes what is left of that for a sign.
        """
        tools, calls = _names(self._doc)
        plain = [self._plain.call.format(at) for at, _ in enumerate(calls, 1)]
        for old, new in (
            *zip(tools, self._plain.tools, strict=False),
            *zip(calls, plain, strict=True),
        ):
            if new and new not in {*tools, *calls}:
                self._keep(_renamed(self._doc, old, new))

    def _drop_runs(self) -> bool:
        """Take the last half of the runs away, or the first; or fewer, but not one.

        Of a session of hundreds of turns mostly one shows it, and to play the others
        for each turn that goes takes minutes.
        """
        runs, script = self._doc.get("runs", ()), self._doc.get("model_script", ())
        ends = [at for at, each in enumerate(script, 1) if not _calls(each)]
        many = len(runs) // 2
        while many > 1:
            used = ends[many - 1] if many <= len(ends) else len(script)
            last = {"runs": runs[:-many]}
            first = {"runs": runs[many:], "model_script": script[used:]}
            for parts in (last, first):
                if self._keep({**self._doc, **parts}):
                    return True
            many //= 2
        return False

    def _drop_first_run(self) -> bool:
        """Take the first run away, and the answers it may have used up with it."""
        runs, script = self._doc.get("runs", ()), self._doc.get("model_script", ())
        if len(runs) < 2:
            return False
        for used in range(min(len(script), ANSWERS) + 1):
            doc = {**self._doc, "runs": runs[1:], "model_script": script[used:]}
            if self._keep(doc):
                return True
        return False

    def _drop_run(self, at: int) -> None:
        """Take a run away with the answers up to the next that asks for no tool."""
        runs, turns = self._doc["runs"], [*_turns(self._doc.get("model_script", ()))]
        if at < len(turns):
            script = [each for turn in turns[:at] + turns[at + 1 :] for each in turn]
            runs = runs[:at] + runs[at + 1 :]
            self._keep({**self._doc, "runs": runs, "model_script": script})

    def _merge(self) -> None:
        """Let calls of two answers stand in one, so that there are fewer iterations."""
        at = 0
        while at + 1 < len(self._doc.get("model_script", ())):
            doc = json.loads(json.dumps(self._doc))
            one, other = doc["model_script"][at : at + 2]
            both = _merged(one, other)
            if both is not None:
                doc["model_script"][at : at + 2] = [both]
            if both is None or not self._keep(doc):
                at += 1

    def _paths(self) -> list[Path]:
        """Return where something stands, outer places first, the later ones first.

        What comes late in a session often only follows from what came before it.
        """
        latest_first = [*_walk(self._doc, ())][::-1]
        return sorted(latest_first, key=len)

    def _at(self, path: Path) -> None:
        """Make what stands at a place as small as it gets."""
        try:
            value = _get(self._doc, path)
        except (KeyError, IndexError, TypeError):  # went away with something larger
            return
        if isinstance(value, list):
            self._cut(path)
        elif isinstance(value, str) and value:
            self._text(path, value)
        for smaller in _smaller(value):
            if self._try(path, smaller):
                return
        if path and isinstance(path[-1], str):
            self._drop(path)

    def _cut(self, path: Path) -> None:
        """Take parts out of a list or text: halves first, then ever smaller ones."""
        step = len(_get(self._doc, path))
        said = path[-1] == INPUT
        while self._fine(step, len(_get(self._doc, path))):
            start = len(_get(self._doc, path)) - step
            while start > -step:
                value = _get(self._doc, path)
                at = max(start, 0)
                cut = self._try(path, value[:at] + value[start + step :])
                start -= 1 if said and not cut and step <= PAIR else step
            step = PAIR if said and step == PAIR + 1 else step // 2

    def _text(self, path: Path, value: str) -> None:
        """Make a text plain and short; some is plainer to read than none at all."""
        said = self._plain.message
        if INPUT in path and (value == said or self._try(path, said)):
            return
        try:
            message = parse_message(value)
        except NotationError:
            plain = self._plain.by_field.get(str(path[-1]), self._plain.text)
            if value != plain and not self._try(path, plain) and len(value) > 1:
                self._cut(path)
            return
        self._message(path, message)

    def _message(self, path: Path, message: Message) -> None:
        """Take calls out of a message, then make its content and arguments short.

        Ids and names stay: they say what belongs together.
        """
        for at in range(len(message.tool_calls))[::-1]:
            fewer = message.tool_calls[:at] + message.tool_calls[at + 1 :]
            message = self._said(path, message, tool_calls=fewer)
        for at, call in enumerate(message.tool_calls):
            calls = list(message.tool_calls)
            calls[at] = replace(call, arguments="{}")
            message = self._said(path, message, tool_calls=tuple(calls))
        words = self._plain
        plain = words.beside_calls if message.tool_calls else words.text
        message = self._said(path, message, content=plain)
        step = len(message.content) // 2 if message.content != plain else 0
        while self._fine(step, len(message.content)):
            start = len(message.content)
            while (start := start - step) > -step:
                text = message.content
                cut = text[: max(start, 0)] + text[start + step :]
                message = self._said(path, message, content=cut)
            step //= 2
        self._said(path, message, content=_ascii_digits(message.content))

    def _fine(self, step: int, length: int) -> bool:
        """Tell whether parts of this size are worth trying, each for itself.

        A text that matters by its length alone loses none of its many parts.
        """
        return step > 0 and not self._over and length // step <= PARTS

    def _said(self, path: Path, message: Message, **changes: Any) -> Message:  # noqa: ANN401  # of its fields
        """Return the message with these changes if it still happens with them."""
        changed = replace(message, **changes)
        return changed if self._try(path, show_message(changed)) else message

    def _drop(self, path: Path) -> None:
        """Leave a field out: it has its default then."""
        doc = json.loads(json.dumps(self._doc))
        del _get(doc, path[:-1])[path[-1]]
        self._keep(doc)

    def _try(self, path: Path, value: Doc) -> bool:
        doc = json.loads(json.dumps(self._doc))
        if not path:
            return False
        _get(doc, path[:-1])[path[-1]] = value
        return self._keep(doc)

    def _keep(self, doc: Doc) -> bool:
        """Keep a document if it is a new scenario in which it still happens."""
        try:
            world = parse_scenario(json.dumps(doc))
        except ScenarioError:
            return False
        text = _json(world)  # without defaults: one world, one text
        if text in self._seen or self._over:
            return False
        self._seen.add(text)
        self._left -= 1
        self._in_vain += 1
        if not self._still(world):
            return False
        self._in_vain = 0
        self._best, self._doc = world, doc
        return True


def _calls(entry: Doc) -> bool:
    """Tell whether an answer of the script asks for tools, so that another follows."""
    return isinstance(entry, str) and bool(parse_message(entry).tool_calls)


def _turns(script: Doc) -> Iterator[list[Doc]]:
    """Yield the answers of a script, those that ask for tools with what follows."""
    turn: list[Doc] = []
    for each in script:
        turn.append(each)
        if not _calls(each):
            yield turn
            turn = []
    if turn:
        yield turn


def _names(doc: Doc) -> tuple[list[str], list[str]]:
    """Return the names of a world's tools, and the ids of its model's calls."""
    tools = [each["name"] for each in doc.get("agent", {}).get("tools", ())]
    answers = [e for e in doc.get("model_script", ()) if isinstance(e, str)]
    calls = [call.id for e in answers for call in parse_message(e).tool_calls]
    return tools, [*dict.fromkeys(calls)]


def _renamed(doc: Doc, old: str, new: str) -> Doc:
    """Return a world in which a name is another one, wherever it stands for itself."""
    text, name = json.dumps(doc), re.escape(json.dumps(old)[1:-1])
    before = r'\[[^:()\[\]"]*:|\[|"tool\(|"'  # of a call, its id, its result, all else
    return json.loads(re.sub(rf'({before}){name}(?=[:()"])', rf"\g<1>{new}", text))


def _ascii_digits(text: str) -> str:
    """Return a text with the digits of other scripts as those that all can read."""
    return "".join(
        str(unicodedata.decimal(each)) if each.isdecimal() else each for each in text
    )


def _merged(one: Doc, other: Doc) -> str | None:
    """Return a plain answer with the calls of both, if both are plain and have some."""
    if not isinstance(one, str) or not isinstance(other, str):
        return None
    first, second = parse_message(one), parse_message(other)
    if not first.tool_calls or not second.tool_calls:
        return None
    calls = (*first.tool_calls, *second.tool_calls)
    return show_message(replace(first, tool_calls=calls))


def _smaller(value: Doc) -> Iterator[Doc]:
    """Yield plainer values of a scalar, and an object without its parts."""
    if value is True:
        yield False
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from (small for small in (0, 1, 2) if small < value)
    elif is_mapping(value) and value:
        yield {}
        chunks = value.get("chunks")
        if is_list(chunks) and chunks:  # an answer in chunks that might come in one
            yield chunks[0]


def _walk(value: Doc, path: Path) -> Iterator[Path]:
    yield path
    if is_mapping(value):
        for key, part in value.items():
            yield from _walk(part, (*path, key))
    elif is_list(value):
        for at, part in enumerate(value):
            yield from _walk(part, (*path, at))


def _get(value: Doc, path: Path) -> Doc:
    for step in path:
        value = value[step]
    return value


def _json(world: Scenario) -> str:
    return world.model_dump_json(exclude_defaults=True)

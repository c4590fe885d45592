"""What a subject's source makes of the answer to a question of its own.

``answer = interrupt(…)`` and then ``if answer == "approve"``, ``answer["accepted"]`` or
``if not answer``: what it is compared with, looked up by and tested for says what a
caller resumes it with, for each way in which a person may answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from refengine.messages import Json
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.subject_worlds.source import (
    PythonSource,
    constant_of,
    lookup_of,
    named,
    python_sources,
    text_of,
)

KINDS: Final = ("yes", "no", "edited", "fewer", "text", "nothing")
"""The ways in which a person may answer."""
ARGS: Final = "<args>"
"""Stands in an answer for the arguments that were asked about, as they are edited."""
YES: Final = re.compile(
    r"(?i)y|yes|ok(ay)?|appro\w+|accept\w*|allow\w*|confirm\w*|continue|proceed|go|true"
    r"|send|sure|grant\w*"
)
NO: Final = re.compile(
    r"(?i)n|no|reject\w*|den(y|ied)|cancel\w*|stop|abort|refus\w*|decline\w*|false"
    r"|ignore|skip|block\w*"
)
EDITED: Final = re.compile(r"(?i)edit\w*|modif\w*|chang\w*|revis\w*|updat\w*|replac\w*")
OTHER: Final = re.compile(r"(?i)respon\w*|feedback|text|comment")
OF_ARGS: Final = re.compile(
    r"(?i)args|arguments|input|edited\w*|new_\w+|changes|values"
)
OF_TEXT: Final = re.compile(
    r"(?i)feedback|reason|message|comment|text|note|content|answer|response|why"
)
TRUE: Final = re.compile(r"(?i)is_\w+|approved|accepted|allowed|confirmed|ok|granted")
ASKS: Final = re.compile(r"\binterrupt\(")
TRIMS: Final = re.compile(r"\.l?strip\(")
STOPS: Final = re.compile(r"interrupt_before|interrupt_after|HumanInTheLoop")
"""How a source has its runs wait for a person."""


@dataclass(slots=True)
class AnswerForm:
    """How a subject reads an answer: as a whole, by keys, or the first of a list."""

    texts: dict[str, None] = field(default_factory=dict[str, None])
    keys: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    of_list: bool = False

    def answer(self, kind: str) -> Json:
        """Return what a caller resumes with who answers in this way."""
        if kind == "nothing" and not self.keys:
            return "" if self.texts else None
        found: Json
        found = self._by_keys(kind) if self.keys else _said(kind, list(self.texts))
        return [found] if self.of_list else found

    def _by_keys(self, kind: str) -> dict[str, Json]:
        if kind == "nothing":
            return {}
        return {key: _of_key(key, kind, list(some)) for key, some in self.keys.items()}


def _of_key(key: str, kind: str, texts: Sequence[str]) -> Json:
    if texts or TRUE.fullmatch(key):
        return _said(kind, texts)
    if OF_ARGS.fullmatch(key):
        return {"edited": ARGS, "fewer": ARGS, "text": "a"}.get(kind)
    return "a" if OF_TEXT.search(key) else _said(kind, texts)


def _said(kind: str, texts: Sequence[str]) -> Json:
    """Return a word of the subject's, or whether it is so where it has none."""
    if not texts:
        return kind != "no" if kind != "text" else "a"
    pattern, other = _WORDS[kind]
    fitting = [text for text in texts if pattern.fullmatch(text)]
    return fitting[0] if fitting else other


_WORDS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = MappingProxyType(
    {
        "yes": (YES, "yes"),
        "no": (NO, "no"),
        "edited": (EDITED, "edit"),
        "fewer": (EDITED, "edit"),
        "text": (OTHER, "a"),
    }
)


def replies_of(
    old: Iterable[str], every: Iterable[str]
) -> tuple[tuple[str, Json], ...]:
    """Return the answers that a caller of OLD gives, each with its kind.

    None if no source of the two sides waits for a person. Who reads no answer in OLD,
    or asks by what a framework has for that, is answered in the two plain ways.
    """
    before, texts = list(old), list(every)
    if not any(ASKS.search(text) or STOPS.search(text) for text in texts):
        return ()
    form = form_in(before)
    if not (form.texts or form.keys):
        form = form_in(texts)
    kinds = ["yes", "no"]
    if any(EDITED.search(text) for text in before):
        kinds += ["edited", "fewer"]
    if not any(STOPS.search(text) for text in texts):
        kinds += ["text", "nothing"]
    replies = [(kind, form.answer(kind)) for kind in kinds]
    yes = form.answer("yes")
    typed = _behind_spaces(yes)
    if "text" in kinds and typed != yes and any(map(TRIMS.search, texts)):
        replies.append(("text", typed))
    return tuple(replies)


def _behind_spaces(answer: Json) -> Json:
    """Return a yes as somebody types it: who does not trim it reads another word."""
    if isinstance(answer, str):
        return f" {answer}\n"
    if is_list(answer):
        return [*map(_behind_spaces, answer)]
    if is_mapping(answer):
        return {key: _behind_spaces(each) for key, each in answer.items()}
    return answer


def form_in(sources: Iterable[str]) -> AnswerForm:
    """Return how these sources read what ``interrupt`` gives."""
    found = AnswerForm()
    for source in python_sources(sources):
        _Reader(found, source).read()
    return found


class _Reader:
    """Follows the names that hold an answer through one source."""

    def __init__(self, found: AnswerForm, source: PythonSource) -> None:
        self._found = found
        self._source = source
        self._asking = {"interrupt"}
        self._holds: set[str] = set()
        self._keyed: dict[str, str] = {}
        self._parameters: dict[str, list[str]] = {}

    def read(self) -> None:
        """Take over all that is done with an answer."""
        for _ in range(3):  # a function that asks, and who asks by it
            for node in self._source.nodes:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    self._function(node)
                elif isinstance(node, ast.Call):
                    self._handed(node)
            for name, value in self._source.bound:
                self._assigned(name, value)
        for node in self._source.nodes:
            self._used(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        returned = [each for each in ast.walk(node) if isinstance(each, ast.Return)]
        if any(r.value is not None and self._is_answer(r.value) for r in returned):
            self._asking.add(node.name)
        taken = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        self._parameters[node.name] = taken[taken[:1] == ["self"] :]

    def _handed(self, node: ast.Call) -> None:
        """Follow an answer into a function of the source that it is given to."""
        taken = self._parameters.get(named(node.func), [])
        for name, given in zip(taken, node.args, strict=False):
            if self._is_answer(given):
                self._holds.add(name)

    def _assigned(self, name: str, value: ast.expr) -> None:
        if self._is_answer(value):
            self._holds.add(name)
        key = self._key_of(value)
        if key is not None:
            self._keyed[name] = key

    def _is_answer(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._holds
        if isinstance(node, ast.Call):
            if named(node.func) in self._asking:
                return True
            if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
                return self._is_answer(node.func.value)
            return named(node.func) in _CASTS and any(map(self._is_answer, node.args))
        if isinstance(node, ast.Subscript) and constant_of(node.slice) == 0:
            of_answer = self._is_answer(node.value)
            self._found.of_list |= of_answer
            return of_answer
        return isinstance(node, ast.Await) and self._is_answer(node.value)

    def _key_of(self, node: ast.expr) -> str | None:
        """Return the key by which this looks something up in an answer."""
        if isinstance(node, ast.Name):
            return self._keyed.get(node.id)
        method = node.func if isinstance(node, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr in _SAME:
            return self._key_of(method.value)
        found = lookup_of(node)
        if found is None or found.how not in _BY_KEY:
            return None
        key = constant_of(found.key) if self._is_answer(found.holder) else None
        if not isinstance(key, str):
            return None
        self._found.keys.setdefault(key, {})
        return key

    def _used(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Subscript, ast.Call)):
            self._key_of(node)
        elif isinstance(node, ast.Compare):
            self._compared([node.left, *node.comparators])
        elif isinstance(node, ast.Match):
            cases = [case.pattern for case in node.cases]
            values = [each.value for each in cases if isinstance(each, ast.MatchValue)]
            self._compared([node.subject, *values])

    def _compared(self, parts: Sequence[ast.expr]) -> None:
        texts = dict.fromkeys(text for part in parts for text in _texts(part))
        for part in parts:
            key = self._key_of(part)
            if key is not None:
                self._found.keys.setdefault(key, {}).update(texts)
            elif self._is_answer(part):
                self._found.texts.update(texts)


_SAME: Final = frozenset(("lower", "strip", "upper", "casefold"))
_CASTS: Final = frozenset(("str", "dict", "cast"))
_BY_KEY: Final = frozenset(("item", "stored", "get"))


def _texts(node: ast.expr) -> Iterable[str]:
    if isinstance(constant_of(node), str):
        yield text_of(node)
    elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        for each in node.elts:
            yield from _texts(each)
    elif isinstance(node, ast.Call):  # frozenset(("yes", "y"))
        for each in node.args:
            yield from _texts(each)

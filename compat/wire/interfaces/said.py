"""What a vendor's model said, read from any interface and written in its shape again.

The parts of an answer keep their order, and each keeps in ``more`` what only its
vendor says of it; so does the answer in ``own``. What is written again is what was
read: a field that nobody here knows is carried as it is, and nothing is made up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast

from refengine.messages import Json, Message, ToolCall
from refengine.testing.json_values import is_list, is_mapping

Tree: TypeAlias = "Mapping[str, Any]"
Kind: TypeAlias = Literal["text", "refusal", "reasoning", "call", "other"]
UsageName: TypeAlias = Literal["input", "output", "cached", "reasoning"]

REASONING: Final = "reasoning"
"""Key of a message's ``extra`` under which the text of its reasoning stands."""


@dataclass(frozen=True, slots=True)
class SaidPart:
    """A part of an answer; ``more`` is what only its vendor says of it."""

    kind: Kind
    text: str = ""
    call: ToolCall | None = None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class SaidError:
    """An error that a vendor answered with."""

    message: str
    kind: str | None = None
    code: Json = None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class VendorSaid:
    """An answer: its parts, why it ended (the vendor's word) and what was used."""

    parts: tuple[SaidPart, ...] = ()
    finish: str | None = None
    usage: Mapping[UsageName, int] = field(default_factory=dict[UsageName, int])
    error: SaidError | None = None
    own: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def message(self) -> Message:
        """The answer as a message: its text, its calls, and in ``extra`` the rest."""
        extra: dict[str, Json] = {}
        for key in ("refusal", REASONING):
            said = "".join(each.text for each in self.parts if each.kind == key)
            if said:
                extra[key] = said
        calls = tuple(each.call for each in self.parts if each.call is not None)
        text = "".join(each.text for each in self.parts if each.kind == "text")
        return Message("assistant", text, calls, extra=extra)


Paths: TypeAlias = "Mapping[UsageName, tuple[str, ...]]"
"""Where an interface tells what was used, by our name."""


def taken_usage(given: object, paths: Paths) -> tuple[dict[UsageName, int], Any]:
    """Return what was used, and what else stands there; None where nothing does."""
    if not is_mapping(given):
        return {}, None
    rest: dict[str, Any] = deepcopy(dict(given))
    found: dict[UsageName, int] = {}
    for name, path in paths.items():
        value = _taken(rest, path)
        if value is not None:
            found[name] = value
    return found, rest


def _taken(rest: dict[str, Any], path: Sequence[str]) -> int | None:
    """Take a number out of an object, and return it."""
    inside = rest
    for key in path[:-1]:
        within: object = inside.get(key)
        if not is_mapping(within):
            return None
        inside = cast("dict[str, Any]", within)
    value: object = inside.get(path[-1])
    if type(value) is not int:
        return None
    del inside[path[-1]]
    return value


def put_usage(
    usage: Mapping[UsageName, int], rest: object, paths: Paths
) -> dict[str, Any] | None:
    """Return usage as an interface tells it; None if it told of none."""
    if rest is None and not usage:
        return None
    made: dict[str, Any] = deepcopy(dict(rest)) if is_mapping(rest) else {}
    for name, value in usage.items():
        inside = made
        for key in paths[name][:-1]:
            inside = inside.setdefault(key, {})
        inside[paths[name][-1]] = value
    return made


def without(tree: Tree, *keys: str) -> dict[str, Any]:
    """Return an object without these keys; null stays, since it was said."""
    return {key: each for key, each in tree.items() if key not in keys}


def objects(given: object) -> Sequence[Tree]:
    """Return the objects of a list; of anything else none."""
    return [each for each in given if is_mapping(each)] if is_list(given) else []


def text_of(value: object) -> str:
    """Return a text, and nothing for what is none."""
    return value if isinstance(value, str) else ""


def as_object(arguments: str) -> Any:  # noqa: ANN401  # JSON values
    """Return arguments as the object that they were read from."""
    return json.loads(arguments)


def as_text(arguments: object) -> str:
    """Return an object of arguments as a text."""
    return json.dumps(arguments, ensure_ascii=False)


def joined_texts(pieces: Iterable[object]) -> str:
    """Return the texts among some values, one behind the other."""
    return "".join(map(text_of, pieces))

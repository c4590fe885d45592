"""What spans say of calls, whichever convention names their attributes.

    rows_of(spans, words)    # each span as data of an observation, in order of starting

What an observer writes of texts is its own business, as JSON in JSON or one attribute
for each; so of what was asked and answered the words of the world are told that stand
in it (``words``).
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import ClassVar, Final, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict

from compat.wire.scrubbing.scrubber import Scrubber
from refengine.messages import Json
from refengine.testing.json_values import is_list, is_mapping

Of: TypeAlias = Literal["model", "tool", "other"]
"""What a span is of: a call of a model, one of a tool, or anything else. Of the others
those are told as of a ``run`` that stand at the top of one."""

FILE: Final = "conventions.toml"


class CallAttributes(BaseModel):
    """Which attributes tell of a call of one kind: patterns, but for name and id.

    Without a ``name`` the span's own is that of what is called.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    values: tuple[str, ...]
    name: str = ""
    call: str = ""
    asked: tuple[str, ...]
    answered: tuple[str, ...]


class SpanConvention(BaseModel):
    """One way of naming attributes; ``kind`` is the one that says what a span is of.

    Patterns of ``tokens`` are of counts, which may be sums in a span whose kind is one
    of ``sums``.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    title: str
    kind: str
    tokens: tuple[str, ...]
    sums: tuple[str, ...]
    model: CallAttributes
    tool: CallAttributes


@cache
def conventions() -> tuple[SpanConvention, ...]:
    """Return those that are known."""
    text = files(__package__ or "").joinpath(FILE).read_text("utf-8")
    return tuple(map(SpanConvention.model_validate, tomllib.loads(text)["convention"]))


@dataclass(frozen=True, slots=True)
class SeenSpan:
    """A span, whoever made it: its number, its parent's, and how it stands at the end.

    ``failed`` tells that its status is an error, ``ended`` that it was ended, and not
    before it began. ``trace``
    is the number of its trace, where that is known otherwise than by its parents.
    ``name`` is what the observer calls it.
    """

    id: int
    parent: int | None
    attributes: Mapping[str, object]
    failed: bool = False
    ended: bool = True
    trace: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class SpanCall:
    """What a span says of the call that it is of, if it is of one."""

    of: Of = "other"
    name: str = ""
    asked: str = ""
    answered: str = ""
    call: str = ""


def call_of(span: SeenSpan) -> SpanCall:
    """Return what a span says of a call, by the first convention that knows it."""
    for each in conventions():
        kind = span.attributes.get(each.kind)
        if kind in each.model.values:
            return _told("model", each.model, span)
        if kind in each.tool.values:
            return _told("tool", each.tool, span)
    return SpanCall()


def _told(of: Of, by: CallAttributes, span: SeenSpan) -> SpanCall:
    attributes = span.attributes
    asked, answered = (
        "\n".join(
            text
            for name, value in attributes.items()
            if any(fnmatchcase(name, each) for each in patterns)
            for text in leaves(value)
        )
        for patterns in (by.asked, by.answered)
    )
    named = str(attributes.get(by.name, ""))
    if of == "tool" and not by.name:
        named = span.name
    call = "".join(leaves(attributes.get(by.call)))
    return SpanCall(of, named, asked, answered, call)


def tells_tokens(attributes: Mapping[str, object]) -> bool:
    """Tell whether attributes count tokens, where no sum of an agent's is due."""
    return any(
        fnmatchcase(name, pattern) and attributes.get(each.kind) not in each.sums
        for each in conventions()
        for pattern in each.tokens
        for name in attributes
    )


def leaves(value: object) -> Iterator[str]:
    """Yield the texts in a value; JSON in a text is read, and JSON in that."""
    if isinstance(value, str):
        found = _json(value)
        if found is None:
            yield value
        else:
            yield from leaves(found)
    elif is_mapping(value):
        for each in value.values():
            yield from leaves(each)
    elif is_list(value) or isinstance(value, tuple):
        for each in cast("Sequence[object]", value):
            yield from leaves(each)
    elif value is not None:
        yield json.dumps(value, default=str)


def _json(text: str) -> object:
    """Return the list or mapping that a text writes, None for any other text."""
    if text[:1] not in {"{", "[", '"'}:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def reveals(attributes: Mapping[str, object]) -> bool:
    """Tell whether an attribute holds what the rules of redaction take for a secret."""
    return any(is_secret(x) for value in attributes.values() for x in leaves(value))


def is_secret(text: str) -> bool:
    """Tell whether the rules of redaction would take something out of a text."""
    return Scrubber().text(text) != text


def among(words: Iterable[str], text: str) -> list[Json]:
    """Return the words that stand in a text."""
    return [each for each in words if each in text]


def rows_of(
    spans: Sequence[SeenSpan], words: Sequence[str]
) -> Iterator[dict[str, Json]]:
    """Yield what each span says, in the order in which they started.

    ``nth`` of ``many`` is its number among those of the same tool, or of the model.
    ``inside`` is what the nearest call is of that it stands in, and ``tree`` the number
    of the trace that it belongs to, among those of runs. The first span of such a
    trace is of the run, unless it is of a call.
    """
    calls = {each.id: call_of(each) for each in spans}
    above = {each.id: [*_above(each, spans)] for each in spans}
    trees = _trees(spans, calls, above)
    runs = {x: n for n, x in enumerate(_runs(calls, above, trees), 1)}
    many = Counter((each.of, each.name) for each in calls.values())
    counts: Counter[tuple[str, str]] = Counter()
    for each in spans:
        call, key = calls[each.id], (calls[each.id].of, calls[each.id].name)
        row: dict[str, Json] = {"of": call.of, "ends": each.ended}
        row["secrets"] = reveals(each.attributes)
        if each.id in runs:
            row |= {"of": "run", "many": len(runs), "over": runs[each.id]}
            row["fails"] = each.failed
        if call.of != "model" and each.id not in runs:
            row["tokens"] = tells_tokens(each.attributes)
        if call.of != "other":
            counts[key] += 1
            row |= {"name": call.name, "nth": counts[key], "many": many[key]}
            row |= {"over": counts[key], "fails": each.failed}
            inside = (calls[x].of for x in above[each.id] if calls[x].of != "other")
            row |= {"inside": next(inside, ""), "tree": trees[each.id]}
            if call.call:
                row["call"] = call.call
            row["asked"] = among(words, call.asked)
            row["answered"] = among(words, call.answered)
        yield row


def _above(span: SeenSpan, spans: Sequence[SeenSpan]) -> Iterator[int]:
    """Yield the spans above one, nearest first; a parent that was not seen is none."""
    parents = {each.id: each.parent for each in spans}
    at = span.parent
    while at is not None and at in parents:
        yield at
        at = parents[at]


def _trees(
    spans: Sequence[SeenSpan],
    calls: Mapping[int, SpanCall],
    above: Mapping[int, Sequence[int]],
) -> Mapping[int, int]:
    """Return the number of each span's trace; one span that is of no call has none."""
    roots = {each: over[-1] if over else each for each, over in above.items()}
    told = {x.id: roots[x.id] if x.trace is None else x.trace for x in spans}
    sizes = Counter(told.values())
    of = {trace: calls[each].of for each, trace in told.items()}
    runs = (x for x in sizes if sizes[x] > 1 or of[x] != "other")
    numbers = {trace: number for number, trace in enumerate(runs, 1)}
    return {each: numbers.get(trace, 0) for each, trace in told.items()}


def _runs(
    calls: Mapping[int, SpanCall],
    above: Mapping[int, Sequence[int]],
    trees: Mapping[int, int],
) -> Iterator[int]:
    """Yield the spans of runs: those of no call that stand at the top of a trace."""
    for each, call in calls.items():
        if call.of == "other" and trees[each] and not above[each]:
            yield each

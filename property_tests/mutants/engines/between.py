"""Engines that tell the model, or hear of it, something else than was said.

A wrapper around each model is all that these are: what goes in and comes out is changed
there at once for both modes and any model, and no function of the engine is to blame.
"""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from property_tests.mutants.models import ChangedModel, asked, heard, models, sent, told
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import Given, wrong
from refengine.messages import Json, Message, MessageChunk
from refengine.stream import StreamReader
from refengine.testing.trace import to_json
from refengine.tools import Options

AS_IT_IS: Final = "Texts and names reach the model byte for byte."
Schema: TypeAlias = "dict[str, Any]"
Chunks: TypeAlias = AsyncIterator[Given]  # of texts or of messages


def _over_when_empty(model: Given) -> ChangedModel:
    """Let a stream be over at a chunk that holds nothing."""
    return ChangedModel(model, read=lambda chunks: StreamReader(_until_empty(chunks)))


async def _until_empty(chunks: StreamReader[MessageChunk]) -> Chunks:
    async with aclosing(chunks):
        async for chunk in chunks:
            yield chunk
            if not (chunk.content or chunk.tool_calls or chunk.extra):
                return


def _model_options(change: Callable[[Options], Options]) -> Door:
    return asked(lambda given: (given[0], given[1], change(given[2])))


def _sorted(options: Options) -> Options:
    return {name: _in_order(value) for name, value in options.items()}


def _in_order(value: object) -> object:
    if not isinstance(value, (list, tuple)):
        return value
    return sorted(cast("Sequence[object]", value), key=str)


def _named_plainly(options: Options) -> Options:
    return {name.strip().lower(): value for name, value in options.items()}


def _each(change: Callable[[Message], Message]) -> Door:
    return sent(lambda messages: list(map(change, messages)))


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _of(role: str, change: Callable[[str], str]) -> Door:
    """Send the model other texts of one role."""
    return _each(
        lambda each: (
            replace(each, content=change(each.content)) if each.role == role else each
        )
    )


Change = Callable[[str], str]


def _ids(change: Change) -> Door:
    """Give calls other ids as soon as the model has asked for them."""
    return heard(
        lambda got: replace(
            got,
            tool_calls=tuple(
                replace(call, id=change(call.id or "")) for call in got.tool_calls
            ),
        )
    )


def _schemas(change: Callable[[Schema], Schema]) -> Door:
    """Tell the model other parameters; each object in them is changed."""

    def walk(value: Json) -> Any:  # noqa: ANN401  # as JSON is
        if isinstance(value, Mapping):
            return change({name: walk(each) for name, each in value.items()})
        if isinstance(value, (list, tuple)):
            return [walk(each) for each in value]
        return value

    return told(lambda info: replace(info, parameters=walk(to_json(info.parameters))))


def _without(*names: str) -> Callable[[Schema], Schema]:
    return lambda schema: {k: v for k, v in schema.items() if k not in names}


def _without_null(schema: Schema) -> Schema:
    return {name: value for name, value in schema.items() if value is not None}


def _field_sorted(field: str) -> Callable[[Schema], Schema]:
    return lambda schema: {
        name: sorted(value, key=str) if name == field else value
        for name, value in schema.items()
    }


def _one_type(schema: Schema) -> Schema:
    kind = schema.get("type")
    return {**schema, "type": kind[0]} if isinstance(kind, list) else schema


def _texts_composed(schema: Schema) -> Schema:
    return {
        unicodedata.normalize("NFC", name): unicodedata.normalize("NFC", value)
        if isinstance(value, str)
        else value
        for name, value in schema.items()
    }


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "empty-chunk-ends-a-stream",
        "A streamed answer is over at a chunk that holds nothing.",
        "STR-005",
        models(_over_when_empty),
    ),
    wrong(
        "options-in-order",
        "Lists among the options of a model call are sorted.",
        "WRAP-018",
        _model_options(_sorted),
    ),
    wrong(
        "options-as-text",
        "Names of options lose case and the space around them.",
        "WRAP-018",
        _model_options(_named_plainly),
    ),
    wrong(
        "user-texts-decomposed",
        "The model is sent the user's texts with decomposed letters.",
        "MSG-002 MSG-004",
        _of("user", _decomposed),
        says=AS_IT_IS,
    ),
    wrong(
        "answers-composed",
        "Answers of the model are heard with composed letters.",
        "MSG-008 MSG-007",
        heard(lambda heard: replace(heard, content=_composed(heard.content))),
        says=AS_IT_IS,
    ),
    wrong(
        "call-ids-short",
        "Of the id of a call forty characters are kept.",
        "MSG-008 EVT-002",
        _ids(lambda id_: id_[:40]),
        says=AS_IT_IS,
    ),
    wrong(
        "parameters-without-null",
        "Fields of parameters that are null are left out.",
        "TOOL-025",
        _schemas(_without_null),
    ),
    wrong(
        "parameters-without-definitions",
        "Parameters are told without what they refer to.",
        "TOOL-025",
        _schemas(_without("$defs")),
    ),
    wrong(
        "parameters-of-known-words",
        "Parameters are told without words that a vendor does not know.",
        "TOOL-025",
        _schemas(_without("title", "format", "examples", "x-own")),
    ),
    wrong(
        "required-sorted",
        "The names of required parameters are sorted.",
        "TOOL-025",
        _schemas(_field_sorted("required")),
    ),
    wrong(
        "choices-sorted",
        "The values that a parameter may have are sorted.",
        "TOOL-025",
        _schemas(_field_sorted("enum")),
    ),
    wrong(
        "parameters-of-one-type",
        "Of several types of a parameter the first is told.",
        "TOOL-025",
        _schemas(_one_type),
    ),
    wrong(
        "parameters-composed",
        "Parameters are told with composed letters.",
        "TOOL-025",
        _schemas(_texts_composed),
    ),
)

"""Operations of hooks and wrappers; those that fail, count or hide only if wanted."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, TypeAlias, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import BaseModel, TypeAdapter

from refengine.testing.ops import BodyOp, ConfigOp, MessageOp
from refengine.testing.scenario import ModelWrapSpec, ToolWrapSpec
from refengine.testing.strategies.variants import MODEL_WRAP, TOOL_WRAP
from refengine.testing.strategies.words import (
    ANYTHING,
    NAMES,
    WorldChoices,
    added_calls,
    arguments,
    messages,
    run_options,
    texts,
    tool_names,
)

Fields: TypeAlias = "dict[str, object]"
T = TypeVar("T")

KEYS: Final = st.sampled_from(["h", "k", "h", "k", " K", "e\u0301"])
"""Keys of the context; ``h`` is the one that traces show."""

VALUES: Final = (0, 1.5, True, None, ["a"], {"a": 1})
"""Values of the context that are not text."""

QUIET: Final = frozenset(
    (
        *("record", "record_enter", "record_factory", "prefix_result", "ctx_append"),
        *("runlocal_get", "rewrite_args", "set_options", "clear_options"),
        *("new_input", "in_place"),
    )
)
"""What a wrapper does that leaves a call one execution, with all of its result."""

_CONFIG: Final[TypeAdapter[ConfigOp]] = TypeAdapter(ConfigOp)
_MESSAGE: Final[TypeAdapter[MessageOp]] = TypeAdapter(MessageOp)
_BODY: Final[TypeAdapter[BodyOp]] = TypeAdapter(BodyOp)


@cache
def config_ops(
    choices: WorldChoices, tools: SearchStrategy[BaseModel]
) -> SearchStrategy[tuple[ConfigOp, ...]]:
    """Operations of ``before_agent``; ``tools`` are those it may add."""
    name, text = tool_names(choices), texts(choices)
    flags = st.dictionaries(st.sampled_from(NAMES), st.booleans(), max_size=2)
    kinds = [
        *_any_ops(choices),
        _op("record_counts"),
        _op("append_instruction", sep=st.sampled_from(["\n", "\n\n"]), text=text),
        _op("append_instruction", text=text, if_base_empty=st.just("replace")),
        _op("append_tools", tools=st.lists(tools, min_size=1, max_size=2).map(tuple)),
        _op("remove_tool", name=name),
        _op("set_return_directly", name=name, value=st.booleans()),
        _op("replace_return_directly", value=st.none() | flags),
    ]
    if choices.counting:
        numbered = tools.map(lambda tool: (tool.model_copy(update={"name": "t<run>"}),))
        kinds += [
            _op("append_tools", tools=numbered),
            _op("append_instruction", text=st.just("run <run>")),
        ]
    if choices.unknown_calls:
        kinds.append(_op("set_tools", value=st.just(())))
    if choices.unknown_calls and choices.failures:  # null is refused by some profiles
        kinds.append(_op("set_tools", value=st.none()))
    return _ops(kinds, choices, _CONFIG)


@cache
def message_ops(
    choices: WorldChoices, *, after: bool
) -> SearchStrategy[tuple[MessageOp, ...]]:
    """Operations of a hook that sees messages, before or after the model."""
    msg = messages(choices)
    if choices.small:
        more = [] if after else [_op("append", msg=msg), _op("prepend", msg=msg)]
        return _ops([*_any_ops(choices), *more], choices, _MESSAGE)
    kinds = [
        *_any_ops(choices),
        _op("keep_first_and_last"),
        _op("keep_messages"),
        _op("append_to_kept", msg=msg),
        _op("set_last_content", content=texts(choices)),
        _op("keep_last", n=st.integers(1, 4)),
        _op("prepend", msg=st.one_of(msg, st.just("user:<len> before"))),
    ]
    # After the model these mostly end the run, so they are rarer there.
    none: list[Fields] = [{"op": "clear"}, {"op": "keep_last", "n": 0}]
    last = [
        _op("append", msg=msg),
        _op("replace_last", msg=msg),
        _op("replace_last_if_tool_calls", msg=msg),
        st.sampled_from(none),
    ]
    if after and choices.unknown_calls and choices.counting:
        # Once: a run that is sent to its tools again and again ends at its limit.
        once = {"msg": added_calls(choices), "on_call": st.integers(1, 2)}
        kinds += [_op("append", **once), _op("replace_last", **once)]
    kinds.extend([st.one_of(last).map(dict)] if after else last)  # map: one of many
    return _ops(kinds, choices, _MESSAGE)


@cache
def body_ops(choices: WorldChoices) -> SearchStrategy[tuple[BodyOp, ...]]:
    """Operations inside a tool; an error is a field of the tool's own."""
    quiet = _any_ops(WorldChoices(counting=choices.counting, words=choices.words))
    return _ops(quiet, choices, _BODY)


@cache
def tool_wraps(
    choices: WorldChoices = ANYTHING, label: str = "", *, nested: bool = False
) -> SearchStrategy[ToolWrapSpec]:
    """Wrappers around tool calls, with up to three of their fields."""
    fields = _allowed(_tool_fields(choices, label), TOOL_WRAP, choices)
    named: Fields = {} if nested else {"id": label}
    if choices.small:
        fields = {name: each for name, each in fields.items() if name in QUIET}
    elif not nested:
        own = tool_wraps(choices, label, nested=True)
        fields["by_tool"] = st.dictionaries(tool_names(choices), own, max_size=2)
    return _some_of(_each(fields)).map(
        lambda chosen: ToolWrapSpec.model_validate({**chosen, **named})
    )


def _tool_fields(
    choices: WorldChoices, label: str
) -> dict[str, SearchStrategy[object]]:
    text = texts(choices)
    fields: dict[str, SearchStrategy[object]] = {
        "record": st.just(label),
        "prefix_result": text,
        "rewrite_args": arguments(choices),
        "ctx_append": st.fixed_dictionaries({"key": KEYS, "text": text}),
        "set_result": text,
        "map_result": text.map("<{}<result>>".format),
        "short_circuit": text,
        "call_next": st.integers(2, 3),
        "record_enter": st.just(label),
        "record_factory": st.just(value=True),
        "runlocal_get": KEYS,
        "set_input_name": tool_names(choices),
        "set_input_call_id": st.sampled_from(["x1", "c1"]),
        "catch_error": text.map("{}<error>".format),
        "set_stream": st.lists(text, max_size=3).map(tuple),
        "new_input": st.just(value=True),
        "in_place": st.just(value=True),
    }
    if choices.options:
        fields["set_options"] = run_options()
        fields["clear_options"] = st.just(value=True)
    if choices.counting:
        fields["closure_counter"] = st.just(label)
        fields["count_factory"] = st.just(value=True)
    if choices.failures:
        fields["factory_error"] = st.just("no wrapper")
        fields["error"] = st.just("not so")
    return fields


@cache
def model_wraps(
    choices: WorldChoices = ANYTHING, label: str = ""
) -> SearchStrategy[ModelWrapSpec]:
    """Wrappers around model calls, with up to three of their fields."""
    text = texts(choices)
    changed = st.one_of(text, text.map("<{}<content>>".format))
    fields: dict[str, SearchStrategy[object]] = {
        "record": st.just(label),
        "prefix_user_input": text,
        "append_input": messages(choices),
        "concat_stream": st.just(value=True),
        "map_output": changed,
        "set_content": text,
        "record_factory": st.just(value=True),
    }
    if choices.failures:
        fields["error"] = st.just("not so")
    if choices.options:
        fields["set_options"] = run_options()
        fields["clear_options"] = st.just(value=True)
        if choices.counting:
            fields["options_on_call"] = st.integers(1, 3)
    if choices.unknown_calls:
        fields["hide_tools"] = st.lists(tool_names(choices), max_size=2).map(tuple)
        if choices.counting:
            fields["hide_on_call"] = st.integers(1, 3)
    # On one chunk every mapping distributes.
    whole = {"concat_stream": st.just(value=True), "map_output": changed}
    kinds = _each(_allowed(fields, MODEL_WRAP, choices))
    kinds.append(st.fixed_dictionaries(whole))
    return _some_of(kinds).map(ModelWrapSpec.model_validate)


def _any_ops(choices: WorldChoices) -> list[SearchStrategy[Fields]]:
    """Operations that every hook may hold."""
    text = texts(choices)
    value = st.one_of(text, st.sampled_from(VALUES))
    kinds = [
        _op("record"),
        _op("ctx_append", key=KEYS, text=text),
        _op("ctx_set", key=KEYS, value=value),
        _op("ctx_get", key=KEYS),
        _op("runlocal_set", key=KEYS, value=value, record=st.booleans()),
        _op("runlocal_get", key=KEYS),
        _op("runlocal_delete", key=KEYS),
    ]
    if choices.failures:
        kinds.append(_op("error", text=st.sampled_from(["boom", "büm"])))
    return kinds


def _op(op: str, /, **fields: SearchStrategy[object]) -> SearchStrategy[Fields]:
    return st.fixed_dictionaries({"op": st.just(op), **fields})


def _on_call(op: Fields, nth: int) -> Fields:
    return {**op, "on_call": nth}


def _ops(
    kinds: Sequence[SearchStrategy[Fields]],
    choices: WorldChoices,
    reader: TypeAdapter[T],
) -> SearchStrategy[tuple[T, ...]]:
    """Up to three operations, read as the scenario reads them."""
    one: SearchStrategy[Fields] = st.one_of(kinds)
    if choices.counting:
        one = st.one_of(one, st.builds(_on_call, one, st.integers(1, 3)))
    return st.lists(one.map(reader.validate_python), max_size=3).map(tuple)


def _allowed(
    fields: Mapping[str, SearchStrategy[object]],
    table: Mapping[str, bool],
    choices: WorldChoices,
) -> dict[str, SearchStrategy[object]]:
    if not choices.distributes:
        return dict(fields)
    return {name: field for name, field in fields.items() if table[name]}


def _each(fields: Mapping[str, SearchStrategy[object]]) -> list[SearchStrategy[Fields]]:
    return [st.fixed_dictionaries({name: of}) for name, of in fields.items()]


def _some_of(kinds: Sequence[SearchStrategy[Fields]]) -> SearchStrategy[Fields]:
    """Up to three of them, in one dictionary; the first of equal fields counts."""
    return st.lists(st.one_of(kinds), max_size=3).map(
        lambda some: dict(ChainMap(*some))
    )

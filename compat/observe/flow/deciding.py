"""What the dialect decides on the input of a row, against what the row expects.

What is left out and what is empty are one, since versions in two languages cannot
differ in that. A number of a state is a float where Go reads it, as Go's JSON has it.
"""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from compat.dialects.flow import Content, FlowProfile, LlmResponse, Part
from compat.dialects.flow.aggregating import aggregate
from compat.dialects.flow.contents import contents_of
from compat.dialects.flow.errors import FlowError
from compat.dialects.flow.merging import is_final, merge_actions
from compat.dialects.flow.templates import fill_template
from compat.dialects.flow.transfer import AgentInTree, transfer_targets
from compat.dialects.flow.values import as_json
from compat.observe.flow.hooking import (
    decided_chain,
    decided_model_call,
    decided_tool_call,
    expected_chain,
    expected_model_call,
    expected_tool_call,
    same_tool_call,
)
from compat.observe.flow.notation import (
    RowActions,
    RowAgent,
    RowChunk,
    RowContent,
    RowEvent,
    RowPart,
    without_unset,
)
from compat.observe.flow.rows import FlowRow
from refengine.testing.clock import run
from refengine.testing.json_values import is_list, is_mapping

Object: TypeAlias = Mapping[str, Any]


class Deciding(NamedTuple):
    """One kind of row: what the dialect does with an input, and what is expected.

    Both return JSON of one form; ``same`` compares them, given the input as well.
    """

    decide: Callable[[Object, FlowProfile], Any]
    expect: Callable[[Any], Any]
    same: Callable[[Object, Any, Any], bool] = lambda _, seen, wanted: bool(
        seen == wanted
    )


class _Input(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Actions(_Input):
    actions: list[RowActions | None]
    head: bool = False  # a remark: only the newest Go does this


class _Contents(_Input):
    events: list[RowEvent]
    branch: str = ""
    agent: str = Field("cur", validation_alias=AliasChoices("agent", "current"))
    include_contents: Literal["", "default", "none"] = Field(
        "default", validation_alias=AliasChoices("include_contents", "include")
    )


class _Template(_Input):
    template: str
    state: dict[str, Any] = Field(default_factory=dict[str, Any])
    artifacts: dict[str, str] | None = None


class _Tree(_Input):
    tree: RowAgent
    current: str

    @model_validator(mode="after")
    def _has_current(self) -> _Tree:
        """Refuse a current agent that the tree does not have."""
        if self.current not in {each.name for each, _ in _with_parents(self.tree)}:
            raise ValueError(f"no agent {self.current!r} in the tree")
        return self


class _Stream(_Input):
    chunks: list[RowChunk | None]


class _Told(_Input):
    """A response of a stream; of the rest, what it leaves out is not compared."""

    parts: list[RowPart]
    partial: bool = False
    role: str | None = None
    finish: str | None = Field(
        None, validation_alias=AliasChoices("finish", "finish_reason")
    )
    usage: int | None = None
    turn_complete: bool | None = None


_CONTENTS: Final = TypeAdapter(list[RowContent])
_RESPONSES: Final = TypeAdapter(list[_Told])
_TEXT: Final = TypeAdapter(str, config=ConfigDict(strict=True))
_NAMES: Final = TypeAdapter(list[str], config=ConfigDict(strict=True))
_TRUTH: Final = TypeAdapter(bool, config=ConfigDict(strict=True))


def _merged(given: Object, profile: FlowProfile) -> Any:  # noqa: ANN401  # any JSON value
    actions = _Actions.model_validate(given).actions
    values = (None if each is None else each.value() for each in actions)
    merged = merge_actions(values, profile)
    return {} if merged is None else without_unset(as_json(merged))


def _merged_expected(expected: object) -> Any:  # noqa: ANN401  # any JSON value
    row = RowActions() if expected is None else RowActions.model_validate(expected)
    return without_unset(as_json(row.value()))


def _contents(given: Object, profile: FlowProfile) -> Any:  # noqa: ANN401  # any JSON value
    row = _Contents.model_validate(given)
    found = contents_of(
        [each.value() for each in row.events],
        row.agent,
        profile,
        branch=row.branch,
        include="none" if row.include_contents == "none" else "default",
    )
    return [as_json(each) for each in found]


def _contents_expected(expected: object) -> Any:  # noqa: ANN401  # any JSON value
    rows = _CONTENTS.validate_python(expected)
    return [as_json(each.content() or Content(each.role or "")) for each in rows]


def _filled(given: Object, profile: FlowProfile) -> Any:  # noqa: ANN401  # any JSON value
    row = _Template.model_validate(given)
    files = row.artifacts

    async def load(name: str) -> Part | None:
        return Part(text=files[name]) if files and name in files else None

    state = _go_numbers(row.state) if profile.value_text == "percent_v" else row.state
    loader = None if files is None else load
    return run(fill_template(row.template, state, loader, profile))


def _go_numbers(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return JSON as Go reads it into ``any``: a number is a float."""
    if is_mapping(value):
        return {key: _go_numbers(each) for key, each in value.items()}
    if is_list(value):
        return [_go_numbers(each) for each in value]
    return float(value) if type(value) is int else value


def _aggregated(given: Object, profile: FlowProfile) -> Any:  # noqa: ANN401  # any JSON value
    row = _Stream.model_validate(given)
    chunks = [None if each is None else each.value() for each in row.chunks]
    return [_response(each) for each in aggregate(chunks, profile)]


def _response(told: LlmResponse) -> Any:  # noqa: ANN401  # any JSON value
    content = told.content or Content()
    rest = {
        "role": content.role,
        "finish": told.finish_reason,
        "usage": told.usage.total if told.usage else 0,
        "turn_complete": told.turn_complete,
    }
    return _of_stream(content.parts, told.partial) | rest


def _of_stream(parts: Sequence[Part], partial: bool) -> dict[str, Any]:
    return {"parts": [as_json(each) for each in parts], "partial": partial}


def _aggregated_expected(expected: object) -> Any:  # noqa: ANN401  # any JSON value
    return [
        _of_stream([part.value() for part in each.parts], each.partial)
        | each.model_dump(exclude={"parts", "partial"}, exclude_none=True)
        for each in _RESPONSES.validate_python(expected)
    ]


def _same_stream(_: Object, seen: Any, wanted: Any) -> bool:  # noqa: ANN401  # any JSON value
    """Tell whether two streams are the same in all that is expected."""
    return len(seen) == len(wanted) and all(
        theirs == {key: ours[key] for key in theirs}
        for ours, theirs in zip(seen, wanted, strict=True)
    )


_UNSET: Final = re.compile(r"\b\w+=None ?")


def _same_text(_: Object, seen: str, wanted: str) -> bool:
    """Tell whether two texts are the same, but for fields of a part that are unset.

    Which fields its class has, is a matter of the vendor's package.
    """
    return _UNSET.sub("", seen) == _UNSET.sub("", wanted)


def _final(given: Object, profile: FlowProfile) -> Any:  # noqa: ANN401  # any JSON value
    return is_final(RowEvent.model_validate(given).value(), profile)


def _targets(given: Object, profile: FlowProfile) -> Any:  # noqa: ANN401  # any JSON value
    del profile  # every version has the same targets
    row = _Tree.model_validate(given)
    placed = {agent.name: (agent, parent) for agent, parent in _with_parents(row.tree)}
    agent, parent = placed[row.current]
    return [each.name for each in transfer_targets(agent, parent)]


def _with_parents(
    tree: RowAgent,
) -> Iterator[tuple[AgentInTree, AgentInTree | None]]:
    waiting: list[tuple[AgentInTree, AgentInTree | None]] = [(tree.value(), None)]
    while waiting:
        agent, parent = waiting.pop()
        yield agent, parent
        waiting.extend((each, agent) for each in agent.sub_agents)


DECIDING: Final[Mapping[str, Deciding]] = MappingProxyType(
    {
        "call_tool": Deciding(decided_tool_call, expected_tool_call, same_tool_call),
        "call_model": Deciding(decided_model_call, expected_model_call),
        "py_chain": Deciding(decided_chain, expected_chain),
        "merge_actions": Deciding(_merged, _merged_expected),
        "contents": Deciding(_contents, _contents_expected),
        "template": Deciding(_filled, _TEXT.validate_python, _same_text),
        "aggregate": Deciding(_aggregated, _aggregated_expected, _same_stream),
        "transfer": Deciding(_targets, _NAMES.validate_python),
        "is_final": Deciding(_final, _TRUTH.validate_python),
    }
)

FAILING: Final = frozenset(("error", "error_contains"))
"""Keys by which a row says that a version failed, instead of what it gave."""


class RowInputError(ValueError):
    """A row whose input, or what it expects, is not in the notation of its kind."""


def first_flow_difference(
    row: FlowRow, version: str, profile: FlowProfile
) -> str | None:
    """Return what the dialect does otherwise than a version did, or None.

    Raises RowInputError for a row that cannot be read.
    """
    expected = row.for_version(version).value
    deciding = DECIDING[row.kind]
    try:
        seen = deciding.decide(row.input, profile)
    except ValidationError as error:
        raise RowInputError(_problem("input", error)) from None
    except FlowError as error:
        return _failed(expected, error)
    if _is_failure(expected):
        return f"{_json(seen)}, not {_json(expected)}"
    try:
        wanted = deciding.expect(expected)
    except ValidationError as error:
        raise RowInputError(_problem("what is expected", error)) from None
    same = deciding.same(row.input, seen, wanted)
    return None if same else f"{_json(seen)}, not {_json(wanted)}"


def _is_failure(expected: object) -> bool:
    return is_mapping(expected) and bool(FAILING & expected.keys())


def _failed(expected: object, error: FlowError) -> str | None:
    if is_mapping(expected) and _is_failure(expected) and _fits(expected, error):
        return None
    return f"{type(error).__name__}: {error}, not {_json(expected)}"


def _fits(expected: Mapping[str, Any], error: FlowError) -> bool:
    """Tell whether an error is the one: by a piece of its text, else by its class."""
    if "error_contains" in expected:
        return str(expected["error_contains"]) in str(error)
    name = str(expected["error"]).partition(":")[0]
    kind = getattr(builtins, name, FlowError)
    return isinstance(error, cast("type[BaseException]", kind))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _problem(where: str, error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    path = ".".join([where, *(str(each) for each in first["loc"])])
    given = repr(first["input"])
    return (
        f"{path} = {given if len(given) <= 60 else given[:57] + '...'}: {first['msg']}"
    )

"""What a row expects of hooks, and when two tool calls came to the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from compat.observe.flow.hooking import is_missing
from refengine.testing.json_values import is_list, is_mapping

Object: TypeAlias = Mapping[str, Any]


def same_tool_call(given: Object, seen: Any, wanted: Any) -> bool:  # noqa: ANN401  # any JSON value
    """Tell whether two tool calls came to the same.

    What a version says of a tool that is not there, in its own words, is not compared.
    """
    texts = _error_text(seen), _error_text(wanted)
    scripted = set(_errors(given))
    named = not is_missing(given.get("tool"))
    if named or None in texts or scripted.intersection(texts):
        return bool(seen == wanted)
    return bool({**seen, "response": None} == {**wanted, "response": None})


def _error_text(told: Object) -> str | None:
    """Return the text of a response that is an error, or of a piece of one."""
    response = told["response"]
    if not is_mapping(response) or len(response) != 1:
        return None
    text: object = response.get("error", response.get("error_contains"))
    return text if isinstance(text, str) else None


def _errors(raw: object) -> Iterator[str]:
    """Yield the texts of all errors that a row scripts."""
    if is_mapping(raw):
        yield from (str(each) for key, each in raw.items() if key == "err")
    for each in _inside(raw):
        yield from _errors(each)


def _inside(raw: object) -> Iterable[object]:
    if is_mapping(raw):
        return raw.values()
    return raw if is_list(raw) else ()


class _ExpectedTool(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    response: Any
    trace: list[str]
    raised: bool = False


def expected_tool_call(expected: object) -> Any:  # noqa: ANN401  # any JSON value
    """Return what a row expects of a tool call, as it is decided."""
    row = _ExpectedTool.model_validate(expected)
    found = {"response": row.response, "trace": row.trace}
    return {**found, "raised": True} if row.raised else found


class _ExpectedModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    result: dict[str, Any]
    trace: list[str]


def expected_model_call(expected: object) -> Any:  # noqa: ANN401  # any JSON value
    """Return what a row expects of a model call, as it is decided."""
    return _ExpectedModel.model_validate(expected).model_dump()


class _ExpectedChain(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    texts: list[str]
    calls: list[int]


def expected_chain(expected: object) -> Any:  # noqa: ANN401  # any JSON value
    """Return what a row expects of a list of callbacks, as it is decided."""
    return _ExpectedChain.model_validate(expected).model_dump()

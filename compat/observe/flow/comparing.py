"""One row about ADK against one profile of the dialect."""

from __future__ import annotations

import builtins
import json
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import ValidationError

from compat.dialects.flow import FlowProfile
from compat.dialects.flow.errors import FlowError
from compat.observe.flow.deciding import DECIDING
from compat.observe.flow.rows import FlowRow
from refengine.testing.json_values import is_mapping

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
        return f"{_shown(seen)}, not {_shown(expected)}"
    try:
        wanted = deciding.expect(expected)
    except ValidationError as error:
        raise RowInputError(_problem("what is expected", error)) from None
    same = deciding.same(row.input, seen, wanted)
    return None if same else f"{_shown(seen)}, not {_shown(wanted)}"


def _is_failure(expected: object) -> bool:
    return is_mapping(expected) and bool(FAILING & expected.keys())


def _failed(expected: object, error: FlowError) -> str | None:
    if is_mapping(expected) and _is_failure(expected) and _fits(expected, error):
        return None
    return f"{type(error).__name__}: {error}, not {_shown(expected)}"


def _fits(expected: Mapping[str, Any], error: FlowError) -> bool:
    """Tell whether an error is the one: by a piece of its text, else by its class."""
    if "error_contains" in expected:
        return str(expected["error_contains"]) in str(error)
    name = str(expected["error"]).partition(":")[0]
    kind = getattr(builtins, name, FlowError)
    return isinstance(error, cast("type[BaseException]", kind))


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _problem(where: str, error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    path = ".".join([where, *(str(each) for each in first["loc"])])
    given = repr(first["input"])
    return (
        f"{path} = {given if len(given) <= 60 else given[:57] + '...'}: {first['msg']}"
    )

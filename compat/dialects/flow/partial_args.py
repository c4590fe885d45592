"""Arguments of a call that a stream tells piece by piece, each with its place.

A place is a path in the part of JSONPath that vendors send: ``$``, then ``.name``,
``['name']`` or ``[0]``. A piece whose place contradicts what came before is dropped,
since half of an argument in the wrong shape is worse than none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from refengine.testing.json_values import is_list, is_mapping

if TYPE_CHECKING:
    from compat.dialects.flow.content import PartialArg
    from refengine.messages import Json

Step: TypeAlias = "str | int"

LAST_INDEX: Final = 10_000
"""The highest index that a path may name: a list is filled with None up to it."""

_STEP: Final = re.compile(
    r"\[\s*(?P<index>\d+)\s*\]"
    r"|\['(?P<single>(?:[^'\\]|\\.)*)'\]"
    r'|\["(?P<double>(?:[^"\\]|\\.)*)"\]'
    r"|\.?(?P<name>[^.\[\]]+)"
)


class PartialArguments:
    """The arguments of one call as far as they have come."""

    def __init__(self) -> None:
        self._args: dict[str, Any] = {}

    def add(self, piece: PartialArg) -> None:
        """Put a piece in its place; text behind the text that stands there."""
        steps = path_steps(piece.path)
        if not steps or not isinstance(steps[0], str):
            return
        value = piece.value
        known = _found(self._args, steps)
        if isinstance(value, str) and isinstance(known, str):
            value = known + value
        _put(self._args, steps, value)

    def taken(self) -> dict[str, Json]:
        """Return what has come; the next call begins with nothing."""
        args, self._args = self._args, {}
        return args


def path_steps(path: str) -> list[Step]:
    """Return the names and indices of a path; none for one that names nothing."""
    steps: list[Step] = []
    for match in _STEP.finditer(path.removeprefix("$")):
        if match["index"] is not None:
            steps.append(int(match["index"]))
        elif match["name"] is not None:
            steps.append(match["name"])
        else:
            quoted = match["double"]
            steps.append(_unescaped(match["single"] if quoted is None else quoted))
    return steps


def _unescaped(text: str) -> str:
    """Return the name that stands between quotes, of either kind."""
    if "\\" not in text:
        return text
    plain = text.replace("\\'", "'")
    try:
        return str(json.loads(f'"{plain}"'))
    except ValueError:
        return re.sub(r"\\(.)", r"\1", text)


def _found(args: object, steps: Sequence[Step]) -> object:
    at = args
    for step in steps:
        if is_mapping(at) and isinstance(step, str):
            at = at.get(step)
        elif is_list(at) and isinstance(step, int) and step < len(at):
            at = at[step]
        else:
            return None
    return at


def _put(at: Any, steps: Sequence[Step], value: Json) -> None:  # noqa: ANN401  # a dict or list
    step, rest = steps[0], steps[1:]
    if not _room(at, step):
        return
    if not rest:
        at[step] = value
        return
    if (at.get(step) if isinstance(step, str) else at[step]) is None:
        at[step] = [] if isinstance(rest[0], int) else {}
    _put(at[step], rest, value)


def _room(at: Any, step: Step) -> bool:  # noqa: ANN401  # as _put
    """Tell whether a step can be taken, having made a list long enough for it."""
    if isinstance(step, str):
        return is_mapping(at)
    if not is_list(at) or step > LAST_INDEX:
        return False
    filled = cast("list[Any]", at)
    filled.extend([None] * (step + 1 - len(filled)))
    return True

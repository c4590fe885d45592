"""Whether a session ended because the subject's own code broke, by itself.

What code raises on purpose, by ``raise`` or ``assert``, is what it does. Where an
expression of its own breaks (a key, an index or an attribute that is not there, a None
that is reckoned with), the world lacks something that an application always has, or the
code works nowhere (verdicts, Domain). Which of them it was is put down with the error,
under ``failure``, and read from a trace again:

    {"error": "KeyError", "text": "'tenant'", "file": "old.py", "line": 7,
     "missing": "tenant"}
"""

from __future__ import annotations

import json
import opcode
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, cast

from refengine.errors import RefengineError
from refengine.messages import Json
from refengine.testing.points import file_of, is_foreign, steps_of
from refengine.testing.scripted import ScriptedError

BREAKS: Final = (ArithmeticError, AttributeError, LookupError, NameError, TypeError)
"""What an expression raises by itself; a ValueError is mostly meant."""
NOT_OWN: Final = (RefengineError, ScriptedError)
"""What the engine says, and what the world fails with as it is told to."""
RAISES: Final = opcode.opmap["RAISE_VARARGS"]
"""The instruction of ``raise`` and ``assert``."""
MISCALLED: Final = re.compile(r"(takes|missing|unexpected|multiple values) .*argument")
"""How Python says that a function was called with arguments it does not take."""
FAILURE: Final = "failure"
"""The key of an error's entry in a trace."""
SHOWN: Final = 120


@dataclass(frozen=True, slots=True)
class OwnFailure:
    """Where own code broke, and the name that it looked for, if it was one.

    ``line`` is 0 where a function could not even be called.
    """

    error: str
    text: str
    file: str = ""
    line: int = 0
    missing: str | None = None

    def __str__(self) -> str:
        place = f" ({self.file}, line {self.line})" if self.line else ""
        return f"{self.error}: {self.text}{place}"


def unwrapped(error: BaseException) -> tuple[BaseException, Sequence[str]]:
    """Return what was raised first, and the classes that frameworks put around it.

    A class that the subject itself raises from another error is its own, and stays.
    """
    around: list[str] = []
    seen: list[BaseException] = []
    while (inner := _cause(error)) is not None and inner not in seen:
        seen.append(error)
        last = [*steps_of(error.__traceback__)][-1:]
        if not all(is_foreign(file_of(at)) for at in last):
            break
        around.append(type(error).__name__)
        error = inner
    return error, around


def told(error: BaseException) -> dict[str, Json]:
    """Return what an error's entry in a trace says of own code that broke."""
    found = own_failure(error)
    return {} if found is None else {FAILURE: cast("Json", asdict(found))}


def own_failure(error: BaseException) -> OwnFailure | None:
    """Return where own code broke by itself, None if that is not what happened."""
    first, _ = unwrapped(error)
    if not isinstance(first, BREAKS) or isinstance(first, NOT_OWN):
        return None
    text = " ".join(str(first).split())[:SHOWN]
    own = [at for at in steps_of(first.__traceback__) if not is_foreign(file_of(at))]
    if own:
        at = own[-1]
        file = Path(file_of(at)).name
        found = OwnFailure(type(first).__name__, text, file, at.tb_lineno, _name(first))
        return None if _is_raised(at) else found
    miscalled = isinstance(first, TypeError) and MISCALLED.search(text) is not None
    return OwnFailure(type(first).__name__, text) if miscalled else None


def failures_in(jsonl: str) -> Iterator[OwnFailure]:
    """Yield what broke in a session, from the text of its trace."""
    if f'"{FAILURE}"' not in jsonl:
        return
    for line in jsonl.splitlines():
        if f'"{FAILURE}"' in line:
            data: Mapping[str, Any] = json.loads(line)["data"]
            if FAILURE in data:
                yield OwnFailure(**data[FAILURE])


def _cause(error: BaseException) -> BaseException | None:
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return group.exceptions[0]
    inner = getattr(error, "cause", None) or error.__cause__
    return inner if isinstance(inner, BaseException) else None


def _name(error: BaseException) -> str | None:
    """Return the key or attribute that was looked for."""
    name = getattr(error, "name", None) or (error.args[0] if error.args else None)
    is_looked_up = isinstance(error, (KeyError, AttributeError))
    return name if is_looked_up and isinstance(name, str) else None


def _is_raised(at: TracebackType) -> bool:
    code = at.tb_frame.f_code.co_code
    return 0 <= at.tb_lasti < len(code) and code[at.tb_lasti] == RAISES

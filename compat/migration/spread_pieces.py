"""The pieces of a folder as units of a cluster: what is sent, and what comes back.

A worker reads the same folder at the same place, as where several machines share a file
system; a folder with other content there is refused, or its verdicts would be of
something else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter

from compat.migration.folder import Done, Piece, judge_pieces, mistakes, pieces_in
from compat.migration.reach import Reach
from compat.migration.subject_runner import CheckOptions
from compat.spreading import OtherFilesError, RefusedUnitError, Spread, UnitData
from compat.verdicts.migration import JudgedCase

KIND: Final = "piece"
_CASES: Final = TypeAdapter(list[JudgedCase])
_REACH: Final = TypeAdapter(Reach)

_Options: TypeAlias = "dict[str, Any]"


def judge_spread(
    spread: Spread, pieces: Sequence[Piece], how: CheckOptions, done: Done
) -> list[JudgedCase]:
    """Judge all cases on a cluster; ``done`` hears of each. The order is the folder's.

    Raises RefusedUnitError.
    """
    # The largest first, or the last worker is left alone with it.
    order = sorted(pieces, key=lambda each: -len(each.settings.cases))
    found: dict[str, list[JudgedCase]] = {}
    for at, answer in spread.each(KIND, [unit_of(each, how) for each in order]):
        cases = _CASES.validate_python(answer["cases"], strict=False)
        found[str(order[at].folder)] = cases
        for each in cases:
            done(each)
    return [case for piece in pieces for case in found[str(piece.folder)]]


def unit_of(piece: Piece, how: CheckOptions) -> UnitData:
    """Return a piece as JSON: where it stands, what stands there, and how to judge."""
    options: _Options = {name: getattr(how, name) for name in _OPTIONS}
    options["reach"] = _REACH.dump_python(how.reach, mode="json")
    folder = str(piece.folder)
    return {"folder": folder, "content": _content(piece.folder), "options": options}


def judged_piece(unit: UnitData) -> UnitData:
    """Return the verdicts on a piece, as JSON; this is what a worker plays.

    Raises RefusedUnitError for whatever is a mistake in what was given.
    """
    folder = Path(unit["folder"])
    try:
        if _content(folder) != unit["content"]:
            raise OtherFilesError(folder)
        options = dict(unit["options"])
        reach = _REACH.validate_python(options.pop("reach"))
        how = CheckOptions(**options, reach=reach)
        cases = judge_pieces(pieces_in(folder)[:1], how, lambda _: None)
    except OSError as error:
        raise RefusedUnitError(f"{error.filename}: {error.strerror}") from error
    except mistakes() as error:
        raise RefusedUnitError(str(error)) from error
    return {"cases": _CASES.dump_python(cases, mode="json")}


_OPTIONS: Final = (
    "examples",
    "seed",
    "timeout",
    "profile",
    "domain",
    "sharpness_plays",
    "min_sharpness",
    "search_plays",
)
"""What of the options is a number or a name; a server or own data are not sent."""


def _content(folder: Path) -> str:
    """Return the hash of the files of a folder, without what Python leaves there."""
    found = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            found.update(file.relative_to(folder).as_posix().encode())
            found.update(file.read_bytes())
    return found.hexdigest()

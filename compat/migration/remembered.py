"""What came of small changes in an earlier check, so that only new ones are played.

    memory = ChangeMemory.of("old.py new.py", "refengine 0.1.0, Python 3.11.7, …")
    memory.outcome(key)      # None, or whether it was noticed, and by which play
    memory.write()

An outcome is called by the hash of all that decides on it: the change, the definition
that it is made in and all that this leads to, the worlds in their order, what NEW does
in them unchanged (by which other changes of its code show), what is compared, and the
versions of what runs it. A file has such hashes and counts, and nothing else.

The files stand below the user's cache folder, one for each pair of sides, or in
$REFENGINE_CHANGES; where that is ``off``, nothing is remembered. Whoever deletes them
has all changes played again.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self, cast

from compat.environments.cache import cache_folder
from refengine.testing.json_values import is_mapping
from refengine.testing.small_changes import bound_by

MOVED_BY: Final = "REFENGINE_CHANGES"
"""The variable that names another folder for what is remembered."""
OFF: Final = "off"
FORMAT: Final = 1
DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class ChangeOutcome:
    """Whether a change was noticed in so many plays, the last of which noticed it."""

    noticed: bool
    played: int

    def within(self, plays: int) -> Self | None:
        """Return what came of the first so many plays; None if that is not known."""
        if self.noticed and self.played <= plays:
            return self
        known = self.noticed or self.played >= plays
        return type(self)(noticed=False, played=plays) if known else None


@dataclass(slots=True)
class ChangeMemory:
    """The outcomes for one pair of sides; without a file none is known."""

    file: Path | None = None
    about: str = ""
    known: Mapping[str, ChangeOutcome] = field(default_factory=dict[str, ChangeOutcome])
    used: dict[str, ChangeOutcome] = field(default_factory=dict[str, ChangeOutcome])

    @classmethod
    def of(cls, pair: str, about: str) -> Self:
        """Return what is remembered of a pair of sides that is run by what is told."""
        if os.environ.get(MOVED_BY) == OFF:
            return cls()
        try:
            folder = cache_folder(MOVED_BY, "changes")
        except OSError:  # where a user has no folder that can be written
            return cls()
        file = folder / f"{_hash(pair)[:16]}.json"
        return cls(file, about, _read(file))

    def key(self, *parts: str) -> str:
        """Return what an outcome is called."""
        return _hash(self.about, *parts)

    def outcome(self, key: str) -> ChangeOutcome | None:
        """Return what came of a change, in this check or in the last one."""
        return self.used.get(key) or self.known.get(key)

    def learn(self, key: str, outcome: ChangeOutcome) -> None:
        """Remember what came of one."""
        self.used[key] = outcome

    def write(self) -> None:
        """Have the next check know what this one used, and no more; or leave it.

        The file is renamed when it is whole.
        """
        if self.file is None or not self.used:
            return
        told = {key: [each.noticed, each.played] for key, each in self.used.items()}
        with suppress(OSError):
            half, name = tempfile.mkstemp(prefix=".making-", dir=self.file.parent)
            try:
                with os.fdopen(half, "w", encoding="utf-8") as file:
                    json.dump({"format": FORMAT, "outcomes": told}, file)
                Path(name).replace(self.file)
            finally:
                Path(name).unlink(missing_ok=True)


def _read(file: Path) -> dict[str, ChangeOutcome]:
    """Return the outcomes of a file; none where it is absent or not one of ours."""
    try:
        data: object = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not is_mapping(data):
        return {}
    told = cast("Mapping[str, object]", data)
    outcomes = told.get("outcomes")
    if told.get("format") != FORMAT or not is_mapping(outcomes):
        return {}
    known = ((str(key), _outcome(some)) for key, some in outcomes.items())
    return {key: each for key, each in known if each is not None}


def _outcome(data: object) -> ChangeOutcome | None:
    match data:
        case [bool(noticed), int(played)]:
            return ChangeOutcome(noticed, played)
        case _:
            return None


def _hash(*parts: str) -> str:
    made = hashlib.sha256()
    for each in parts:
        text = each.encode("utf-8", "surrogatepass")
        made.update(len(text).to_bytes(8, "big") + text)
    return made.hexdigest()


def decisive(
    trees: Mapping[str, ast.Module], file: str, line: int, reached: Iterable[str]
) -> str:
    """Return the text of what decides on a change of a line, beside its worlds.

    That is the definition that holds the line, all that is ``reached`` from it, and
    what is no definition anywhere. Where no definition holds the line, it is all code.
    """
    tops = [(name, node) for name, tree in trees.items() for node in tree.body]
    held = next(
        (node for name, node in tops if name == file and _holds(node, line)), None
    )
    everything = not isinstance(held, DEFINITIONS)
    names = frozenset(reached)
    parts = ["" if held is None else f"line {line - held.lineno}"]
    for name, node in tops:
        apart = isinstance(node, DEFINITIONS) and names.isdisjoint(bound_by(node))
        if everything or node is held or not apart:
            parts += [name, ast.unparse(node)]
    return "\n".join(parts)


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)

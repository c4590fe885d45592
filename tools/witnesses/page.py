"""docs/seed-findings.md: what is wrong with the seeds' sketches, by evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.registry import WITNESSED
from refengine.messages import Json
from refengine.testing.trace import MISSING
from tools.witnesses.witness import Witness, small

PAGE: Final = Path(__file__).parents[2] / "docs" / "seed-findings.md"

_OPENING: Final = """\
# What is wrong with the seeds' sketches

The two seeds of the handler interface sketch an adapter, a merge of tools and examples of handlers.
Taken as they stand, they change what agents do, and no error says so.
Each sketch is here as a mutant: the right engine with that one fault, and the smallest world in which the two part.
The worlds were generated and shrunk; they are scenarios, as `docs/scenarios.md` describes them.

This page is written by `python -m tools.witnesses`, and a test compares it with what is stored.
"""  # noqa: E501  # one sentence a line

_OWN: Final = """\
## Our own broken adapters

What one gets wrong who writes an adapter of struct middlewares.
The world of each is in `tools/witnesses/witnesses.json`.

| mutant | what is wrong | violates | right | wrong |
|---|---|---|---|---|
"""


def page(witnesses: Iterable[Witness]) -> str:
    """Return the page, from the registry and the witnesses."""
    by_id = {each.mutant: each for each in witnesses}
    sketches = [each for each in WITNESSED if not each.is_own]
    own = [each for each in WITNESSED if each.is_own]
    parts = [_OPENING, *_sources(sketches, by_id), _OWN.rstrip("\n")]
    rows = [_row(each, by_id[each.id]) for each in own]
    return "\n".join([*parts, *rows]) + "\n"


def _sources(sketches: Sequence[Mutant], by_id: dict[str, Witness]) -> Iterator[str]:
    for source, group in groupby(sketches, lambda each: each.source):
        yield f"## {source[0].upper()}{source[1:]}\n"
        for each in group:
            yield from _section(each, by_id[each.id])


def _section(mutant: Mutant, witness: Witness) -> Iterator[str]:
    found = witness.divergence
    yield f"### `{mutant.id}`\n"
    yield f"The seed says: `{mutant.quote}`\n"
    yield f"{mutant.about}"
    yield f"It violates {_families(mutant)}, under the profile `{mutant.under}`.\n"
    yield f"```json\n{_compact(small(witness.scenario))}\n```\n"
    where = f"observation {found.index}{_path(found.path)}"
    yield f"The two part in `{witness.kind}` ({where}):\n"
    yield f"- right: {_code(found.left)}"
    yield f"- wrong: {_code(found.right)}\n"


def _row(mutant: Mutant, witness: Witness) -> str:
    found = witness.divergence
    values = (_cell(_code(found.left)), _cell(_code(found.right)))
    families = _families(mutant)
    return f"| `{mutant.id}` | {mutant.about} | {families} | {' | '.join(values)} |"


def _families(mutant: Mutant) -> str:
    return ", ".join(mutant.violates)


def _path(path: str) -> str:
    return f", `{path}`" if path else ""


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _code(value: Json) -> str:
    return "nothing" if value == MISSING else f"`{_compact(value)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

"""Witnesses: for every mutant the smallest world that is found to refute it.

    python -m tools.pages witnesses [ID…]

searches generated worlds and shrinks, stores what was found beside this, and writes
``docs/seed-findings.md``: what is wrong with the seeds' sketches, by evidence. With ids
only these are searched for; the rest stays as it is stored.
"""

from __future__ import annotations

import json
import random
import sys
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final, cast

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import HypothesisWarning, NoSuchExample

from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.registry import WITNESSED
from refengine.messages import Json
from refengine.profile import profile
from refengine.testing import (
    Divergence,
    Scenario,
    Trace,
    clock,
    first_divergence,
    play,
    read_scenario,
)
from refengine.testing.strategies import scenarios
from refengine.testing.trace import MISSING, comparable
from tools.pages.blocks import DOCS

FILE: Final = Path(__file__).with_name("witnesses.json")
PAGE: Final = DOCS / "seed-findings.md"
EXAMPLES: Final = 5000
"""So many worlds are looked at before a mutant counts as not found."""
SEED: Final = 20260001


@dataclass(frozen=True, slots=True)
class Witness:
    """A world, and where mutant and right engine first part in it.

    ``kind`` is that of the right engine's observation there.
    """

    mutant: str
    scenario: Scenario
    kind: str
    divergence: Divergence

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON values; what a scenario has by default is left out."""
        found = self.divergence
        return {
            "mutant": self.mutant,
            "scenario": small(self.scenario),
            "at": {"kind": self.kind, "index": found.index, "path": found.path},
            "right": found.left,
            "wrong": found.right,
        }


def small(scenario: Scenario) -> dict[str, Json]:
    """Return a scenario as JSON values without its defaults."""
    return cast(
        "dict[str, Json]", scenario.model_dump(mode="json", exclude_defaults=True)
    )


def played(scenario: Scenario, door: Door, under: str) -> Trace:
    """Play a scenario on a new engine of that door."""
    return clock.run(play(scenario, door(profile(under))))


def refuted(mutant: Mutant, scenario: Scenario) -> Witness | None:
    """Return the witness that the scenario is, None if the two do not part in it."""
    right = played(scenario, mutant.right, mutant.under)
    wrong = played(scenario, mutant.wrong, mutant.under)
    found = first_divergence(right, wrong)
    if found is None:
        return None
    entry = next(islice(comparable(right), found.index, None), {"kind": "the end"})
    return Witness(mutant.id, scenario, str(entry["kind"]), found)


def stored(path: Path = FILE) -> tuple[Witness, ...]:
    """Read the witnesses that were found last."""
    entries = cast("list[Mapping[str, Any]]", json.loads(path.read_text("utf-8")))
    return tuple(map(_read, entries))


def text_of(witnesses: Iterable[Witness]) -> str:
    """Return the witnesses as the text of their file."""
    entries = [each.as_json() for each in witnesses]
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


def _read(entry: Mapping[str, Any]) -> Witness:
    name = str(entry["mutant"])
    return Witness(
        name,
        read_scenario(entry["scenario"], f"witness of {name}"),
        str(entry["at"]["kind"]),
        Divergence(
            entry["at"]["index"], entry["at"]["path"], entry["right"], entry["wrong"]
        ),
    )


class NotRefutedError(AssertionError):
    """No world was found that tells a mutant from the right engine."""

    def __init__(self, mutant: Mutant, examples: int, seed: int) -> None:
        self.mutant = mutant
        super().__init__(
            f"{examples} worlds (seed {seed}) do not refute mutant {mutant.id!r}:"
            " let its worlds have what it gets wrong, or drop it"
        )


def smallest(mutant: Mutant, *, examples: int = EXAMPLES, seed: int = SEED) -> Witness:
    """Return the shrunk witness of a mutant; raises NotRefutedError."""

    def refutes(scenario: Scenario) -> bool:
        return refuted(mutant, scenario) is not None

    worlds: dict[str, Any] = dict(mutant.worlds or {})
    try:
        # Which worlds it meets depends on the constants of all modules that are loaded:
        # any new module may bring one that Hypothesis warns is long to write.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisWarning)
            scenario = find(
                scenarios(**worlds),
                refutes,
                settings=settings(
                    max_examples=examples,
                    database=None,
                    deadline=None,
                    phases=[Phase.generate, Phase.shrink],
                    suppress_health_check=[
                        HealthCheck.too_slow,
                        HealthCheck.data_too_large,
                    ],
                ),
                random=random.Random(seed),  # noqa: S311  # the same search each time
            )
    except NoSuchExample:
        raise NotRefutedError(mutant, examples, seed) from None
    witness = refuted(mutant, scenario)
    if witness is None:
        raise AssertionError(mutant.id)  # a world is played the same way each time
    return witness


_OPENING: Final = """\
# What is wrong with the seeds' sketches

The two seeds of the handler interface sketch an adapter, a merge of tools and examples of handlers.
Taken as they stand, they change what agents do, and no error says so.
Each sketch is here as a mutant: the right engine with that one fault, and the smallest world in which the two part.
The worlds were generated and shrunk; they are scenarios, as `docs/scenarios.md` describes them.

This page is written by `python -m tools.pages witnesses`, and a test compares it with what is stored.
"""  # noqa: E501  # one sentence a line

_OWN: Final = """\
## Our own broken adapters

What one gets wrong who writes an adapter of struct middlewares.
The world of each is in `tools/pages/witnesses.json`.

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


def main(arguments: Sequence[str]) -> int:
    """Search, tell how it goes, write both files; return the exit code."""
    ids = _ids(arguments)
    chosen = set(ids) or {each.id for each in WITNESSED}
    kept = {each.mutant: each for each in stored(FILE)} if ids else {}
    found: list[Witness] = []
    for each in WITNESSED:
        if each.id not in chosen:
            found.append(kept[each.id])
            continue
        began = time.monotonic()
        witness = smallest(each)
        spent = time.monotonic() - began
        sys.stdout.write(f"{each.id}: {witness.divergence} ({spent:.1f} s)\n")
        sys.stdout.flush()
        found.append(witness)
    FILE.write_text(text_of(found), "utf-8")
    PAGE.write_text(page(found), "utf-8")
    return 0


def _ids(arguments: Sequence[str]) -> Sequence[str]:
    parser = ArgumentParser("python -m tools.pages witnesses")
    parser.add_argument("ids", nargs="*", metavar="ID", help="a mutant with a witness")
    ids: Sequence[str] = parser.parse_args(arguments).ids
    known = {each.id for each in WITNESSED}
    for each in ids:
        if each not in known:
            near = get_close_matches(each, known, 3)
            parser.error(f"{each!r} has no witness; near it: {', '.join(near) or '-'}")
    return ids

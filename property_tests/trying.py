"""Trying checks by hand: fixed and generated worlds against an engine or a mutant.

    python -m property_tests.trying [MUTANT…] [-k FAMILY] [-n EXAMPLES]

Without a mutant the reference engine is judged under every profile; it must keep all.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence

from property_tests.checks import CHECKS
from property_tests.corpus import Entry, fixed_worlds
from property_tests.generating import generated
from property_tests.judging import Judged, judge
from property_tests.mutants import mutant
from property_tests.playing import Player
from refengine.profile import PROFILES, profile
from refengine.testing.engine import Engine, ReferenceEngine


def main(arguments: Sequence[str]) -> None:
    """Judge, and print for each clause in how many worlds it decided and failed."""
    parser = ArgumentParser(prog="python -m property_tests.trying")
    parser.add_argument("mutants", nargs="*")
    parser.add_argument("-k", default="")
    parser.add_argument("-n", type=int, default=150)
    asked = parser.parse_args(arguments)
    checks = [each for each in CHECKS if each.clause.startswith(asked.k)]
    worlds = [*fixed_worlds(), *generated(asked.n, seed=0)]
    for name, engine, under in _engines(asked.mutants):
        sys.stdout.write(f"== {name}\n")
        decided, failed = Counter[str](), Counter[str]()
        player = Player(engine, profile(under))
        for entry in worlds:
            _count(judge(player, entry, checks), entry, decided, failed)
        for check in checks:
            told = f"{check.clause} {decided[check.clause]:5} {failed[check.clause]:5}"
            sys.stdout.write(f"{told}{'  FAILS' if failed[check.clause] else ''}\n")


def _count(
    judged: Judged, entry: Entry, decided: Counter[str], failed: Counter[str]
) -> None:
    decided.update(judged.decided.keys())
    for clause, decision in judged.failed.items():
        if not failed[clause]:
            sys.stdout.write(
                f"{clause} [{decision.variant}] {decision.asked}\n"
                f"   differs at {decision.difference}\n   at {decision.at}\n"
                f"   in {entry.as_json()['scenario']}\n"
            )
        failed[clause] += 1


def _engines(mutants: Sequence[str]) -> Iterator[tuple[str, Engine, str]]:
    for id_ in mutants:
        found = mutant(id_)
        yield id_, found.wrong(profile(found.under)), found.under
    if not mutants:
        for each in PROFILES:
            yield each.name, ReferenceEngine(each), each.name


if __name__ == "__main__":
    main(sys.argv[1:])

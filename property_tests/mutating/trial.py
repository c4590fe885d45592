"""One changed tree, judged in a process of its own, until some check notices.

    python -P -m property_tests.mutating.trial TREE CORPUS

Exit code 0: nothing was noticed; 1: a clause failed, which is printed; 2: the tree does
not even load, or a world broke off.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from property_tests.corpus import Entry
    from refengine.profile import Profile
    from refengine.testing import Engine

SURVIVED: Final = 0
NOTICED: Final = 1
BROKEN: Final = 2
MEMORY: Final = 1 << 30
"""Bytes: a loop that a change makes endless fills them, and is noticed by that."""

OTHERS: Final = ("eino-0.9",)
"""Profiles with other choices, under which the fixed cases alone are played."""


def main(arguments: Sequence[str]) -> int:
    """Judge until something is noticed."""
    tree, corpus = arguments
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.path.insert(0, tree)
    try:
        for noticed in _noticed(Path(corpus)):
            sys.stdout.write(f"{noticed}\n")
            return NOTICED
    except Exception as error:  # noqa: BLE001  # then the change is noticed as well
        sys.stdout.write(f"{type(error).__name__}: {error}\n")
        return BROKEN
    return SURVIVED


def _noticed(corpus: Path) -> Iterator[str]:
    """Yield the clauses that fail, world by world; imported here, from the tree."""
    from compat.engines.adapted import AdaptedEngine  # noqa: PLC0415  # from the tree
    from property_tests.checks import CHECKS  # noqa: PLC0415  # from the tree
    from property_tests.corpus import read_corpus  # noqa: PLC0415  # from the tree
    from property_tests.judging import judge  # noqa: PLC0415  # from the tree
    from property_tests.playing import Player  # noqa: PLC0415  # from the tree
    from refengine.profile import profile  # noqa: PLC0415  # from the tree
    from refengine.testing.engine import ReferenceEngine  # noqa: PLC0415  # from the tree

    worlds = sorted(read_corpus(corpus.read_text("utf-8")).worlds, key=_turn)
    fixed = [each for each in worlds if each.fixed and not each.only]
    default = profile("seed-001")
    rounds: list[tuple[Engine, Profile, Sequence[Entry]]]
    rounds = [(ReferenceEngine(default), default, worlds)]
    adapted = AdaptedEngine(default)
    rounds += [(adapted, adapted.profile, fixed)]
    for other in map(profile, OTHERS):
        rounds += [(ReferenceEngine(other), other, fixed)]
    for engine, under, played in rounds:
        player = Player(engine, under)
        for entry in played:
            judged = judge(player, entry, CHECKS)
            yield from judged.failed
            yield from judged.errors


def _turn(entry: Entry) -> tuple[bool, bool, str]:
    """Return where a world stands: families mixed, generated and huge ones last.

    Most changes are noticed by some fixed case, and then nothing else is played.
    """
    text = entry.scenario.model_dump_json(exclude_defaults=True)
    return bool(entry.only), not entry.fixed, sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Finds every witness anew; writes them, and the page about the seeds.

    python -m tools.witnesses [ID…]

With ids only these are searched for; the rest stays as it is stored.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from difflib import get_close_matches

from property_tests.mutants.registry import WITNESSED
from tools.witnesses.page import PAGE, page
from tools.witnesses.witness import FILE, Witness, smallest, stored, text_of


def main(arguments: Sequence[str]) -> None:
    """Search, tell how it goes, write both files."""
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


def _ids(arguments: Sequence[str]) -> Sequence[str]:
    parser = ArgumentParser("python -m tools.witnesses", description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID", help="a mutant with a witness")
    ids: Sequence[str] = parser.parse_args(arguments).ids
    known = {each.id for each in WITNESSED}
    for each in ids:
        if each not in known:
            near = get_close_matches(each, known, 3)
            parser.error(f"{each!r} has no witness; near it: {', '.join(near) or '-'}")
    return ids


if __name__ == "__main__":
    main(sys.argv[1:])

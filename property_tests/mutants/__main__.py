"""Finds every witness anew; writes them, and the page about the seeds.

    python -m property_tests.mutants [ID…]

With ids only these are searched for; the rest stays as it is stored.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from property_tests.mutants.finding import smallest
from property_tests.mutants.page import PAGE, page
from property_tests.mutants.registry import WITNESSED, mutant
from property_tests.mutants.witness import FILE, Witness, stored, text_of


def main(ids: Sequence[str]) -> None:
    """Search, tell how it goes, write both files."""
    asked = {mutant(each).id for each in ids} or {each.id for each in WITNESSED}
    kept = {each.mutant: each for each in stored(FILE)} if ids else {}
    found: list[Witness] = []
    for each in WITNESSED:
        if each.id not in asked:
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


if __name__ == "__main__":
    main(sys.argv[1:])

"""Draw the generated worlds of the default judgement anew, and write them to ship.

    python -m tools.drawn_worlds

After a change of the fixed cases, of ``narrowed.json`` or of the strategies; a test
fails until then.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

from property_tests.corpus import CorpusWorld, fixed_worlds
from property_tests.defaults import EXAMPLES, SEED
from property_tests.drawn_worlds import DRAWN, write_drawn
from property_tests.generating import generated


def drawn_now() -> tuple[CorpusWorld, ...]:
    """Return the worlds as the installed release of Hypothesis draws them."""
    return tuple(generated(EXAMPLES, seed=SEED, fixed=tuple(fixed_worlds())))


def main() -> None:
    """Draw and write them, and say how many and how large."""
    worlds = drawn_now()
    release = version("hypothesis")
    write_drawn(worlds, release)
    size = DRAWN.stat().st_size
    sys.stdout.write(
        f"{len(worlds):,} worlds in {size / 1e3:,.0f} kB,"
        f" drawn by Hypothesis {release}\n"
    )


if __name__ == "__main__":
    main()

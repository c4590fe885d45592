"""The generated worlds of the default judgement, which were drawn once and ship.

They are data, so a judgement is the same with any release of Hypothesis and without
one, and nobody waits for worlds that were drawn before. After a change of the fixed
cases or of the strategies, ``python -m tools.drawn_worlds`` writes them anew.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from property_tests.corpus import CorpusWorld, StoredCorpus, SuiteCorpus
from property_tests.defaults import EXAMPLES, SEED

DRAWN: Final = Path(__file__).with_name("drawn_worlds.json.gz")
"""A corpus of generated worlds, with the release of Hypothesis that drew them."""


def ship(examples: int, seed: int) -> bool:
    """Tell whether as many worlds, drawn with this seed, ship."""
    return (examples, seed) == (EXAMPLES, SEED)


def drawn_worlds(path: Path = DRAWN) -> Iterator[CorpusWorld]:
    """Yield the worlds that ship; raises OSError where there are none."""
    stored = StoredCorpus(_text(path))
    yield from map(stored.world, range(stored.size))


def drawn_by(path: Path = DRAWN) -> str:
    """Return the release of Hypothesis that drew them."""
    return str(json.loads(_text(path))["hypothesis"])


def write_drawn(
    worlds: Sequence[CorpusWorld], hypothesis: str, path: Path = DRAWN
) -> None:
    """Write worlds to ship; the same ones give the same bytes."""
    corpus: dict[str, Any] = json.loads(SuiteCorpus(tuple(worlds), SEED).json)
    text = json.dumps({**corpus, "hypothesis": hypothesis}, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _text(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()

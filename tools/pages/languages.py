"""Where LangChain's two languages part, in docs/profiles-langchain.md.

    python -m tools.pages.languages

writes it anew: postures in which the profiles of both differ, and clauses of which one
of them alone has known failures. `refengine conform` fails where such an entry is
missing, or stands for what no longer fails; so all other clauses that are asked of both
are kept by both, or known to fail on both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from property_tests.known.states import known_of
from refengine.profile import differences, profile
from tools.pages.seeds import code

PAGE: Final = Path(__file__).parents[2] / "docs" / "profiles-langchain.md"
BEGIN: Final = "<!-- languages: written by python -m tools.pages.languages -->\n"
END: Final = "<!-- end of languages -->\n"
ENGINES: Final[Mapping[str, str]] = MappingProxyType(
    {"langchain": "langchain-1", "langchain-js@1": "langchain-js-1"}
)
"""The engine of each language, and its profile."""


def tables() -> str:
    """Return both tables: postures, then clauses."""
    return "\n".join([*_postures(), "", *_clauses()]) + "\n"


def parting() -> dict[str, Mapping[str, tuple[str, ...]]]:
    """Return by engine what it alone fails: clauses by the reason of their entries."""
    reasons = {
        engine: {each.clause: each.reason for each in known_of(engine).entries}
        for engine in ENGINES
    }
    found: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for engine, own in reasons.items():
        others = {key for each, of in reasons.items() if each != engine for key in of}
        alone = {key: why for key, why in own.items() if key not in others}
        found[engine] = {
            why: tuple(sorted(key for key, its in alone.items() if its == why))
            for why in dict.fromkeys(alone.values())
        }
    return found


def written(page: str) -> str:
    """Return the page with the tables as they are now."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + "\n" + tables() + "\n" + END + rest.partition(END)[2]


def _postures() -> Iterator[str]:
    yield f"| posture | {' | '.join(map(code, ENGINES))} |"
    yield "|---|---|---|"
    for name, *options in differences(*map(profile, ENGINES.values())):
        yield f"| {code(name)} | {' | '.join(code(str(each)) for each in options)} |"


def _clauses() -> Iterator[str]:
    yield "| clauses | failed by | what it does |"
    yield "|---|---|---|"
    for engine, reasons in parting().items():
        for why, clauses in reasons.items():
            yield f"| {', '.join(clauses)} | {code(engine)} | {why} |"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")

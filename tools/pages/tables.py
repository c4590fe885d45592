"""Tables in pages of ``docs``, each made of what the code says.

    python -m tools.pages capabilities interfaces languages

writes them anew: what each capability makes not applicable, by the checks as they are;
what vendors' interfaces call a setting, and what has no counterpart; and where
LangChain's two languages part. There ``refengine conform`` fails where an entry of
known failures is missing, or stands for what no longer fails; so all other clauses that
are asked of both are kept by both, or known to fail on both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from compat.engines.capabilities import CAPABILITIES
from compat.wire.interfaces.counterparts import BETWEEN_VENDORS, OWN, SETTINGS
from property_tests.checks import CHECKS
from property_tests.known.states import known_of
from property_tests.reducing import CUT
from refengine.profile import differences, profile
from tools.pages.blocks import DOCS, between, code, row, table

FEW: Final = 4
"""So many clauses of a family are named; of more the number stands there."""
SAME: Final = frozenset(("concurrent_calls", "lock_step", "failed_history"))
"""Without these an engine does the same in every world, or tells less of it."""
ENGINES: Final[Mapping[str, str]] = MappingProxyType(
    {"langchain": "langchain-1", "langchain-js@1": "langchain-js-1"}
)
"""The engine of each language, and its profile."""


def capabilities() -> Iterator[str]:
    """Yield a row for each capability."""
    yield from table(
        *("capability", "what needs it", "does not apply without it", "its worlds")
    )
    for name, about in CAPABILITIES.items():
        lost = without(name)
        count = f"{len(lost)}: {', '.join(_told(lost))}" if lost else "0"
        yield row(code(name), about, count, _worlds(name))


def without(capability: str) -> list[str]:
    """Return the clauses that do not apply to an engine that lacks just that."""
    declared = frozenset(CAPABILITIES) - {capability}
    return [each.clause for each in CHECKS if not each.applies(declared)]


def _told(clauses: Sequence[str]) -> Iterator[str]:
    often = Counter(each.partition("-")[0] for each in clauses)
    for family, count in often.items():
        of_it = [each for each in clauses if each.startswith(f"{family}-")]
        yield f"{count} of {family}" if count > FEW else ", ".join(of_it)


def _worlds(capability: str) -> str:
    if capability in SAME:
        return "played as they are"
    return "played without it" if capability in CUT else "not played"


def interfaces() -> Iterator[str]:
    """Yield both tables: settings by interface, and what has no counterpart."""
    yield from table("setting", *SETTINGS)
    for name in dict.fromkeys(each for own in SETTINGS.values() for each in own):
        yield row(code(name), *(_called(own.get(name)) for own in SETTINGS.values()))
    yield ""
    yield from table("not compared", "whose", "why")
    for name, reason in BETWEEN_VENDORS.items():
        yield row(code(name), "all, between vendors", reason)
    for name, own in OWN.items():
        yield row(code(name), ", ".join(own.interfaces), own.reason)


def _called(name: str | None) -> str:
    if name is None:
        return "none"
    return name.strip("()") if name.startswith("(") else code(name)


def languages() -> Iterator[str]:
    """Yield both tables: postures in which the profiles differ, then clauses."""
    yield from table("posture", *map(code, ENGINES))
    for name, *options in differences(*map(profile, ENGINES.values())):
        yield row(code(name), *(code(str(each)) for each in options))
    yield ""
    yield from table("clauses", "failed by", "what it does")
    for engine, reasons in parting().items():
        for why, clauses in reasons.items():
            yield row(", ".join(clauses), code(engine), why)


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


PAGES: Final[Mapping[str, tuple[Path, Callable[[], Iterator[str]]]]] = MappingProxyType(
    {
        "capabilities": (DOCS / "judging-engines.md", capabilities),
        "interfaces": (DOCS / "programs.md", interfaces),
        "languages": (DOCS / "profiles-langchain.md", languages),
    }
)
"""By name: the page that a table stands in, and what makes it."""


def written(name: str, page: str) -> str:
    """Return the text of a page with its table as it is now."""
    return between(page, name, "\n".join(PAGES[name][1]()) + "\n")

"""The table of capabilities in docs/judging-engines.md.

    python -m tools.pages.capabilities

writes it anew, with what each makes not applicable by the checks as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from compat.engines.capabilities import CAPABILITIES
from property_tests.checks import CHECKS
from property_tests.reducing import CUT
from tools.pages.seeds import code

PAGE: Final = Path(__file__).parents[2] / "docs" / "judging-engines.md"
BEGIN: Final = "<!-- capabilities: written by python -m tools.pages.capabilities -->\n"
END: Final = "<!-- end of capabilities -->\n"
FEW: Final = 4
"""So many clauses of a family are named; of more the number stands there."""
SAME: Final = frozenset(("concurrent_calls", "lock_step", "failed_history"))
"""Without these an engine does the same in every world, or tells less of it."""


def table() -> str:
    """Return the table, a row for each capability."""
    rows = [
        "| capability | what needs it | does not apply without it | its worlds |",
        "|---|---|---|---|",
    ]
    for name, about in CAPABILITIES.items():
        lost = without(name)
        count = f"{len(lost)}: {', '.join(_told(lost))}" if lost else "0"
        rows.append(f"| {code(name)} | {about} | {count} | {_worlds(name)} |")
    return "\n".join(rows) + "\n"


def without(capability: str) -> list[str]:
    """Return the clauses that do not apply to an engine that lacks just that."""
    declared = frozenset(CAPABILITIES) - {capability}
    return [each.clause for each in CHECKS if not each.applies(declared)]


def written(page: str) -> str:
    """Return the page with the table as it is now."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


def _told(clauses: Sequence[str]) -> Iterator[str]:
    often = Counter(each.partition("-")[0] for each in clauses)
    for family, count in often.items():
        of_it = [each for each in clauses if each.startswith(f"{family}-")]
        if count > FEW:
            yield f"{count} of {family}"
        else:
            yield ", ".join(of_it)


def _worlds(capability: str) -> str:
    if capability in SAME:
        return "played as they are"
    return "played without it" if capability in CUT else "not played"


def main() -> None:
    """Write the table into its page."""
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

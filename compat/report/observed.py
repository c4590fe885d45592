"""A run of rows of observed behaviour as a page: what differs, then the others."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from compat.report.conform_text import counted
from compat.report.pages import page

KINDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "differs": ("DIFFERS", "something that the row names was not seen"),
        "holds": ("holds", "everything that the row names was seen"),
        "on_purpose": ("on purpose", "a difference that is meant, with the reason"),
        "beyond": ("beyond", "the row needs an operation outside the vocabulary"),
        "not_compared": ("not compared", "no profile stands for its versions"),
    }
)
"""Each verdict on a row: its word, and what that means. What to look at comes first."""


def observed_page(summary: Mapping[str, Any]) -> str:
    """Return the page of a summary, as ``observe --json`` has it."""
    order = [*KINDS]
    rows = sorted(summary["list"], key=lambda each: order.index(each["status"]))
    differing = summary["differs"]
    return page(
        "observed",
        count=f"{counted(summary['rows'], 'row')}, {differing} of them differing",
        kinds=[
            {"status": each, "word": word, "means": means, "many": summary[each]}
            for each, (word, means) in KINDS.items()
            if summary[each]
        ],
        rows=[{**each, "word": KINDS[each["status"]][0]} for each in rows],
        compared=", ".join(f"{v} {n}" for v, n in summary["compared"].items() if n),
        without=", ".join(summary["versions_without_profile"]),
    )

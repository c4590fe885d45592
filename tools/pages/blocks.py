"""What a command writes into pages that people write: a part between two marks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parents[2] / "docs"
END: Final = "<!-- up to here -->\n"


class NoPlaceError(ValueError):
    """A page has no place for what is to be shown in it."""

    def __init__(self, what: str, by: str) -> None:
        super().__init__(f"there is no {begin(what, by).strip()} with {END.strip()}")


def begin(what: str, by: str) -> str:
    """Return the line after which something is shown; ``by`` is who writes it."""
    return f"<!-- {what}: written by python -m {by} -->\n"


def between(text: str, what: str, content: str, by: str = "tools.pages") -> str:
    """Return a page with this content in its place; raises NoPlaceError."""
    before, started, rest = text.partition(begin(what, by))
    _, ended, after = rest.partition(END)
    if not started or not ended:
        raise NoPlaceError(what, by)
    return f"{before}{started}\n{content}\n{ended}{after}"


def code(text: str) -> str:
    """Return a text as code of one line, whatever marks it holds."""
    plain = " ".join(text.split())
    return f"`` {plain} ``" if "`" in plain else f"`{plain}`"


def row(*cells: object) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def table(*titles: str) -> Iterator[str]:
    """Yield the first two lines of a table."""
    yield row(*titles)
    yield "|---" * len(titles) + "|"

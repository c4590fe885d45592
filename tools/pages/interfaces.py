"""The table of vendors' settings in docs/programs.md.

    python -m tools.pages.interfaces

writes it anew: what each interface calls a setting, and what has no counterpart.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compat.wire.interfaces.counterparts import BETWEEN_VENDORS, OWN, SETTINGS
from tools.pages.seeds import code

PAGE: Final = Path(__file__).parents[2] / "docs" / "programs.md"
BEGIN: Final = "<!-- interfaces: written by python -m tools.pages.interfaces -->\n"
END: Final = "<!-- end of interfaces -->\n"


def tables() -> str:
    """Return both tables: settings by interface, and what has no counterpart."""
    return "\n".join((*_settings(), "", *_alone())) + "\n"


def written(page: str) -> str:
    """Return the page with the tables as they are now."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + tables() + END + rest.partition(END)[2]


def _settings() -> Iterator[str]:
    yield f"| {' | '.join(('setting', *SETTINGS))} |"
    yield "|---" * (1 + len(SETTINGS)) + "|"
    for name in dict.fromkeys(each for own in SETTINGS.values() for each in own):
        cells = [_called(own.get(name)) for own in SETTINGS.values()]
        yield f"| {' | '.join((code(name), *cells))} |"


def _called(name: str | None) -> str:
    if name is None:
        return "none"
    return name.strip("()") if name.startswith("(") else code(name)


def _alone() -> Iterator[str]:
    yield "| not compared | whose | why |"
    yield "|---|---|---|"
    for name, reason in BETWEEN_VENDORS.items():
        yield f"| {code(name)} | all, between vendors | {reason} |"
    for name, own in OWN.items():
        yield f"| {code(name)} | {', '.join(own.interfaces)} | {own.reason} |"


def main() -> None:
    """Write the tables into their page."""
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
